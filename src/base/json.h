/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - JSON out by our own writer, JSON in by jansson with strict fields
 *
 * Writing: a json_out appends to a buf and places commas itself. Text that is
 * not UTF-8 is written with U+FFFD per bad byte, so an answer is always valid.
 * Reading: a body is decoded by a table of fields; what the table does not name
 * is refused with unknown_field. Layer: base.
 */
#ifndef HF_BASE_JSON_H
#define HF_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/braces.h"
#include "base/buf.h"
#include "base/error.h"

#define JSON_OUT_DEPTH 32
struct json_out {
    struct buf *buf;
    int depth;
    bool first[JSON_OUT_DEPTH];
    bool after_key;
};

void json_out_init(struct json_out *o, struct buf *buf);
void json_open(struct json_out *o, char bracket); /* '{' or '[' */
void json_shut(struct json_out *o, char bracket); /* '}' or ']' */
void json_key(struct json_out *o, const char *key);
void json_str(struct json_out *o, const char *s); /* NULL writes null */
void json_strn(struct json_out *o, const char *s, size_t len);
void json_int(struct json_out *o, int64_t v);
void json_u64(struct json_out *o, uint64_t v);
void json_bool(struct json_out *o, bool v);
void json_nil(struct json_out *o); /* jansson owns the name json_null */
void json_raw(struct json_out *o, const char *json, size_t len); /* already JSON */
void json_value(struct json_out *o, const json_t *v);            /* a jansson tree */
/* The inside of a string, for one that is written piece by piece between quotes of the caller's. */
void json_put_text(struct buf *b, const char *s, size_t len);
/* JSON text again, with escapes for all that is not ASCII: for readers that decode it in pieces. */
void json_put_ascii(struct buf *b, const char *json, size_t len);
/* key and value in one call */
void json_kstr(struct json_out *o, const char *key, const char *s);
void json_kint(struct json_out *o, const char *key, int64_t v);
void json_ku64(struct json_out *o, const char *key, uint64_t v);
void json_kbool(struct json_out *o, const char *key, bool v);
void json_knull(struct json_out *o, const char *key);
void json_ktime(struct json_out *o, const char *key, int64_t wall_ms); /* RFC 3339 or null if 0 */

/*
 * Parses one whole JSON text: duplicates refused, depth at most
 * JSON_DEPTH_MAX, trailing bytes refused, \u0000 allowed in strings (fields
 * that cannot hold it are refused one by one), numbers that no 64 bits hold
 * refused. NULL: err says bad_json, or no_memory.
 */
#define JSON_DEPTH_MAX 64
json_t *json_parse(const char *text, size_t len, struct hf_error *err);
/* A text that we wrote ourselves: NULL only if it is damaged. A lack of memory ends the program, as hf_xalloc() does. */
json_t *json_parse_own(const char *text, size_t len);

/* The same for a text with secrets in it: no copy of them stays behind in memory that was freed. The
 * tree is freed by json_free_secret(). */
json_t *json_parse_secret(const char *text, size_t len, struct hf_error *err);
void json_free_secret(json_t *v);

/* One field of a request body: where it goes and what it may be. */
enum json_kind {
    JSON_F_STR,    /* const char * into the tree; no NUL inside */
    JSON_F_INT,    /* int64_t in [min, max] */
    JSON_F_BOOL,   /* bool */
    JSON_F_ANY,    /* json_t * borrowed; any type */
    JSON_F_OBJECT, /* json_t * borrowed */
    JSON_F_ARRAY,  /* json_t * borrowed */
};
struct json_field {
    const char *name;
    enum json_kind kind;
    size_t offset;    /* of the member in the target struct */
    int64_t min, max; /* INT: value; STR: length in bytes (max 0: no limit) */
    bool required;
    bool nullable; /* null is taken as "not given" */
};
#define JSON_FIELD(k, type, member, ...)                                                           \
    BRACES(.name = #member, .kind = JSON_F_##k, .offset = offsetof(type, member), __VA_ARGS__)
/* The target starts zeroed or with defaults; fields not given are untouched. */
int json_decode(const json_t *object, const struct json_field *fields, size_t n, void *target,
                struct hf_error *err);
/* The same for bodies that clients of others make: what the table does not name is passed over. */
int json_decode_known(const json_t *object, const struct json_field *fields, size_t n, void *target,
                      struct hf_error *err);
/* A string without NUL, or err. `field` names it in the message. */
const char *json_text(const json_t *v, const char *field, struct hf_error *err);

#endif

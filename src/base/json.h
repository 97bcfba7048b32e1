/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - writes JSON with our own writer, reads it with jansson and strict fields
 *
 * Writing: a json_out appends to a buf and places commas itself. Text that is not UTF-8 is written
 * with U+FFFD per bad byte, so a response is always valid. Reading: a body is decoded by a table of
 * fields; fields that are not in the table are refused with unknown_field. Layer: base.
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
void json_open(struct json_out *o, char bracket);  /* '{' or '[' */
void json_close(struct json_out *o, char bracket); /* '}' or ']' */
void json_key(struct json_out *o, const char *key);
void json_str(struct json_out *o, const char *s); /* NULL writes null */
void json_strn(struct json_out *o, const char *s, size_t len);
void json_base64(struct json_out *o, const void *bytes, size_t len);
void json_int(struct json_out *o, int64_t v);
void json_u64(struct json_out *o, uint64_t v);
void json_bool(struct json_out *o, bool v);
void json_nil(struct json_out *o); /* jansson owns the name json_null */
void json_raw(struct json_out *o, const char *json, size_t len); /* already JSON */
void json_value(struct json_out *o, const json_t *v);            /* a jansson tree */
/* The content of a string, for a caller that writes it in pieces between its own quotes. */
void json_put_text(struct buf *b, const char *s, size_t len);
/* Copies JSON text with everything but ASCII escaped, for readers that decode it in pieces. */
void json_put_ascii(struct buf *b, const char *json, size_t len);
/* key and value in one call */
void json_kstr(struct json_out *o, const char *key, const char *s);
void json_kstrn(struct json_out *o, const char *key, const char *s, size_t len);
void json_kint(struct json_out *o, const char *key, int64_t v);
void json_ku64(struct json_out *o, const char *key, uint64_t v);
void json_kbool(struct json_out *o, const char *key, bool v);
void json_knull(struct json_out *o, const char *key);
void json_kint_if(struct json_out *o, const char *key, bool known, int64_t v); /* else null */
void json_kopen(struct json_out *o, const char *key, char bracket); /* end it with json_close() */
void json_ktime(struct json_out *o, const char *key, int64_t wall_ms); /* RFC 3339 or null if 0 */

/*
 * Parses one complete JSON text. Refuses duplicate keys, more than JSON_DEPTH_MAX levels, trailing
 * bytes, and numbers that do not fit in 64 bits. Allows \u0000 in strings; fields that cannot
 * contain it are refused one by one. NULL: err is bad_json or no_memory.
 */
#define JSON_DEPTH_MAX 64
json_t *json_parse(const char *text, size_t len, struct hf_error *err);
/* Parses text that we wrote ourselves: NULL only if it is damaged. Out of memory ends the
 * program, as in hf_xalloc(). */
json_t *json_parse_own(const char *text, size_t len);

/* Parses text that contains secrets: no copy of them remains in freed memory. Free the tree with
 * json_free_secret(). */
json_t *json_parse_secret(const char *text, size_t len, struct hf_error *err);
void json_free_secret(json_t *v);

/* One field of a request body: its target and the values it may have. */
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
    bool nullable; /* null means "not given" */
    bool clamp;    /* INT: a larger value than max means max */
};
#define JSON_FIELD(k, type, member, ...)                                                           \
    BRACES(.name = #member, .kind = JSON_F_##k, .offset = offsetof(type, member), __VA_ARGS__)
/* The same for a field whose name is not the member's. */
#define JSON_FIELD_AS(n, k, type, member, ...)                                                     \
    BRACES(.name = n, .kind = JSON_F_##k, .offset = offsetof(type, member), __VA_ARGS__)
/* The target starts zeroed or with defaults; fields not given are untouched. */
int json_decode(const json_t *object, const struct json_field *fields, size_t n, void *target,
                struct hf_error *err);
/* The same for bodies from other platforms' clients: fields that are not in the table are
 * ignored. */
int json_decode_known(const json_t *object, const struct json_field *fields, size_t n, void *target,
                      struct hf_error *err);
/* The opposite: the members that the table names, with their values. */
json_t *json_encode(const struct json_field *fields, size_t n, const void *source);
/* A string without NUL, or NULL with err set. `field` is its name in the message. */
const char *json_text(const json_t *v, const char *field, struct hf_error *err);

#endif

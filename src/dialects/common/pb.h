/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pb.h - decodes and encodes protobuf's wire format as a tree, by tables
 *
 * A message is a list of fields. Every decoder returns the same tree (e2b has one for the JSON
 * form): only known fields, absent ones omitted, enums as numbers, bytes unchanged (a JSON string
 * may contain any bytes here). So a handler reads a request without knowing its encoding. A
 * Timestamp is an object of seconds and nanos. Messages do not nest in themselves, which bounds the
 * depth; repeated fields of requests are bounded by PB_MANY_MAX. Pure: bytes in, a tree out.
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_PB_H
#define HF_DIALECTS_COMMON_PB_H

#include "base/braces.h"
#include "base/json.h"

enum pb_kind { PB_U32, PB_I64, PB_BOOL, PB_ENUM, PB_TEXT, PB_BYTES, PB_MESSAGE, PB_MAP, PB_TIME };

#define PB_MANY_MAX 4096 /* elements of a repeated field or a map; as LIMIT_ARGS */

struct pb_name {
    const char *name;
    int value;
};

struct pb_message;

struct pb_field {
    uint32_t number;
    const char *name, *snake; /* lowerCamel, and the other spelling where it differs */
    enum pb_kind kind;
    bool many;                        /* repeated; texts and messages only */
    bool ours;                        /* only in replies: no limit on the number */
    uint8_t oneof;                    /* members with the same number exclude each other; 0: none */
    const struct pb_message *message; /* PB_MESSAGE; PB_TIME: its two numbers */
    const struct pb_name *names;      /* PB_ENUM; ends with NULL */
};

struct pb_message {
    const struct pb_field *fields;
    size_t count;
};
extern const struct pb_message pb_empty;

/* static const struct pb_message size = PB_FIELDS(PB_FIELD(1, "rows", U32), …); */
#define PB_FIELD(n, text, k, ...) BRACES(.number = (n), .name = (text), .kind = PB_##k, __VA_ARGS__)
#define PB_FIELDS(...)                                                                             \
    BRACES((const struct pb_field[]){__VA_ARGS__},                                                 \
           sizeof((const struct pb_field[]){__VA_ARGS__}) / sizeof(struct pb_field))

/* NULL: see err. The caller owns the tree. */
json_t *pb_from_wire(const struct pb_message *m, const void *bytes, size_t len,
                     struct hf_error *err);
/* `tree` has the form that a decoder returns. */
void pb_to_wire(const struct pb_message *m, const json_t *tree, struct buf *out);
/* The JSON form, with every field: those that are absent have their defaults, except members of a
 * oneof. 64-bit numbers are strings, bytes are base64, enums are names. */
void pb_to_json(const struct pb_message *m, const json_t *tree, struct json_out *out);

/* Parts of the wire format, for hand-written encoders. */
size_t pb_varint(char *out, uint64_t v); /* at most 10 bytes; returns how many */
void pb_put_varint(struct buf *out, uint64_t v);
void pb_put_bytes(struct buf *out, uint32_t number, const void *bytes, size_t len);
void pb_put_number(struct buf *out, uint32_t number, uint64_t v);

#endif

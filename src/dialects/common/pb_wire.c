/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pb_wire.c - decoder and encoder of protobuf's wire format. Layer: dialects.
 */
#include <string.h>

#include "base/text.h"
#include "dialects/common/pb.h"

const struct pb_message pb_empty = {NULL, 0};

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct pb_wire_cursor {
    const uint8_t *at, *end;
};

/* --- in ---------------------------------------------------------------------- */

static bool take_varint(struct pb_wire_cursor *c, uint64_t *out)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 70 && c->at < c->end; shift += 7) {
        uint8_t b = *c->at++;

        if (shift < 64)
            v |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80) {
            *out = v;
            return true;
        }
    }
    return false;
}

static bool take_bytes(struct pb_wire_cursor *c, struct pb_wire_cursor *out)
{
    uint64_t len;

    if (!take_varint(c, &len) || len > (uint64_t)(c->end - c->at))
        return false;
    out->at = c->at;
    out->end = c->at += len;
    return true;
}

static bool skip(struct pb_wire_cursor *c, unsigned wire)
{
    size_t fixed = wire == WIRE_FIXED64 ? 8 : 4;
    struct pb_wire_cursor rest;
    uint64_t v;

    if (wire == WIRE_VARINT)
        return take_varint(c, &v);
    if (wire == WIRE_BYTES)
        return take_bytes(c, &rest);
    if ((wire != WIRE_FIXED64 && wire != WIRE_FIXED32) || (size_t)(c->end - c->at) < fixed)
        return false;
    c->at += fixed;
    return true;
}

static int broken(struct hf_error *err)
{
    return hf_fail(err, HF_E_bad_value, "the message is not valid protobuf");
}

static unsigned wire_of(const struct pb_field *f)
{
    return f->kind >= PB_TEXT ? WIRE_BYTES : WIRE_VARINT;
}

static const struct pb_field *field_by_number(const struct pb_message *m, uint64_t number)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->fields[i].number == number)
            return &m->fields[i];
    return NULL;
}

static int wire_message(const struct pb_message *m, struct pb_wire_cursor c, json_t *into,
                        struct hf_error *err);

static json_t *text_value(const struct pb_field *f, struct pb_wire_cursor c, struct hf_error *err)
{
    size_t len = (size_t)(c.end - c.at);

    if (f->kind != PB_BYTES && !utf8_is_valid(c.at, len)) {
        hf_fail_field(err, HF_E_bad_value, f->name, "%s is not UTF-8", f->name);
        return NULL;
    }
    return json_stringn_nocheck((const char *)c.at, len);
}

/* A map entry is a message of key and value, either of which may be omitted. */
static int map_entry(const struct pb_field *f, struct pb_wire_cursor c, json_t *map,
                     struct hf_error *err)
{
    static const struct pb_field sides[] = {
        {.number = 1, .name = "key", .kind = PB_TEXT},
        {.number = 2, .name = "value", .kind = PB_TEXT},
    };
    static const struct pb_message entry = {sides, 2};
    json_auto_t *tree = json_object();
    json_t *key, *value;
    int rc = wire_message(&entry, c, tree, err);

    if (rc < 0)
        return rc;
    key = json_object_get(tree, "key");
    value = json_object_get(tree, "value");
    if (json_object_size(map) >= PB_MANY_MAX)
        return hf_fail_field(err, HF_E_bad_value, f->name, "%s has more than %d entries", f->name,
                             PB_MANY_MAX);
    if (key != NULL && strlen(json_string_value(key)) != json_string_length(key))
        return hf_fail_field(err, HF_E_bad_value, f->name, "a name in %s has a NUL", f->name);
    json_object_set_new_nocheck(map, key == NULL ? "" : json_string_value(key),
                                value == NULL ? json_string("") : json_incref(value));
    return 0;
}

static json_t *get_or_make(json_t *into, const struct pb_field *f, json_t *(*make)(void))
{
    json_t *v = json_object_get(into, f->name);

    if (v == NULL) {
        v = make();
        json_object_set_new(into, f->name, v);
    }
    return v;
}

static int wire_bytes(const struct pb_field *f, struct pb_wire_cursor c, json_t *into,
                      struct hf_error *err)
{
    json_t *list = f->many ? get_or_make(into, f, json_array) : NULL, *v;
    int rc = 0;

    if (f->kind == PB_MAP)
        return map_entry(f, c, get_or_make(into, f, json_object), err);
    if (list != NULL && !f->ours && json_array_size(list) >= PB_MANY_MAX)
        return hf_fail_field(err, HF_E_bad_value, f->name, "%s has more than %d elements", f->name,
                             PB_MANY_MAX);
    if (f->kind == PB_MESSAGE || f->kind == PB_TIME) {
        v = list != NULL ? json_object() : json_incref(get_or_make(into, f, json_object));
        rc = wire_message(f->message, c, v, err);
    } else {
        v = text_value(f, c, err);
    }
    if (v == NULL || rc < 0) {
        json_decref(v);
        return rc < 0 ? rc : -1;
    }
    if (list != NULL)
        return json_array_append_new(list, v);
    return json_object_set_new(into, f->name, v);
}

static json_t *number_value(const struct pb_field *f, uint64_t v)
{
    switch (f->kind) {
    case PB_BOOL: return json_boolean(v != 0);
    case PB_ENUM: return json_integer((int32_t)(uint32_t)v);
    case PB_U32: return json_integer((uint32_t)v);
    default: return json_integer((int64_t)v);
    }
}

/* Of mutually exclusive members, the last one counts. */
static void clear_others(const struct pb_message *m, const struct pb_field *f, json_t *into)
{
    for (size_t i = 0; f->oneof != 0 && i < m->count; i++)
        if (m->fields[i].oneof == f->oneof && &m->fields[i] != f)
            json_object_del(into, m->fields[i].name);
}

static int wire_field(const struct pb_message *m, uint64_t tag, struct pb_wire_cursor *c,
                      json_t *into, struct hf_error *err)
{
    const struct pb_field *f = field_by_number(m, tag >> 3);
    struct pb_wire_cursor inner;
    uint64_t v;

    if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
        return broken(err);
    if (f == NULL || wire_of(f) != (tag & 7))
        return skip(c, tag & 7) ? 0 : broken(err);
    clear_others(m, f, into);
    if (wire_of(f) == WIRE_VARINT) {
        if (!take_varint(c, &v))
            return broken(err);
        return json_object_set_new(into, f->name, number_value(f, v));
    }
    return take_bytes(c, &inner) ? wire_bytes(f, inner, into, err) : broken(err);
}

static int wire_message(const struct pb_message *m, struct pb_wire_cursor c, json_t *into,
                        struct hf_error *err)
{
    int rc = 0;

    while (rc == 0 && c.at < c.end) {
        uint64_t tag;

        rc = take_varint(&c, &tag) ? wire_field(m, tag, &c, into, err) : broken(err);
    }
    return rc;
}

json_t *pb_from_wire(const struct pb_message *m, const void *bytes, size_t len,
                     struct hf_error *err)
{
    struct pb_wire_cursor c = {bytes, (const uint8_t *)bytes + len};
    json_t *tree = json_object();

    if (len > 0 && wire_message(m, c, tree, err) < 0) {
        json_decref(tree);
        return NULL;
    }
    return tree;
}

/* --- out ----------------------------------------------------------------------- */

size_t pb_varint(char *out, uint64_t v)
{
    size_t n = 0;

    for (; v >= 0x80; v >>= 7)
        out[n++] = (char)(v | 0x80);
    out[n++] = (char)v;
    return n;
}

void pb_put_varint(struct buf *out, uint64_t v)
{
    char text[10];
    size_t n = pb_varint(text, v);

    buf_put(out, text, n);
}

void pb_put_number(struct buf *out, uint32_t number, uint64_t v)
{
    pb_put_varint(out, (uint64_t)number << 3 | WIRE_VARINT);
    pb_put_varint(out, v);
}

void pb_put_bytes(struct buf *out, uint32_t number, const void *bytes, size_t len)
{
    pb_put_varint(out, (uint64_t)number << 3 | WIRE_BYTES);
    pb_put_varint(out, len);
    buf_put(out, bytes, len);
}

static void put_map(const struct pb_field *f, json_t *map, struct buf *out)
{
    const char *key;
    json_t *value;

    json_object_foreach (map, key, value) {
        struct buf entry = {0};

        pb_put_bytes(&entry, 1, key, strlen(key));
        pb_put_bytes(&entry, 2, json_string_value(value), json_string_length(value));
        pb_put_bytes(out, f->number, buf_data(&entry), entry.len);
        buf_fini(&entry);
    }
}

static void put_value(const struct pb_field *f, const json_t *v, struct buf *out)
{
    struct buf inner = {0};

    switch (f->kind) {
    case PB_TEXT:
    case PB_BYTES: pb_put_bytes(out, f->number, json_string_value(v), json_string_length(v)); break;
    case PB_MESSAGE:
    case PB_TIME:
        pb_to_wire(f->message, v, &inner);
        pb_put_bytes(out, f->number, buf_data(&inner), inner.len);
        buf_fini(&inner);
        break;
    case PB_BOOL: pb_put_number(out, f->number, json_is_true(v)); break;
    default: pb_put_number(out, f->number, (uint64_t)json_integer_value(v)); break;
    }
}

void pb_to_wire(const struct pb_message *m, const json_t *tree, struct buf *out)
{
    for (size_t i = 0; i < m->count; i++) {
        const struct pb_field *f = &m->fields[i];
        json_t *v = json_object_get(tree, f->name), *one;
        size_t k;

        if (v == NULL)
            continue;
        if (f->kind == PB_MAP) {
            put_map(f, v, out);
        } else if (f->many) {
            json_array_foreach (v, k, one) {
                put_value(f, one, out);
            }
        } else {
            put_value(f, v, out);
        }
    }
}

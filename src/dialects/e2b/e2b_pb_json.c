/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_pb_json.c - decodes protobuf's JSON form into a message's tree. Layer: dialects.
 */
#include <string.h>

#include "base/rfc3339.h"
#include "base/text.h"
#include "dialects/e2b/e2b_pb_json.h"

static json_t *wrong(const struct pb_field *f, const char *what, struct hf_error *err)
{
    hf_fail_field(err, HF_E_bad_type, f->name, "%s must be %s", f->name, what);
    return NULL;
}

/* Numbers may be strings, and may have a fraction of zero. */
static bool whole_number(const json_t *v, int64_t min, int64_t max, int64_t *out)
{
    if (json_is_string(v))
        return text_to_i64(json_string_value(v), min, max, out);
    if (json_is_real(v)) {
        double d = json_real_value(v);

        if (!(d >= -9e15 && d <= 9e15) || d != (double)(int64_t)d)
            return false;
        *out = (int64_t)d;
    } else if (json_is_integer(v)) {
        *out = json_integer_value(v);
    } else {
        return false;
    }
    return *out >= min && *out <= max;
}

static json_t *from_enum(const struct pb_field *f, const json_t *v, struct hf_error *err)
{
    int64_t n = 0;

    for (const struct pb_name *e = f->names; json_is_string(v) && e->name != NULL; e++)
        if (strcmp(e->name, json_string_value(v)) == 0)
            return json_integer(e->value);
    if (json_is_string(v) || !whole_number(v, INT32_MIN, INT32_MAX, &n))
        return wrong(f, "one of its enum names, or a number", err);
    return json_integer(n);
}

static json_t *from_bytes(const struct pb_field *f, const json_t *v, struct hf_error *err)
{
    struct buf raw = {0};
    json_t *out = NULL;

    if (!json_is_string(v) || !base64_decode(&raw, json_string_value(v), json_string_length(v)))
        wrong(f, "base64", err);
    else
        out = json_stringn_nocheck(raw.len > 0 ? buf_data(&raw) : "", raw.len);
    buf_fini(&raw);
    return out;
}

static json_t *from_map(const struct pb_field *f, const json_t *v, struct hf_error *err)
{
    json_t *map, *value;
    const char *key;

    if (!json_is_object(v) || json_object_size(v) > PB_MANY_MAX)
        return wrong(f, "an object of strings within the size limit", err);
    map = json_object();
    json_object_foreach ((json_t *)(uintptr_t)v, key, value) {
        if (!json_is_string(value)) {
            json_decref(map);
            return wrong(f, "an object of strings", err);
        }
        json_object_set(map, key, value);
    }
    return map;
}

static json_t *from_time(const struct pb_field *f, const json_t *v, struct hf_error *err)
{
    json_int_t rest;
    int64_t ms = 0;

    if (!json_is_string(v) || !rfc3339_parse(json_string_value(v), &ms))
        return wrong(f, "a time such as 2026-01-02T03:04:05Z", err);
    rest = (ms % 1000 + 1000) % 1000; /* nanos count forwards, also before 1970 */
    return json_pack("{s:I,s:I}", "seconds", (ms - rest) / 1000, "nanos", rest * 1000000);
}

static json_t *from_one(const struct pb_field *f, const json_t *v, struct hf_error *err)
{
    int64_t n = 0;

    switch (f->kind) {
    case PB_U32:
        return whole_number(v, 0, UINT32_MAX, &n) ? json_integer(n)
                                                  : wrong(f, "a 32-bit integer", err);
    case PB_I64:
        return whole_number(v, INT64_MIN, INT64_MAX, &n) ? json_integer(n)
                                                         : wrong(f, "a whole number", err);
    case PB_BOOL:
        return json_is_boolean(v) ? json_boolean(json_is_true(v)) : wrong(f, "true or false", err);
    case PB_ENUM: return from_enum(f, v, err);
    case PB_TEXT:
        return json_is_string(v) ? json_stringn(json_string_value(v), json_string_length(v))
                                 : wrong(f, "a string", err);
    case PB_BYTES: return from_bytes(f, v, err);
    case PB_MAP: return from_map(f, v, err);
    case PB_TIME: return from_time(f, v, err);
    default: return e2b_pb_from_json(f->message, v, err);
    }
}

static json_t *from_many(const struct pb_field *f, const json_t *v, struct hf_error *err)
{
    json_t *list, *one;
    size_t i;

    if (!json_is_array(v) || (!f->ours && json_array_size(v) > PB_MANY_MAX))
        return wrong(f, "an array within the length limit", err);
    list = json_array();
    json_array_foreach (v, i, one) {
        json_t *made = from_one(f, one, err);

        if (made == NULL) {
            json_decref(list);
            return NULL;
        }
        json_array_append_new(list, made);
    }
    return list;
}

static const json_t *value_of(const struct pb_field *f, const json_t *object)
{
    const json_t *v = json_object_get(object, f->name);

    if (v == NULL && f->snake != NULL)
        v = json_object_get(object, f->snake);
    return json_is_null(v) ? NULL : v;
}

static bool is_second(const struct pb_message *m, const struct pb_field *f, const json_t *tree)
{
    for (size_t i = 0; f->oneof != 0 && i < m->count; i++)
        if (m->fields[i].oneof == f->oneof && json_object_get(tree, m->fields[i].name) != NULL)
            return true;
    return false;
}

json_t *e2b_pb_from_json(const struct pb_message *m, const json_t *value, struct hf_error *err)
{
    json_t *tree;

    if (!json_is_object(value)) {
        hf_fail(err, HF_E_bad_type, "a message must be a JSON object");
        return NULL;
    }
    tree = json_object();
    for (size_t i = 0; i < m->count; i++) {
        const struct pb_field *f = &m->fields[i];
        const json_t *v = value_of(f, value);
        json_t *made;

        if (v == NULL)
            continue;
        made = is_second(m, f, tree)
                   ? wrong(f, "omitted, since another field of its oneof is set", err)
               : f->many ? from_many(f, v, err)
                         : from_one(f, v, err);
        if (made == NULL) {
            json_decref(tree);
            return NULL;
        }
        json_object_set_new(tree, f->name, made);
    }
    return tree;
}

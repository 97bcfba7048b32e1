/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pb_json.c - writes the tree of a message in protobuf's JSON form. Layer: dialects.
 */
#include <stdio.h>

#include "base/text.h"
#include "dialects/common/pb.h"

static void write_enum(const struct pb_field *f, json_int_t value, struct json_out *o)
{
    for (const struct pb_name *e = f->names; e->name != NULL; e++)
        if (e->value == value) {
            json_str(o, e->name);
            return;
        }
    json_int(o, value);
}

static void write_bytes(const json_t *v, struct json_out *o)
{
    json_base64(o, json_string_value(v), json_string_length(v));
}

static void write_i64(const json_t *v, struct json_out *o)
{
    char digits[24];

    snprintf(digits, sizeof digits, "%lld", (long long)json_integer_value(v));
    json_str(o, digits);
}

/* jansson reads NULL as zero, false or an empty text, which are the defaults. */
static void write_one(const struct pb_field *f, const json_t *v, struct json_out *o)
{
    switch (f->kind) {
    case PB_U32: json_int(o, json_integer_value(v)); break;
    case PB_I64: write_i64(v, o); break;
    case PB_BOOL: json_bool(o, json_is_true(v)); break;
    case PB_ENUM: write_enum(f, json_integer_value(v), o); break;
    case PB_TEXT: json_strn(o, v != NULL ? json_string_value(v) : "", json_string_length(v)); break;
    case PB_BYTES: write_bytes(v, o); break;
    case PB_MAP:
        if (v != NULL)
            json_value(o, v);
        else
            json_raw(o, "{}", 2);
        break;
    default:
        if (v != NULL)
            pb_to_json(f->message, v, o);
        else
            json_nil(o);
    }
}

static void write_many(const struct pb_field *f, const json_t *list, struct json_out *o)
{
    json_open(o, '[');
    for (size_t i = 0; i < json_array_size(list); i++)
        write_one(f, json_array_get(list, i), o);
    json_close(o, ']');
}

static int64_t time_ms(const json_t *v)
{
    return json_integer_value(json_object_get(v, "seconds")) * 1000 +
           json_integer_value(json_object_get(v, "nanos")) / 1000000;
}

void pb_to_json(const struct pb_message *m, const json_t *tree, struct json_out *o)
{
    json_open(o, '{');
    for (size_t i = 0; i < m->count; i++) {
        const struct pb_field *f = &m->fields[i];
        const json_t *v = json_object_get(tree, f->name);

        if (v == NULL && f->oneof != 0)
            continue;
        if (f->kind == PB_TIME && !f->many) {
            json_ktime(o, f->name, time_ms(v));
            continue;
        }
        json_key(o, f->name);
        if (f->many)
            write_many(f, v, o);
        else
            write_one(f, v, o);
    }
    json_close(o, '}');
}

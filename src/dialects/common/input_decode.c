/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input_decode.c - the JSON form of input. Layer: dialects.
 */
#include "dialects/common/input_decode.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "dialects/common/spawn_decode.h"
#include "term/keys.h"

struct input_decode_body {
    json_t *data, *keys;
    const char *encoding;
    bool eof;
};

static const struct json_field body_fields[] = {
    JSON_FIELD(ANY, struct input_decode_body, data),
    JSON_FIELD(STR, struct input_decode_body, encoding),
    JSON_FIELD(ARRAY, struct input_decode_body, keys),
    JSON_FIELD(BOOL, struct input_decode_body, eof),
};

/* Text may contain any character, including NUL, so it is not a C string. */
static int decode_data(const json_t *data, bool base64, struct buf *out, struct hf_error *err)
{
    const char *text = json_string_value(data);
    size_t len = json_string_length(data);

    if (text == NULL)
        return hf_fail_field(err, HF_E_bad_type, "data", "\"data\" must be a string");
    if (!base64)
        buf_put(out, text, len);
    else if (!base64_decode(out, text, len))
        return hf_fail_field(err, HF_E_bad_value, "data", "\"data\" is not valid base64");
    return 0;
}

static int decode_keys(const json_t *keys, bool app_cursor, struct buf *out, struct hf_error *err)
{
    size_t i;
    json_t *v;

    json_array_foreach ((json_t *)keys, i, v) {
        const char *name = json_text(v, "keys", err);

        if (name == NULL)
            return -1;
        if (keys_encode(out, name, app_cursor) < 0)
            return hf_fail_field(
                err, HF_E_bad_value, "keys",
                "\"%.40s\" is not a key; valid names are Enter, Up, F5 or Ctrl-C, for example",
                name);
    }
    return 0;
}

int input_request_decode(const json_t *body, bool app_cursor, struct buf *out, bool *eof,
                         struct hf_error *err)
{
    struct input_decode_body b = {0};
    bool base64;

    if (json_decode(body, body_fields, sizeof body_fields / sizeof *body_fields, &b, err) < 0)
        return -1;
    if (spawn_request_encoding(b.encoding, "encoding", &base64, err) < 0)
        return -1;
    if (b.data != NULL && decode_data(b.data, base64, out, err) < 0)
        return -1;
    if (b.keys != NULL && decode_keys(b.keys, app_cursor, out, err) < 0)
        return -1;
    *eof |= b.eof;
    return 0;
}

static int check_encoding(const char *encoding, const char *const *names, struct hf_error *err)
{
    char list[100] = "";

    for (size_t i = 0; names[i] != NULL; i++) {
        size_t len = strlen(list);

        if (strcmp(names[i], encoding) == 0)
            return 0;
        snprintf(list + len, sizeof list - len, "%s%s", len > 0 ? " or " : "", names[i]);
    }
    return hf_fail_field(err, HF_E_bad_value, "encoding", "\"encoding\" must be %s", list);
}

int input_data_decode(const json_t *body, const char *encoding, const char *const *names,
                      struct buf *out, struct hf_error *err)
{
    const json_t *data = json_object_get(body, "data"), *name = json_object_get(body, "encoding");

    if (name != NULL && !json_is_null(name))
        encoding = json_text(name, "encoding", err);
    if (encoding == NULL || check_encoding(encoding, names, err) < 0)
        return -1;
    if (data == NULL || json_is_null(data))
        return 0;
    return decode_data(data, strcmp(encoding, "base64") == 0, out, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_decode.c - strict decoding of requests. Layer: dialects.
 */
#include "dialects/native/native_decode.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "dialects/native/native_context.h"

struct process *native_decode_find(const struct http_request *rq, const char *ref,
                                   struct hf_error *err)
{
    struct engine *e = native_of(rq)->base.engine;

    return http_role(rq) == ROLE_OWN ? engine_find_all(e, ref, err) : engine_find(e, ref, err);
}

int native_decode_check_json_type(const struct http_request *rq, struct hf_error *err)
{
    if (http_header(rq, "Content-Type") == NULL || dialect_is_json(rq))
        return 0;
    return hf_fail(err, HF_E_unsupported_media_type,
                   "the body must be application/json; set Content-Type to that or omit it");
}

json_t *native_decode_json(struct http_request *rq, struct hf_error *err)
{
    size_t len;
    const char *text;

    if (native_decode_check_json_type(rq, err) < 0)
        return NULL;
    text = http_body(rq, &len);
    return json_parse(text, len, err);
}

int native_decode_i64(const struct http_request *rq, const char *name, int64_t min, int64_t max,
                      int64_t *out, struct hf_error *err)
{
    const char *text = http_query(rq, name);

    if (text == NULL || text_to_i64(text, min, max, out))
        return 0;
    return hf_fail_field(err, HF_E_bad_query, name, "\"%s\" must be an integer from %lld to %lld",
                         name, (long long)min, (long long)max);
}

int native_decode_choice(const struct http_request *rq, const char *name, const char *const *names,
                         int *out, struct hf_error *err)
{
    const char *text = http_query(rq, name);

    if (text == NULL)
        return 0;
    for (int i = 0; names[i] != NULL; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = i;
            return 0;
        }
    }
    return hf_fail_field(err, HF_E_bad_query, name,
                         "\"%s\" cannot be \"%.40s\"; a valid value is \"%s\"", name, text,
                         names[0]);
}

int native_decode_bool(const struct http_request *rq, const char *name, bool *out,
                       struct hf_error *err)
{
    const char *text = http_query(rq, name);
    int value = text_to_bool(text);

    if (text != NULL && value < 0)
        return hf_fail_field(err, HF_E_bad_query, name, "\"%s\" must be 1, 0, true or false", name);
    if (text != NULL)
        *out = value;
    return 0;
}

int native_decode_size(const struct http_request *rq, int64_t *rows, int64_t *cols,
                       struct hf_error *err)
{
    const char *r = http_query(rq, "rows"), *c = http_query(rq, "cols");

    if (r == NULL && c == NULL)
        return 0;
    if (r == NULL || c == NULL)
        return hf_fail_field(err, HF_E_bad_query, r == NULL ? "rows" : "cols",
                             "\"rows\" and \"cols\" must be given together");
    if (native_decode_i64(rq, "rows", INT64_MIN, INT64_MAX, rows, err) < 0 ||
        native_decode_i64(rq, "cols", INT64_MIN, INT64_MAX, cols, err) < 0)
        return -1;
    return check_size(*rows, *cols, err);
}

int native_decode_since(const struct http_request *rq, struct since *out, struct hf_error *err)
{
    const char *text = http_query(rq, "since");
    uint64_t n;

    if (text == NULL)
        return 0;
    if (strcmp(text, "now") == 0)
        *out = (struct since){SINCE_NOW, 0};
    else if (strcmp(text, "screen") == 0)
        *out = (struct since){SINCE_SCREEN, 0};
    else if (text[0] == '-' && text_to_u64(text + 1, INT64_MAX, &n))
        *out = (struct since){SINCE_LAST, n};
    else if (text_to_u64(text, INT64_MAX, &n))
        *out = (struct since){SINCE_OFFSET, n};
    else
        return hf_fail_field(err, HF_E_bad_query, "since",
                             "\"since\" must be an offset, -N for the last N bytes, now or screen");
    return 0;
}

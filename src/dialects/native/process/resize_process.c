/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resize_process.c - POST /v1/processes/{id}/resize. Layer: dialects.
 */
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"

struct resize_process_body {
    int64_t rows, cols;
};

/* The range is checked separately, because it has its own error code. */
static const struct json_field body_fields[] = {
    JSON_FIELD(INT, struct resize_process_body, rows, .min = INT64_MIN, .max = INT64_MAX,
               .required = true),
    JSON_FIELD(INT, struct resize_process_body, cols, .min = INT64_MIN, .max = INT64_MAX,
               .required = true),
};

int resize_handle(struct http_request *rq, struct process *p, struct hf_error *err)
{
    json_auto_t *tree = native_decode_json(rq, err);
    struct resize_process_body b;
    struct process_view v;
    struct json_out o;

    if (tree == NULL || json_decode(tree, body_fields, 2, &b, err) < 0 ||
        check_size(b.rows, b.cols, err) < 0 || process_resize(p, b.rows, b.cols, "api", err) < 0)
        return -1;
    process_view(p, &v);
    o = dialect_reply_open(dialect_base_of(rq));
    json_kint(&o, "rows", v.rows);
    json_kint(&o, "cols", v.cols);
    dialect_reply_send(rq, 200, &o);
    return 0;
}

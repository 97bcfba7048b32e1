/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_content.c - GET and PUT /v1/files/content: the bytes of a file. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "dialects/common/file_get.h"
#include "dialects/common/file_upload.h"
#include "dialects/common/http_range.h"
#include "dialects/native/files/file_request.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"

/* --- GET ------------------------------------------------------------------------------------- */

int file_content_get_handle(struct http_request *rq, struct hf_error *err)
{
    static const struct file_download_ops ops = {.head = file_get_head,
                                                 .failed = file_request_failed};
    struct file_op op;
    int rc = file_request_query(rq, "read", &op, err);

    if (rc < 0)
        return rc;
    file_get_options(rq, &op);
    file_download_begin(rq, &op, &ops);
    return 0;
}

/* --- PUT ------------------------------------------------------------------------------------- */

static void put_reply(struct http_request *rq, const struct file_entry *e)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));
    char text[FILE_GET_TAG_BYTES + 16];

    snprintf(text, sizeof text, "\"%.*s\"", FILE_GET_TAG_BYTES, e->tag != NULL ? e->tag : "");
    http_add_header(rq, "ETag", text);
    file_request_write_members(&o, e);
    dialect_reply_send(rq, e->created ? 201 : 200, &o);
}

static int add_conditions(struct http_request *rq, struct file_op *op, struct hf_error *err)
{
    const char *match = http_header(rq, "If-Match"), *none = http_header(rq, "If-None-Match");
    char tag[FILE_GET_TAG_BYTES];

    if (match != NULL && !http_range_single_tag(match, tag, sizeof tag))
        return hf_fail_field(err, HF_E_bad_value, "If-Match",
                             "If-Match must be * or one entity tag in quotes");
    if (match != NULL)
        file_op_option(op, "if_match", tag);
    if (none != NULL && (!http_range_single_tag(none, tag, sizeof tag) || strcmp(tag, "*") != 0))
        return hf_fail_field(err, HF_E_bad_value, "If-None-Match",
                             "If-None-Match must be *, which refuses to replace a file");
    if (none != NULL)
        file_op_flag(op, "exclusive", true);
    return 0;
}

static int put_decode(struct http_request *rq, struct file_op *op, struct hf_error *err)
{
    static const char *const flags[] = {"parents", "append", "exclusive"};
    int rc = file_request_query_mode(rq, op, err);

    for (size_t i = 0; rc == 0 && i < sizeof flags / sizeof *flags; i++)
        rc = file_request_query_bool(rq, flags[i], op, err);
    if (rc == 0)
        rc = add_conditions(rq, op, err);
    if (rc == 0)
        rc = file_request_query_coding(rq, op, err);
    return rc;
}

int file_content_put_handle(struct http_request *rq, struct hf_error *err)
{
    static const struct file_upload_ops ops = {.reply = put_reply, .failed = file_request_failed};
    struct file_op op;
    int rc = file_request_query(rq, "write", &op, err);

    if (rc < 0)
        return rc;
    rc = put_decode(rq, &op, err);
    if (rc == 0)
        file_upload_begin(rq, &op, &ops);
    else
        file_op_fini(&op);
    return rc;
}

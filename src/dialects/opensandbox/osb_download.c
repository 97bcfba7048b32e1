/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_download.c - GET /files/download: the bytes of a file, or one range of them. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "dialects/common/file_download.h"
#include "dialects/common/http_range.h"
#include "dialects/opensandbox/osb_batch.h"

static void download_failed(struct http_request *rq, const struct file_fault *f)
{
    osb_files_fault(rq, f, false);
}

static void add_disposition(struct http_request *rq, const struct file_entry *e)
{
    hf_autobuf struct buf text = {0}, name = {0};

    text_percent_encode(&name, e->name != NULL ? e->name : "file", "-._~");
    buf_printf(&text, "attachment; filename=\"%s\"; filename*=UTF-8''%s", buf_cstr(&name),
               buf_cstr(&name));
    http_add_header(rq, "Content-Disposition", buf_cstr(&text));
}

static bool download_head(struct http_request *rq, const struct file_entry *e,
                          struct file_download_head *h)
{
    char text[80];

    if (e->beyond) {
        snprintf(text, sizeof text, "bytes */%lld", (long long)e->size);
        http_add_header(rq, "Content-Range", text);
        osb_refuse(rq, 416, "UNKNOWN", "the range begins beyond the end of the file");
        return false;
    }
    http_add_header(rq, "Accept-Ranges", "bytes");
    add_disposition(rq, e);
    if (e->partial) {
        snprintf(text, sizeof text, "bytes %lld-%lld/%lld", (long long)e->from,
                 (long long)(e->from + e->length - 1), (long long)e->size);
        http_add_header(rq, "Content-Range", text);
        h->status = 206;
    }
    return true;
}

static void add_range(struct http_request *rq, struct file_op *op)
{
    struct http_range range;

    if (!http_range_parse(http_header(rq, "Range"), &range))
        return;
    if (range.from < 0) {
        file_op_number(op, "last", range.length);
        return;
    }
    file_op_number(op, "from", range.from);
    if (range.length >= 0)
        file_op_number(op, "length", range.length);
}

void osb_files_download(struct http_request *rq)
{
    static const struct file_download_ops ops = {.head = download_head, .failed = download_failed};
    const char *given = http_query(rq, "path"), *user;
    hf_autobuf struct buf path = {0};
    char room[OSB_FILES_USER_BYTES];
    struct hf_error err;
    struct file_op op;

    if (given == NULL || given[0] == '\0') {
        osb_refuse(rq, 400, "MISSING_QUERY", "missing query parameter 'path'");
    } else if (http_query(rq, "offset") != NULL || http_query(rq, "limit") != NULL) {
        osb_refuse(rq, 501, "NOT_SUPPORTED",
                   "reading by lines (offset, limit) is not supported; send a Range header");
    } else if (osb_files_path(given, &path, &err) < 0) {
        osb_error(rq, &err);
    } else if (osb_files_user(rq, room, &user)) {
        file_op_init(&op, user, "read", buf_cstr(&path));
        add_range(rq, &op);
        file_download_begin(rq, &op, &ops);
    }
}

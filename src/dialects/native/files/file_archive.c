/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_archive.c - GET and PUT /v1/files/archive: a directory as a tar. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "dialects/common/file_download.h"
#include "dialects/common/file_upload.h"
#include "dialects/native/files/file_request.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"

static const char *const formats[] = {"tar", "tar.gz", NULL};
enum { FORMAT_TAR, FORMAT_TAR_GZ };

static int begin(struct http_request *rq, const char *operation, struct file_op *op,
                 struct hf_error *err)
{
    int format = FORMAT_TAR, rc = native_decode_choice(rq, "format", formats, &format, err);

    if (rc == 0)
        rc = file_request_query(rq, operation, op, err);
    if (rc == 0 && format == FORMAT_TAR_GZ)
        file_op_flag(op, "gzip", true);
    return rc;
}

/* --- GET ------------------------------------------------------------------------------------- */

static bool archive_head(struct http_request *rq, const struct file_entry *e,
                         struct file_download_head *h)
{
    const char *format = http_query(rq, "format");

    (void)e;
    h->type =
        format != NULL && strcmp(format, "tar.gz") == 0 ? "application/gzip" : "application/x-tar";
    h->length = -1;
    http_add_header(rq, "Trailer", "Holdfast-Skipped");
    return true;
}

/* What was left out is known only at the end. */
static void archive_ending(struct http_stream *st, const char *note, size_t len)
{
    static const char word[] = "SKIPPED ";
    char digits[24];
    size_t n = sizeof word - 1, used = 0;

    if (len <= n || memcmp(note, word, n) != 0)
        return;
    while (n < len && note[n] >= '0' && note[n] <= '9' && used < sizeof digits - 1)
        digits[used++] = note[n++];
    digits[used] = '\0';
    http_stream_trailer(st, "Holdfast-Skipped", digits);
}

int file_archive_get_handle(struct http_request *rq, struct hf_error *err)
{
    static const struct file_download_ops ops = {
        .head = archive_head, .failed = file_request_failed, .ending = archive_ending};
    struct file_op op;
    int rc = begin(rq, "pack", &op, err);

    if (rc == 0)
        file_download_begin(rq, &op, &ops);
    return rc;
}

/* --- PUT ------------------------------------------------------------------------------------- */

static void put_reply(struct http_request *rq, const struct file_entry *e)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "path", e->path);
    json_kint(&o, "entries", e->entries);
    json_kint(&o, "bytes", e->bytes);
    json_kint(&o, "skipped", e->skipped);
    dialect_reply_send(rq, 200, &o);
}

int file_archive_put_handle(struct http_request *rq, struct hf_error *err)
{
    static const struct file_upload_ops ops = {.reply = put_reply, .failed = file_request_failed};
    struct file_op op;
    int rc = begin(rq, "unpack", &op, err);

    if (rc != 0)
        return rc;
    if (op.count <= 3) /* format=tar.gz says so already */
        rc = file_request_query_coding(rq, &op, err);
    if (rc == 0)
        file_upload_begin(rq, &op, &ops);
    else
        file_op_fini(&op);
    return rc;
}

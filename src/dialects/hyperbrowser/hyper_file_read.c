/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper_file_read.c - files/read: a file, or a part of it, as text or base64 in JSON
 *
 * The bytes are held in memory, so there is a limit; files/download has none. Layer: dialects.
 */
#include <string.h>

#include "dialects/common/file_gather.h"
#include "dialects/hyperbrowser/hyper_files.h"
#include "dialects/hyperbrowser/hyperbrowser_limits.h"

enum { AS_TEXT, AS_BASE64 };

static void read_reply(struct http_request *rq, const struct file_entry *e, const struct buf *bytes,
                       int tag)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));
    int64_t left = e->length >= 0 ? e->size - (e->from > 0 ? e->from : 0) - e->length : 0;

    if (tag == AS_BASE64) {
        json_key(&o, "content");
        json_base64(&o, buf_data(bytes), bytes->len);
    } else {
        json_kstrn(&o, "content", buf_data(bytes), bytes->len);
    }
    json_kstr(&o, "encoding", tag == AS_BASE64 ? "base64" : "utf8");
    json_kint(&o, "bytesRead", (int64_t)bytes->len);
    json_kbool(&o, "truncated", left > 0);
    dialect_reply_send(rq, 200, &o);
}

static void read_failed(struct http_request *rq, const struct file_fault *f, int tag)
{
    (void)tag;
    hyper_file_failed(rq, f);
}

static void read_too_long(struct http_request *rq, int tag)
{
    (void)tag;
    dialect_fail(rq, HF_E_file_too_large,
                 "more than %d bytes: download the file, or read a part of it",
                 LIMIT_HYPER_FILE_BYTES);
}

void hyper_file_read(struct http_request *rq)
{
    static const struct file_gather_ops ops = {.bytes_max = LIMIT_HYPER_FILE_BYTES,
                                               .reply = read_reply,
                                               .failed = read_failed,
                                               .too_long = read_too_long};
    struct hyper_file_body b;
    json_auto_t *body = hyper_file_body(rq, HYPER_NEEDS_PATH, &b);
    struct file_op op;

    if (body == NULL)
        return;
    if (b.encoding != NULL && strcmp(b.encoding, "utf8") != 0 &&
        strcmp(b.encoding, "base64") != 0) {
        dialect_fail(rq, HF_E_bad_value, "encoding must be utf8 or base64");
        return;
    }
    file_op_init(&op, b.user, "read", b.path);
    if (b.offset >= 0 || b.length >= 0)
        file_op_number(&op, "from", b.offset >= 0 ? b.offset : 0);
    if (b.length >= 0)
        file_op_number(&op, "length", b.length);
    file_gather_begin(rq, &op, &ops,
                      b.encoding != NULL && strcmp(b.encoding, "base64") == 0 ? AS_BASE64
                                                                              : AS_TEXT);
}

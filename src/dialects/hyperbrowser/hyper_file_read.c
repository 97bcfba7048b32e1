/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper_file_read.c - files/read: a file, or a part of it, as text or base64 in JSON
 *
 * The bytes are held in memory, so there is a limit; files/download has none. Layer: dialects.
 */
#include "dialects/common/transfer.h"
#include "dialects/hyperbrowser/hyper_files.h"
#include "dialects/hyperbrowser/hyperbrowser_limits.h"

#include <string.h>

struct file_read {
    struct call call;
    struct transfer *transfer; /* NULL: it has ended, or was let go */
    struct file_lines lines;
    struct buf bytes;
    int64_t left; /* of the file, behind the part */
    bool base64, opened, too_long;
};

static void read_release(struct call *c)
{
    struct file_read *r = (struct file_read *)c;

    transfer_free(r->transfer);
    file_lines_fini(&r->lines);
    buf_fini(&r->bytes);
}

static void read_leave(struct call *c)
{
    struct file_read *r = (struct file_read *)c;

    transfer_abandon(r->transfer);
    r->transfer = NULL;
}

static void read_drain(struct call *c)
{
    struct hf_error err = {0};

    read_leave(c);
    hf_fail(&err, HF_E_shutting_down, "the daemon is shutting down; try again in a moment");
    call_fail(c, &err);
}

static const struct call_kind read_kind = {
    .release = read_release, .disconnected = read_leave, .drain = read_drain};

static void read_head(struct file_read *r, const char *line, size_t len)
{
    struct file_entry e;

    if (!file_entry_decode(&e, line, len))
        return;
    r->opened = true;
    r->too_long = e.length > LIMIT_HYPER_FILE_BYTES;
    r->left = e.size - (e.from > 0 ? e.from : 0) - e.length;
    file_entry_fini(&e);
}

static void read_bytes(void *arg, const char *bytes, size_t len)
{
    struct file_read *r = arg;
    const char *line;
    size_t n;

    if (!r->opened) {
        line = file_lines_next(&r->lines, &bytes, &len, &n);
        if (line == NULL)
            return;
        read_head(r, line, n);
    }
    r->too_long = r->too_long || r->bytes.len + len > LIMIT_HYPER_FILE_BYTES;
    if (!r->too_long)
        buf_put(&r->bytes, bytes, len);
}

static void read_reply(struct file_read *r, struct http_request *rq)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    if (r->base64) {
        json_key(&o, "content");
        json_base64(&o, buf_data(&r->bytes), r->bytes.len);
    } else {
        json_kstrn(&o, "content", buf_data(&r->bytes), r->bytes.len);
    }
    json_kstr(&o, "encoding", r->base64 ? "base64" : "utf8");
    json_kint(&o, "bytesRead", (int64_t)r->bytes.len);
    json_kbool(&o, "truncated", r->left > 0);
    dialect_reply_send(rq, 200, &o);
}

static void read_done(void *arg, const struct transfer_end *end)
{
    struct file_read *r = arg;
    struct http_request *rq = call_detach(&r->call);

    r->transfer = NULL;
    if (end->not_started || !end->ok)
        hyper_error(rq, &end->fault.err);
    else if (!r->opened)
        dialect_fail(rq, HF_E_file_failed, "the file operation has failed");
    else if (r->too_long)
        dialect_fail(rq, HF_E_file_too_large,
                     "more than %d bytes: download the file, or read a part of it",
                     LIMIT_HYPER_FILE_BYTES);
    else
        read_reply(r, rq);
    call_end(&r->call);
}

void hyper_file_read(struct http_request *rq)
{
    static const struct transfer_ops ops = {.bytes = read_bytes, .done = read_done};
    struct hyper_file_body b;
    json_auto_t *body = hyper_file_body(rq, HYPER_NEEDS_PATH, &b);
    struct hf_error err = {0};
    struct file_read *r;
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
    r = call_begin(rq, &read_kind, sizeof *r);
    r->base64 = b.encoding != NULL && strcmp(b.encoding, "base64") == 0;
    if (transfer_start(r->call.base, &op, &ops, r, &r->transfer, &err) < 0)
        call_fail(&r->call, &err);
    file_op_fini(&op);
}

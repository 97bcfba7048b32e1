/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_upload.c - requests whose body becomes a file. Layer: dialects.
 */
#include "dialects/common/file_upload.h"

#include "dialects/common/call.h"
#include "dialects/common/transfer.h"

struct file_upload {
    struct call call;
    const struct file_upload_ops *ops;
    struct transfer *transfer; /* NULL: it has ended, or was let go */
    struct file_lines lines;
    int64_t received;
    struct file_entry last; /* tree NULL: none */
};

static void upload_release(struct call *c)
{
    struct file_upload *u = (struct file_upload *)c;

    transfer_free(u->transfer);
    file_lines_fini(&u->lines);
    file_entry_fini(&u->last);
}

static void upload_leave(struct call *c)
{
    struct file_upload *u = (struct file_upload *)c;

    transfer_abandon(u->transfer);
    u->transfer = NULL;
}

static void upload_drain(struct call *c)
{
    const struct file_upload_ops *ops = ((struct file_upload *)c)->ops;
    struct hf_error err = {0};

    upload_leave(c);
    if (ops->drained != NULL) {
        ops->drained(call_detach(c));
        call_end(c);
        return;
    }
    hf_fail(&err, HF_E_shutting_down, "the daemon is shutting down; try again in a moment");
    call_fail(c, &err);
}

static const struct call_kind upload_kind = {
    .release = upload_release,
    .disconnected = upload_leave,
    .drain = upload_drain,
};

/* --- callbacks of the transfer --------------------------------------------------------------- */

/* An operation that stops reading has failed, and its exit gives the reason. */
static size_t upload_on_body(struct http_request *rq, const void *bytes, size_t len, bool last)
{
    struct file_upload *u = http_user(rq);
    size_t taken = transfer_take(u->transfer, bytes, len, last);

    u->received += (int64_t)taken;
    return taken;
}

static void upload_started(void *arg)
{
    http_body_stream(((struct file_upload *)arg)->call.rq, upload_on_body);
}

static void upload_room(void *arg)
{
    http_body_resume(((struct file_upload *)arg)->call.rq);
}

static void upload_bytes(void *arg, const char *bytes, size_t len)
{
    struct file_upload *u = arg;
    struct file_entry e;
    const char *line;
    size_t n;

    while ((line = file_lines_next(&u->lines, &bytes, &len, &n)) != NULL)
        if (file_entry_decode(&e, line, n)) {
            file_entry_fini(&u->last);
            u->last = e;
        }
}

static void upload_done(void *arg, const struct transfer_end *end)
{
    struct file_upload *u = arg;
    struct http_request *rq = call_detach(&u->call);

    u->transfer = NULL;
    if (u->last.bytes < 0)
        u->last.bytes = u->received;
    if (end->not_started)
        http_reply_error(rq, &end->fault.err);
    else if (!end->ok)
        u->ops->failed(rq, &end->fault);
    else if (u->last.tree == NULL)
        dialect_fail(rq, HF_E_file_failed, "the file operation failed");
    else
        u->ops->reply(rq, &u->last);
    call_end(&u->call);
}

void file_upload_begin(struct http_request *rq, struct file_op *op,
                       const struct file_upload_ops *ops)
{
    static const struct transfer_ops transfer_ops = {
        .started = upload_started, .room = upload_room, .bytes = upload_bytes, .done = upload_done};
    struct file_upload *u = call_begin(rq, &upload_kind, sizeof *u);
    struct hf_error err = {0};

    u->ops = ops;
    if (transfer_start(u->call.base, op, &transfer_ops, u, &u->transfer, &err) < 0)
        call_fail(&u->call, &err);
    file_op_fini(op);
}

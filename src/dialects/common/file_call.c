/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_call.c - requests whose reply are the entries of a file operation. Layer: dialects.
 */
#include "dialects/common/file_call.h"

#include "base/limits.h"
#include "dialects/common/call.h"
#include "dialects/common/transfer.h"

struct file_call {
    struct call call;
    const struct file_call_ops *ops;
    int tag;
    struct transfer *transfer; /* NULL: it has ended, or was let go */
    struct file_lines lines;
    struct buf items;
    size_t count;
    bool truncated, too_long, has_input;
    struct file_entry last; /* tree NULL: none */
};

static void file_call_release(struct call *c)
{
    struct file_call *f = (struct file_call *)c;

    transfer_free(f->transfer);
    file_lines_fini(&f->lines);
    buf_fini(&f->items);
    file_entry_fini(&f->last);
}

static void file_call_let_go(struct file_call *f)
{
    if (f->ops->changes)
        transfer_leave(f->transfer);
    else
        transfer_abandon(f->transfer);
    f->transfer = NULL;
}

static void file_call_disconnected(struct call *c)
{
    file_call_let_go((struct file_call *)c);
}

static void file_call_drain(struct call *c)
{
    struct file_call *f = (struct file_call *)c;
    struct hf_error err = {0};

    file_call_let_go(f);
    if (f->ops->drained != NULL) {
        f->ops->drained(call_detach(c));
        call_end(c);
        return;
    }
    hf_fail(&err, HF_E_shutting_down, "the daemon is shutting down; try again in a moment");
    call_fail(c, &err);
}

static const struct call_kind file_call_kind = {
    .release = file_call_release,
    .disconnected = file_call_disconnected,
    .drain = file_call_drain,
};

/* --- results --------------------------------------------------------------------------------- */

static void file_call_entry(struct file_call *f, const struct file_entry *e)
{
    struct json_out o;

    f->count++;
    if (f->ops->entry == NULL)
        return;
    if (f->items.len > LIMIT_FILE_REPLY_BYTES) {
        f->too_long = true;
        return;
    }
    if (f->items.len > 0)
        buf_putc(&f->items, ',');
    json_out_init(&o, &f->items);
    f->ops->entry(&o, e, f->tag);
}

static void file_call_bytes(void *arg, const char *bytes, size_t len)
{
    struct file_call *f = arg;
    const char *line;
    size_t n;

    while ((line = file_lines_next(&f->lines, &bytes, &len, &n)) != NULL) {
        struct file_entry e;

        if (!file_entry_decode(&e, line, n))
            continue;
        if (e.truncated && e.path == NULL) {
            f->truncated = true;
            file_entry_fini(&e);
            continue;
        }
        if (e.path == NULL && f->ops->entry != NULL) { /* not ours: an entry has a path */
            file_entry_fini(&e);
            continue;
        }
        file_call_entry(f, &e);
        file_entry_fini(&f->last);
        f->last = e;
    }
}

/* An operation that stops reading has failed, and its exit gives the reason. */
static size_t file_call_on_body(struct http_request *rq, const void *bytes, size_t len, bool last)
{
    return transfer_take(((struct file_call *)http_user(rq))->transfer, bytes, len, last);
}

static void file_call_started(void *arg)
{
    const struct file_call *f = arg;

    if (f->has_input)
        http_body_stream(f->call.rq, file_call_on_body);
}

static void file_call_room(void *arg)
{
    const struct file_call *f = arg;

    if (f->has_input)
        http_body_resume(f->call.rq);
}

static void file_call_done(void *arg, const struct transfer_end *end)
{
    struct file_call *f = arg;
    const struct file_results all = {.items = &f->items,
                                     .count = f->count,
                                     .truncated = f->truncated,
                                     .last = f->last.tree != NULL ? &f->last : NULL};
    struct http_request *rq = call_detach(&f->call);
    struct file_fault too_long;

    f->transfer = NULL;
    file_fault_too_long(&too_long);
    if (end->not_started)
        http_reply_error(rq, &end->fault.err);
    else if (!end->ok)
        f->ops->failed(rq, &end->fault, f->tag);
    else if (f->too_long)
        f->ops->failed(rq, &too_long, f->tag);
    else
        f->ops->reply(rq, &all, f->tag);
    call_end(&f->call);
}

void file_call_begin(struct http_request *rq, struct file_op *op, const struct file_call_ops *ops,
                     int tag)
{
    static const struct transfer_ops transfer_ops = {.started = file_call_started,
                                                     .room = file_call_room,
                                                     .bytes = file_call_bytes,
                                                     .done = file_call_done};
    struct file_call *f = call_begin(rq, &file_call_kind, sizeof *f);
    struct hf_error err = {0};

    f->ops = ops;
    f->tag = tag;
    f->has_input = op->has_input;
    if (transfer_start(f->call.base, op, &transfer_ops, f, &f->transfer, &err) < 0)
        call_fail(&f->call, &err);
    file_op_fini(op);
}

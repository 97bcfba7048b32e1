/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_gather.c - requests whose reply is made of all bytes of a file. Layer: dialects.
 */
#include "dialects/common/file_gather.h"

#include <errno.h>

#include "base/limits.h"
#include "dialects/common/call.h"
#include "dialects/common/transfer.h"

struct file_gather {
    struct call call;
    const struct file_gather_ops *ops;
    int tag;
    struct transfer *transfer; /* NULL: it has ended, or was let go */
    struct file_lines lines;
    struct file_entry entry; /* tree NULL: not yet */
    struct buf bytes;
    size_t held; /* granted for them */
};

/* --- memory ---------------------------------------------------------------------------------- */

int file_gather_hold(struct dialect_base *b, size_t *held, size_t bytes, struct hf_error *err)
{
    size_t others = b->gathered - *held;

    if (bytes > *held && bytes > GATHER_SMALL_BYTES &&
        (others + bytes > LIMIT_GATHER_BYTES || !http_server_has_room(b->host.server, 0))) {
        hf_fail(err, HF_E_overloaded,
                "files and unread replies fill the memory that is reserved for them; try again, or "
                "stream the file");
        err->limit = "gather_bytes";
        return -EAGAIN;
    }
    b->gathered = others + bytes;
    *held = bytes;
    return 0;
}

/* --- the call -------------------------------------------------------------------------------- */

static void gather_release(struct call *c)
{
    struct file_gather *g = (struct file_gather *)c;

    (void)file_gather_hold(c->base, &g->held, 0, NULL);
    transfer_free(g->transfer);
    file_lines_fini(&g->lines);
    file_entry_fini(&g->entry);
    buf_fini(&g->bytes);
}

static void gather_leave(struct call *c)
{
    struct file_gather *g = (struct file_gather *)c;

    transfer_abandon(g->transfer);
    g->transfer = NULL;
}

static void gather_drain(struct call *c)
{
    struct hf_error err = {0};

    gather_leave(c);
    hf_fail(&err, HF_E_shutting_down, "the daemon is shutting down; try again in a moment");
    call_fail(c, &err);
}

static const struct call_kind gather_kind = {
    .release = gather_release, .disconnected = gather_leave, .drain = gather_drain};

/* The rest of the file is not read. `err` NULL: it is too long. */
static void gather_refuse(struct file_gather *g, const struct hf_error *err)
{
    const struct file_gather_ops *ops = g->ops;
    struct http_request *rq = call_detach(&g->call);
    int tag = g->tag;

    gather_leave(&g->call);
    call_end(&g->call);
    if (rq != NULL && err != NULL)
        http_reply_error(rq, err);
    else if (rq != NULL)
        ops->too_long(rq, tag);
}

/* The memory for the rest is granted before it arrives. */
static int gather_grow(struct file_gather *g, size_t len, struct hf_error *err)
{
    size_t bytes = g->bytes.len + len;

    if (g->entry.length >= 0 && (size_t)g->entry.length > bytes)
        bytes = (size_t)g->entry.length;
    if (bytes <= g->held)
        return 0;
    return file_gather_hold(g->call.base, &g->held, bytes, err);
}

static void gather_bytes(void *arg, const char *bytes, size_t len)
{
    struct file_gather *g = arg;
    const size_t max = g->ops->bytes_max;
    struct hf_error err = {0};
    const char *line;
    size_t n;

    if (g->entry.tree == NULL) {
        line = file_lines_next(&g->lines, &bytes, &len, &n);
        if (line == NULL || !file_entry_decode(&g->entry, line, n))
            return;
    }
    if (g->entry.length > (int64_t)max || g->bytes.len + len > max)
        gather_refuse(g, NULL);
    else if (gather_grow(g, len, &err) < 0)
        gather_refuse(g, &err);
    else
        buf_put(&g->bytes, bytes, len);
}

static void gather_done(void *arg, const struct transfer_end *end)
{
    struct file_gather *g = arg;
    struct http_request *rq = call_detach(&g->call);
    struct file_fault none;

    g->transfer = NULL;
    file_fault_decode(&none, "", 0);
    if (end->not_started)
        http_reply_error(rq, &end->fault.err);
    else if (!end->ok)
        g->ops->failed(rq, &end->fault, g->tag);
    else if (g->entry.tree == NULL)
        g->ops->failed(rq, &none, g->tag);
    else
        g->ops->reply(rq, &g->entry, &g->bytes, g->tag);
    call_end(&g->call);
}

void file_gather_begin(struct http_request *rq, struct file_op *op,
                       const struct file_gather_ops *ops, int tag)
{
    static const struct transfer_ops transfer_ops = {.bytes = gather_bytes, .done = gather_done};
    struct file_gather *g = call_begin(rq, &gather_kind, sizeof *g);
    struct hf_error err = {0};

    g->ops = ops;
    g->tag = tag;
    if (transfer_start(g->call.base, op, &transfer_ops, g, &g->transfer, &err) < 0)
        call_fail(&g->call, &err);
    file_op_fini(op);
}

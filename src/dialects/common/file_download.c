/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_download.c - requests whose reply is the bytes of a file. Layer: dialects.
 */
#include "dialects/common/file_download.h"

#include "dialects/common/call.h"
#include "dialects/common/transfer.h"

struct file_download {
    struct call call; /* streams from the first byte on */
    const struct file_download_ops *ops;
    struct transfer *transfer; /* NULL: it has ended, or was let go */
    struct file_lines lines;
    int64_t left; /* of the body; -1: unknown */
};

static void download_release(struct call *c)
{
    struct file_download *d = (struct file_download *)c;

    transfer_free(d->transfer);
    file_lines_fini(&d->lines);
}

/* No client reads the rest: end the reader, too. */
static void download_leave(struct call *c)
{
    struct file_download *d = (struct file_download *)c;

    transfer_abandon(d->transfer);
    d->transfer = NULL;
}

static void download_drain(struct call *c)
{
    const char *text = ((struct file_download *)c)->ops->drain_text;
    struct hf_error err = {0};

    download_leave(c);
    hf_fail(&err, HF_E_shutting_down, "%s",
            text != NULL ? text : "the daemon is shutting down; try again in a moment");
    if (c->streams)
        call_stream_abort(c);
    else
        call_fail(c, &err);
}

static void download_room(struct call *c)
{
    struct file_download *d = (struct file_download *)c;

    if (d->transfer != NULL)
        transfer_pump(d->transfer);
}

static const struct call_kind download_kind = {
    .release = download_release,
    .disconnected = download_leave,
    .drain = download_drain,
    .room = download_room,
};

/* --- callbacks of the transfer --------------------------------------------------------------- */

static bool download_ready(void *arg)
{
    const struct file_download *d = arg;

    return !d->call.streams || call_is_ready(&d->call);
}

/* The reader runs as a user who may interfere with it: more than it said is an error. */
static bool download_write(struct file_download *d, const char *bytes, size_t len)
{
    struct iovec iov = {(void *)(uintptr_t)bytes, len};

    if (d->left >= 0 && len > (uint64_t)d->left)
        return false;
    if (d->left >= 0)
        d->left -= (int64_t)len;
    if (len > 0 && d->call.out != NULL)
        http_stream_write(d->call.out, &iov, 1);
    return true;
}

/* The first line reports that the file could be opened; only then can the reply be a success.
 * False: the call has ended. */
static bool download_head(struct file_download *d, const char *line, size_t len)
{
    struct file_download_head h = {.status = 200, .type = "application/octet-stream"};
    struct file_entry e;
    bool send;

    if (!file_entry_decode(&e, line, len)) {
        download_leave(&d->call);
        dialect_fail(call_end(&d->call), HF_E_file_failed, "the file operation failed");
        return false;
    }
    h.length = e.length;
    send = d->ops->head == NULL || d->ops->head(d->call.rq, &e, &h);
    file_entry_fini(&e);
    if (!send) {
        download_leave(&d->call);
        call_detach(&d->call);
        call_end(&d->call);
        return false;
    }
    d->left = h.length;
    call_stream_sized(&d->call, h.status, h.type, h.length);
    return true;
}

static void download_bytes(void *arg, const char *bytes, size_t len)
{
    struct file_download *d = arg;
    const char *line;
    size_t n;

    if (!d->call.streams) {
        line = file_lines_next(&d->lines, &bytes, &len, &n);
        if (line == NULL || !download_head(d, line, n))
            return;
    }
    if (download_write(d, bytes, len))
        return;
    download_leave(&d->call);
    call_stream_abort(&d->call);
}

static void download_done(void *arg, const struct transfer_end *end)
{
    struct file_download *d = arg;

    d->transfer = NULL;
    if (d->call.streams) {
        if (end->ok && d->left <= 0 && d->call.out != NULL) {
            if (d->ops->ending != NULL)
                d->ops->ending(d->call.out, end->note, end->note_len);
            call_stream_end(&d->call);
        } else {
            call_stream_abort(&d->call);
        }
    } else if (end->not_started) {
        call_fail(&d->call, &end->fault.err);
    } else if (end->ok) {
        dialect_fail(call_end(&d->call), HF_E_file_failed, "the file operation failed");
    } else {
        d->ops->failed(call_detach(&d->call), &end->fault);
        call_end(&d->call);
    }
}

void file_download_begin(struct http_request *rq, struct file_op *op,
                         const struct file_download_ops *ops)
{
    static const struct transfer_ops transfer_ops = {
        .ready = download_ready, .bytes = download_bytes, .done = download_done};
    struct file_download *d = call_begin(rq, &download_kind, sizeof *d);
    struct hf_error err = {0};

    d->ops = ops;
    if (transfer_start(d->call.base, op, &transfer_ops, d, &d->transfer, &err) < 0)
        call_fail(&d->call, &err);
    file_op_fini(op);
}

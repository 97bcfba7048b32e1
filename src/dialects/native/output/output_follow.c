/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_follow.c - output as plain bytes, followed to the exit
 *
 * A regular end of the body means that the process has exited and this was its last byte. When it
 * has not (the reader fell out of the ring, or the daemon shuts down), the connection is reset
 * instead. Layer: dialects.
 */
#include "base/mem.h"
#include "dialects/common/caller.h"
#include "dialects/native/native_context.h"
#include "dialects/native/output/get_output.h"
#include "engine/stream/viewer.h"

struct output_follow {
    struct op op;
    struct http_stream *stream;
    struct viewer *viewer;
};

static void follow_free(struct output_follow *f)
{
    viewer_detach(f->viewer);
    native_op_fini(&f->op);
    free(f);
}

static void follow_abort(struct output_follow *f)
{
    http_stream_abort(f->stream);
    follow_free(f);
}

static void follow_on_shutdown(struct op *op)
{
    follow_abort(list_entry(op, struct output_follow, op));
}

static void follow_on_free(struct op *op)
{
    follow_free(list_entry(op, struct output_follow, op));
}

static const struct op_kind follow_kind = {.on_drain = follow_on_shutdown,
                                           .on_free = follow_on_free};

static bool follow_ready(void *arg)
{
    struct output_follow *f = arg;

    return http_stream_ready(f->stream);
}

static void follow_bytes(void *arg, const struct slice *s)
{
    struct output_follow *f = arg;
    struct iovec iov = {(void *)(uintptr_t)s->bytes, s->len};

    http_stream_write(f->stream, &iov, 1);
}

static uint64_t follow_sent(void *arg)
{
    const struct output_follow *f = arg;

    return f->stream != NULL ? http_stream_count_sent(f->stream) : 0;
}

static uint64_t follow_confirmed(void *arg)
{
    const struct output_follow *f = arg;

    return f->stream != NULL ? http_stream_count_taken(f->stream) : 0;
}

static void follow_gap(void *arg, uint64_t from, uint64_t to)
{
    (void)from, (void)to;
    follow_abort(arg);
}

static void follow_exited(void *arg, const struct exit_record *x)
{
    struct output_follow *f = arg;

    (void)x;
    http_stream_end(f->stream);
    follow_free(f);
}

static const struct viewer_ops viewer_ops = {
    .ready = follow_ready,
    .bytes = follow_bytes,
    .sent = follow_sent,
    .confirmed = follow_confirmed,
    .by_kernel = true,
    .gap = follow_gap,
    .exited = follow_exited,
};

static void follow_on_drain(void *arg)
{
    struct output_follow *f = arg;

    viewer_pump(f->viewer);
}

static void follow_on_disconnect(void *arg)
{
    follow_free(arg);
}

static const struct http_stream_ops stream_ops = {.on_drain = follow_on_drain,
                                                  .on_disconnect = follow_on_disconnect};

void output_follow(struct http_request *rq, struct process *p, const struct output_range *r)
{
    const struct viewer_options o = {
        .since = SINCE_OFFSET,
        .offset = r->from,
        .read_only = true,
        .name = http_peer(rq),
        .guest = caller_is_guest(rq),
        .only_stream = r->only_stream,
    };
    struct output_follow *f;
    struct hf_error err;

    output_add_headers(rq, r);
    http_add_header(rq, "Cache-Control", "no-store");
    if (http_method(rq) == HTTP_HEAD_M) {
        http_reply(rq, 200, "application/octet-stream", "", 0);
        return;
    }
    f = hf_xalloc(sizeof *f);
    native_op_init(&f->op, native_of(rq), &follow_kind);
    if (viewer_attach(p, &o, &viewer_ops, f, &f->viewer, &err) < 0) {
        follow_free(f);
        http_reply_error(rq, &err);
        return;
    }
    f->stream = http_stream_start(rq, 200, "application/octet-stream", &stream_ops, f);
}

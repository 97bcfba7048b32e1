/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_sse.c - output as server-sent events: output, gap, exit
 *
 * A client that reconnects with Last-Event-ID misses nothing and gets nothing twice. Layer:
 * dialects.
 */
#include "base/mem.h"
#include "dialects/common/caller.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/output/get_output.h"
#include "dialects/native/output/output_events.h"
#include "engine/stream/viewer.h"
#include "transport/sse.h"

struct events_out {
    struct op op;
    struct viewer *viewer;
    struct output_events events;
};

static void sse_free(struct events_out *x)
{
    viewer_detach(x->viewer);
    native_op_fini(&x->op);
    free(x);
}

/* The client reconnects automatically and continues at the last id. */
static void sse_on_shutdown(struct op *op)
{
    struct events_out *x = list_entry(op, struct events_out, op);

    http_stream_end(x->events.stream);
    sse_free(x);
}

static void sse_on_free(struct op *op)
{
    sse_free(list_entry(op, struct events_out, op));
}

static const struct op_kind sse_kind = {.on_drain = sse_on_shutdown, .on_free = sse_on_free};

static bool sse_ready(void *arg)
{
    struct events_out *x = arg;

    return http_stream_ready(x->events.stream);
}

static void sse_bytes(void *arg, const struct slice *s)
{
    output_events_bytes(&((struct events_out *)arg)->events, s);
}

static uint64_t sse_sent(void *arg)
{
    const struct events_out *x = arg;

    return x->events.stream != NULL ? http_stream_count_sent(x->events.stream) : 0;
}

static uint64_t sse_confirmed(void *arg)
{
    const struct events_out *x = arg;

    return x->events.stream != NULL ? http_stream_count_taken(x->events.stream) : 0;
}

static void sse_gap(void *arg, uint64_t from, uint64_t to)
{
    output_events_gap(&((struct events_out *)arg)->events, from, to);
}

static void sse_exited(void *arg, const struct exit_record *e)
{
    struct events_out *x = arg;
    uint64_t at = viewer_offset(x->viewer);
    struct json_out o;

    output_events_flush(&x->events);
    o = json_reply_open(x->op.native);
    process_json_exit(&o, e);
    json_ku64(&o, "offset", at);
    json_close(&o, '}');
    output_events_send(&x->events, "exit", at);
    http_stream_end(x->events.stream);
    sse_free(x);
}

static const struct viewer_ops viewer_ops = {
    .ready = sse_ready,
    .bytes = sse_bytes,
    .sent = sse_sent,
    .confirmed = sse_confirmed,
    .by_kernel = true,
    .gap = sse_gap,
    .exited = sse_exited,
};

static void sse_on_drain(void *arg)
{
    struct events_out *x = arg;

    viewer_pump(x->viewer);
}

static void sse_on_disconnect(void *arg)
{
    sse_free(arg);
}

static const struct http_stream_ops stream_ops = {.on_drain = sse_on_drain,
                                                  .on_disconnect = sse_on_disconnect};

void output_sse(struct http_request *rq, struct process *p, const struct output_range *r)
{
    const struct viewer_options o = {
        .since = SINCE_OFFSET,
        .offset = r->gap_from, /* a gap is the first event */
        .read_only = true,
        .name = http_peer(rq),
        .guest = caller_is_guest(rq),
        .only_stream = r->only_stream,
    };
    struct events_out *x;
    struct hf_error err;

    http_add_header(rq, "Cache-Control", "no-store");
    if (http_method(rq) == HTTP_HEAD_M) {
        http_reply(rq, 200, SSE_TYPE, "", 0);
        return;
    }
    x = hf_xalloc(sizeof *x);
    native_op_init(&x->op, native_of(rq), &sse_kind);
    if (viewer_attach(p, &o, &viewer_ops, x, &x->viewer, &err) < 0) {
        sse_free(x);
        http_reply_error(rq, &err);
        return;
    }
    x->events.native = native_of(rq);
    x->events.stream = sse_start(rq, &stream_ops, x);
}

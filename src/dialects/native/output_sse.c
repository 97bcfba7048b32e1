/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_sse.c - output as server-sent events: output, gap, exit
 *
 * The id of each event is the offset of the byte behind it, so a client that
 * comes back with Last-Event-ID misses nothing and gets nothing twice. Bytes of a
 * character that is not complete yet are held (three at most) until the rest
 * comes, and the id does not count them. Layer: dialects.
 */
#include <stdio.h>

#include "base/mem.h"
#include "base/text.h"
#include "dialects/native/answer.h"
#include "dialects/native/output.h"
#include "engine/viewer.h"
#include "transport/sse.h"

struct events_out {
    struct op op;
    struct http_stream *stream;
    struct viewer *viewer;
    uint64_t held_at;
    enum stream held_stream;
    uint8_t held_len;
    char held[4];
};

static void sse_free(struct events_out *x)
{
    viewer_detach(x->viewer);
    op_fini(&x->op);
    free(x);
}

/* The client comes back by itself and goes on at the last id. */
static void sse_on_going(struct op *op)
{
    struct events_out *x = list_entry(op, struct events_out, op);

    http_stream_end(x->stream);
    sse_free(x);
}

static void sse_on_free(struct op *op)
{
    sse_free(list_entry(op, struct events_out, op));
}

static const struct op_kind sse_kind = {.on_drain = sse_on_going, .on_free = sse_on_free};

/* Sends the JSON that stands in the scratch buffer as one event. */
static void send_event(struct events_out *x, const char *event, uint64_t id)
{
    const struct native *n = x->op.native;
    char text[24];

    snprintf(text, sizeof text, "%llu", (unsigned long long)id);
    sse_send(x->stream, event, text, buf_data(&n->scratch), n->scratch.len);
}

static void sse_send_output(struct events_out *x, uint64_t at, enum stream stream,
                            const char *bytes, size_t len)
{
    struct json_out o = answer_open(x->op.native);

    json_ku64(&o, "offset", at);
    json_kstr(&o, "stream", stream_name(stream));
    write_data(&o, bytes, len);
    json_shut(&o, '}');
    send_event(x, "output", at + len);
}

/* What is held will not be completed: it goes as it is. */
static void sse_flush_held(struct events_out *x)
{
    if (x->held_len > 0)
        sse_send_output(x, x->held_at, x->held_stream, x->held, x->held_len);
    x->held_len = 0;
}

/* Sends all but an open character at the end, which is held. */
static void sse_put(struct events_out *x, uint64_t at, enum stream stream, const char *bytes,
                    size_t len)
{
    size_t open = utf8_open_tail(bytes, len);

    if (open < len)
        sse_send_output(x, at, stream, bytes, len - open);
    memcpy(x->held, bytes + len - open, open);
    x->held_len = (uint8_t)open;
    x->held_at = at + len - open;
    x->held_stream = stream;
}

static bool sse_ready(void *arg)
{
    struct events_out *x = arg;

    return http_stream_ready(x->stream);
}

static void sse_bytes(void *arg, const struct slice *s)
{
    struct events_out *x = arg;
    struct buf *joined = &x->op.native->joined;

    if (x->held_len > 0 && (x->held_stream != s->stream || x->held_at + x->held_len != s->at))
        sse_flush_held(x);
    if (x->held_len == 0) {
        sse_put(x, s->at, s->stream, s->bytes, s->len);
        return;
    }
    buf_clear(joined);
    buf_put(joined, x->held, x->held_len);
    buf_put(joined, s->bytes, s->len);
    sse_put(x, x->held_at, s->stream, buf_data(joined), joined->len);
}

static void sse_gap(void *arg, uint64_t from, uint64_t to)
{
    struct events_out *x = arg;
    struct json_out o;

    sse_flush_held(x);
    o = answer_open(x->op.native);
    json_ku64(&o, "from", from);
    json_ku64(&o, "to", to);
    json_shut(&o, '}');
    send_event(x, "gap", to);
}

static void sse_exited(void *arg, const struct exit_record *e)
{
    struct events_out *x = arg;
    uint64_t at = viewer_offset(x->viewer);
    struct json_out o;

    sse_flush_held(x);
    o = answer_open(x->op.native);
    write_exit(&o, e);
    json_ku64(&o, "offset", at);
    json_shut(&o, '}');
    send_event(x, "exit", at);
    http_stream_end(x->stream);
    sse_free(x);
}

static const struct viewer_ops viewer_ops = {
    .ready = sse_ready,
    .bytes = sse_bytes,
    .gap = sse_gap,
    .exited = sse_exited,
};

static void sse_on_drain(void *arg)
{
    struct events_out *x = arg;

    viewer_pump(x->viewer);
}

static void sse_on_gone(void *arg)
{
    sse_free(arg);
}

static const struct http_stream_ops stream_ops = {.on_drain = sse_on_drain, .on_gone = sse_on_gone};

void output_sse(struct http_request *rq, struct process *p, const struct output_range *r)
{
    const struct viewer_options o = {
        .since = SINCE_OFFSET,
        .offset = r->gap_from, /* a gap is the first event */
        .read_only = true,
        .name = http_peer(rq),
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
    op_init(&x->op, native_of(rq), &sse_kind);
    if (viewer_attach(p, &o, &viewer_ops, x, &x->viewer, &err) < 0) {
        sse_free(x);
        http_reply_error(rq, &err);
        return;
    }
    x->stream = sse_start(rq, &stream_ops, x);
}

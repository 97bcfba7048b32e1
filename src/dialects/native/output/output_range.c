/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_range.c - a range of output as plain bytes or as JSON. Layer: dialects.
 */
#include <stdio.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/output/get_output.h"

#define RAW_TYPE "application/octet-stream"
#define RAW_SMALL_BYTES (256 * 1024)
#define OUTPUT_JSON_BYTES (1024 * 1024)

/* --- plain bytes -------------------------------------------------------------------------- */

/*
 * A small range is one reply. A large one is sent from the ring slice by slice, as the socket
 * accepts it and the loop has time, so nothing is copied. If the process overtakes the reader, the
 * connection is reset (plain bytes cannot report a gap), and the client continues at
 * Holdfast-Offset plus what it received.
 */
struct raw_range {
    struct call call;
    struct process *process; /* referenced */
    struct output_range r;   /* r.from is the next byte */
};

static void raw_release(struct call *c)
{
    process_unref(list_entry(c, struct raw_range, call)->process);
}

/* Sends one slice; skips those of the other stream. */
static void raw_step(struct raw_range *x, const struct journal *j)
{
    uint64_t left = x->r.to - x->r.from;
    struct slice s =
        journal_slice(j, x->r.from, left < VIEWER_SLICE_BYTES ? left : VIEWER_SLICE_BYTES);
    struct iovec iov = {(void *)(uintptr_t)s.bytes, s.len};

    x->r.from += s.len;
    if (output_wants(&x->r, s.stream))
        http_stream_write(x->call.out, &iov, 1);
}

static void raw_pump(struct call *c)
{
    struct raw_range *x = list_entry(c, struct raw_range, call);
    struct journal *j = process_journal(x->process);

    while (x->r.from < x->r.to && http_stream_ready(c->out)) {
        if (x->r.from < journal_first(j)) {
            call_stream_abort(c);
            return;
        }
        if (!http_stream_has_time(c->out))
            return;
        raw_step(x, j);
    }
    if (x->r.from == x->r.to)
        call_stream_end(c);
}

/* The range is bounded, so a shutdown lets it finish. */
static const struct call_kind raw_kind = {
    .release = raw_release,
    .drain = call_outlast_drain,
    .room = raw_pump,
};

static void reply_stream(struct http_request *rq, struct process *p, const struct output_range *r)
{
    struct raw_range *x = call_begin(rq, &raw_kind, sizeof *x);
    bool head =
        http_method(rq) == HTTP_HEAD_M; /* nothing is streamed, and the stream ends itself */

    x->process = process_ref(p);
    x->r = *r;
    call_stream(&x->call, 200, RAW_TYPE);
    if (!head)
        raw_pump(&x->call);
}

static void reply_filtered(struct http_request *rq, const struct journal *j,
                           const struct output_range *r)
{
    struct buf *out = &native_of(rq)->base.scratch;

    buf_clear(out);
    for (uint64_t at = r->from; at < r->to;) {
        struct slice s = journal_slice(j, at, (size_t)(r->to - at));

        at += s.len;
        if (output_wants(r, s.stream))
            buf_put(out, s.bytes, s.len);
    }
    http_reply(rq, 200, RAW_TYPE, buf_data(out), out->len);
}

int output_raw(struct http_request *rq, struct process *p, const struct output_range *r,
               struct hf_error *err)
{
    struct journal *j = process_journal(p);

    (void)err;
    output_add_headers(rq, r, false);
    /* Only a walk over all of a large range would find the length of one stream in it. */
    if (r->to - r->from > RAW_SMALL_BYTES &&
        (http_method(rq) != HTTP_HEAD_M || r->only_stream >= 0))
        reply_stream(rq, p, r);
    else if (r->only_stream >= 0)
        reply_filtered(rq, j, r);
    else
        http_reply(rq, 200, RAW_TYPE, journal_bytes(j, r->from), r->to - r->from);
    return 0;
}

/* --- JSON --------------------------------------------------------------------------------- */

/*
 * A chunk is text if it is UTF-8, otherwise base64, and never ends inside a character. One reply
 * holds at most OUTPUT_JSON_BYTES; `next` is where to continue.
 */
static void write_chunk(struct json_out *o, const struct slice *s)
{
    json_open(o, '{');
    json_ku64(o, "offset", s->at);
    json_kstr(o, "stream", stream_name(s->stream));
    process_json_data(o, s->bytes, s->len);
    json_ktime(o, "time", s->time_ms);
    json_close(o, '}');
}

/* An incomplete character may be left for the next reply, unless exactly these bytes were requested
 * or no more will follow. */
static bool may_leave(const struct output_range *r, uint64_t end, bool running)
{
    return end == r->to && !r->until && running;
}

/* Writes chunks from r->from and returns where they end. */
static uint64_t write_chunks(struct json_out *o, const struct journal *j,
                             const struct output_range *r, bool running)
{
    uint64_t at = r->from;

    while (at < r->to) {
        uint64_t left = r->to - at;
        struct slice s =
            journal_slice(j, at, left < VIEWER_SLICE_BYTES ? left : VIEWER_SLICE_BYTES);
        size_t open = utf8_open_tail(s.bytes, s.len);

        if (!output_wants(r, s.stream)) {
            at += s.len;
            continue;
        }
        if (open < s.len)
            s.len -= open; /* repeated at the front of the next slice */
        else if (may_leave(r, at + s.len, running))
            break;
        write_chunk(o, &s);
        at += s.len;
    }
    return at;
}

int output_json(struct http_request *rq, struct process *p, const struct output_range *range,
                struct hf_error *err)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));
    struct output_range r = *range;
    struct process_view v;
    uint64_t next;
    bool cut = r.to - r.from > OUTPUT_JSON_BYTES;

    (void)err;
    process_view(p, &v);
    if (cut)
        r.to = r.from + OUTPUT_JSON_BYTES;
    json_ku64(&o, "offset", r.from);
    process_json_range(&o, "gap", r.gap_from, r.from);
    json_kopen(&o, "chunks", '[');
    next = write_chunks(&o, process_journal(p), &r, v.running || cut);
    json_close(&o, ']');
    json_ku64(&o, "next", next);
    /* The exit follows the last byte, here as everywhere. */
    if (next < v.exit->offset)
        v.running = true;
    process_json_exit(&o, process_exit_of(&v));
    dialect_reply_send(rq, 200, &o);
    return 0;
}

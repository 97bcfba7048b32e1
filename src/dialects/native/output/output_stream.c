/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_stream.c - output followed to the exit: plain bytes, or the events output, gap and exit
 *
 * A regular end of plain bytes means that the process has exited and this was its last byte. When
 * it has not (the reader fell out of the ring, or the daemon shuts down), the connection is reset
 * instead. A client of events that reconnects with Last-Event-ID misses nothing and gets nothing
 * twice. Layer: dialects.
 */
#include "base/mem.h"
#include "dialects/common/follow.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/output/get_output.h"
#include "dialects/native/output/output_events.h"

int output_follow(struct http_request *rq, struct process *p, const struct output_range *r,
                  struct hf_error *err)
{
    static const struct follow_ops ops = {0};
    const struct follow_open o = {
        .type = "application/octet-stream",
        .viewer = {.since = SINCE_OFFSET, .offset = r->from, .only_stream = r->only_stream},
    };

    output_add_headers(rq, r, true);
    http_add_header(rq, "Cache-Control", "no-store");
    return follow_begin(hf_xalloc(sizeof(struct follow)), &ops, rq, p, &o, err);
}

/* --- events ------------------------------------------------------------------------------- */

struct events_out {
    struct follow follow;
    struct output_events events;
};

static struct output_events *events_of(struct follow *f)
{
    struct events_out *x = list_entry(f, struct events_out, follow);

    x->events.stream = f->out;
    return &x->events;
}

static void sse_bytes(struct follow *f, const struct slice *s)
{
    output_events_bytes(events_of(f), s);
}

static void sse_gap(struct follow *f, uint64_t from, uint64_t to)
{
    output_events_gap(events_of(f), from, to);
}

static bool sse_exited(struct follow *f, const struct exit_record *e)
{
    struct output_events *events = events_of(f);
    uint64_t at = journal_next(process_journal(f->process));
    struct json_out o;

    output_events_flush(events);
    o = dialect_reply_open(&events->native->base);
    process_json_exit(&o, e);
    process_json_usage(&o, process_usage(f->process));
    json_ku64(&o, "offset", at);
    json_close(&o, '}');
    output_events_send(events, "exit", at);
    return true;
}

/* The client reconnects automatically and continues at the last id. */
static void sse_drain(struct follow *f)
{
    (void)f;
}

int output_sse(struct http_request *rq, struct process *p, const struct output_range *r,
               struct hf_error *err)
{
    static const struct follow_ops ops = {
        .bytes = sse_bytes, .gap = sse_gap, .exited = sse_exited, .drain = sse_drain};
    const struct follow_open o = {
        /* a gap is the first event */
        .viewer = {.since = SINCE_OFFSET, .offset = r->gap_from, .only_stream = r->only_stream},
    };
    struct events_out *x = hf_xalloc(sizeof *x);

    http_add_header(rq, "Cache-Control", "no-store");
    x->events.native = native_of(rq);
    return follow_begin(&x->follow, &ops, rq, p, &o, err);
}

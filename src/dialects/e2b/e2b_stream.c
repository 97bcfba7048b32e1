/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_stream.c - a viewer that sends output as events
 *
 * The order is the contract: one start, data and keep-alives, one end, the envelope that ends the
 * stream. This protocol cannot report a gap to a reader that is too slow for the journal, so its
 * stream ends with an error rather than with missing output. Layer: dialects.
 */
#include "dialects/e2b/e2b_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"
#include "dialects/common/caller.h"
#include "dialects/e2b/e2b_event.h"

struct e2b_stream {
    struct pending pending;
    struct e2b *e2b;
    struct process *process; /* referenced */
    struct viewer *viewer;
    struct http_stream *http;
    struct timer *keepalive, *deadline;
    struct e2b_stream_request request;
    bool starter;
};

static void stream_free(struct pending *p)
{
    struct e2b_stream *s = list_entry(p, struct e2b_stream, pending);

    viewer_detach(s->viewer);
    timer_close(s->keepalive);
    timer_close(s->deadline);
    process_unref(s->process);
    pending_fini(p);
    free(s);
}

static void stream_write(struct e2b_stream *s, const struct buf *b, const struct slice *bytes)
{
    struct iovec iov[2] = {{buf_data(b), b->len}};

    if (bytes != NULL)
        iov[1] = (struct iovec){(void *)(uintptr_t)bytes->bytes, bytes->len};
    http_stream_write(s->http, iov, bytes != NULL ? 2 : 1);
    timer_start(s->keepalive, s->request.keepalive_ms);
}

static struct buf *scratch(struct e2b_stream *s)
{
    buf_clear(&s->e2b->base.scratch);
    return &s->e2b->base.scratch;
}

/* Sends the last envelope, with or without an error, and frees the stream. */
static void stream_end(struct e2b_stream *s, struct buf *b, const char *code, const char *message)
{
    e2b_rpc_end(b, code, message);
    stream_write(s, b, NULL);
    http_stream_end(s->http);
    stream_free(&s->pending);
}

static void stream_drain(struct pending *p)
{
    struct e2b_stream *s = list_entry(p, struct e2b_stream, pending);

    stream_end(
        s, scratch(s), "unavailable",
        "the daemon is shutting down; the process may still be running: reconnect to follow it");
}

static const struct pending_kind stream_kind = {.drain = stream_drain, .free = stream_free};

/* --- the viewer ------------------------------------------------------------------ */

static bool on_ready(void *arg)
{
    struct e2b_stream *s = arg;

    return s->http != NULL && http_stream_ready(s->http);
}

static void on_bytes(void *arg, const struct slice *bytes)
{
    struct e2b_stream *s = arg;
    struct buf *b = scratch(s);

    if (bytes->len > 0)
        stream_write(s, b, e2b_event_data(b, s->request.codec, bytes) ? bytes : NULL);
}

static uint64_t on_sent(void *arg)
{
    const struct e2b_stream *s = arg;

    return s->http != NULL ? http_stream_count_sent(s->http) : 0;
}

static uint64_t on_confirmed(void *arg)
{
    const struct e2b_stream *s = arg;

    return s->http != NULL ? http_stream_count_taken(s->http) : 0;
}

static void on_gap(void *arg, uint64_t from, uint64_t to)
{
    struct e2b_stream *s = arg;
    char why[160];

    snprintf(why, sizeof why,
             "output from byte %llu on is no longer held; connect again with Holdfast-Since: %llu",
             (unsigned long long)from, (unsigned long long)to);
    stream_end(s, scratch(s), "data_loss", why);
}

static void on_exited(void *arg, const struct exit_record *x)
{
    struct e2b_stream *s = arg;
    struct buf *b = scratch(s);

    if (s->e2b->sandbox.killed) { /* with the machine; the SDK requests /health and reports it */
        http_stream_abort(s->http);
        stream_free(&s->pending);
        return;
    }
    if (s->starter && x->kind == EXIT_TIMED_OUT) {
        stream_end(s, b, "deadline_exceeded", "context deadline exceeded");
        return;
    }
    e2b_event_end(b, s->request.codec, x);
    stream_end(s, b, NULL, NULL);
}

static const struct viewer_ops viewer_ops = {
    .ready = on_ready,
    .bytes = on_bytes,
    .sent = on_sent,
    .confirmed = on_confirmed,
    .by_kernel = true,
    .gap = on_gap,
    .exited = on_exited,
};

/* --- the connection and the timers ---------------------------------------------------- */

static void on_drain(void *arg)
{
    viewer_pump(((struct e2b_stream *)arg)->viewer);
}

static void on_disconnect(void *arg)
{
    stream_free(&((struct e2b_stream *)arg)->pending);
}

static const struct http_stream_ops http_ops = {.on_drain = on_drain,
                                                .on_disconnect = on_disconnect};

static void on_keepalive(struct timer *t, void *arg)
{
    struct e2b_stream *s = arg;
    struct buf *b = scratch(s);

    (void)t;
    e2b_event_keepalive(b, s->request.codec);
    if (http_stream_ready(s->http))
        stream_write(s, b, NULL);
    else
        timer_start(s->keepalive, s->request.keepalive_ms);
}

static void on_deadline(struct timer *t, void *arg)
{
    struct e2b_stream *s = arg;

    (void)t;
    stream_end(s, scratch(s), "deadline_exceeded", "context deadline exceeded");
}

/* --- decoding -------------------------------------------------------------------------- */

static bool decode_deadline(struct http_request *rq, struct e2b_stream_request *request)
{
    const char *text = http_header(rq, "Connect-Timeout-Ms"),
               *what = http_header(rq, "Holdfast-Deadline");

    request->deadline_stream = what != NULL && strcasecmp(what, "stream") == 0;
    if (what != NULL && !request->deadline_stream && strcasecmp(what, "process") != 0) {
        e2b_rpc_fail(rq, "invalid_argument", "Holdfast-Deadline must be stream or process");
        return false;
    }
    if (text == NULL)
        return true;
    if (strlen(text) > 10 || !text_to_i64(text, 0, INT64_MAX, &request->deadline_ms)) {
        e2b_rpc_fail(rq, "invalid_argument",
                     "Connect-Timeout-Ms must be a number of at most 10 digits");
        return false;
    }
    if (request->deadline_ms > 0)
        return true;
    e2b_rpc_fail(rq, "deadline_exceeded", "context deadline exceeded");
    return false;
}

bool e2b_stream_decode(struct http_request *rq, struct e2b_stream_request *request)
{
    const char *text = http_header(rq, "Keepalive-Ping-Interval");
    int64_t every = E2B_KEEPALIVE_S;

    if (text != NULL && !text_to_i64(text, 1, E2B_KEEPALIVE_MAX_S, &every))
        every = E2B_KEEPALIVE_S;
    request->keepalive_ms = (uint64_t)every * 1000;
    return decode_deadline(rq, request);
}

static void stream_open(struct e2b_stream *s, struct http_request *rq)
{
    struct process_view v;
    struct buf *b;

    process_view(s->process, &v);
    http_add_header(rq, "Cache-Control", "no-cache");
    s->http = http_stream_start(rq, 200, e2b_rpc_stream_type(s->request.codec), &http_ops, s);
    b = scratch(s);
    e2b_event_start(b, s->request.codec, v.pid);
    stream_write(s, b, NULL);
}

void e2b_stream_begin(struct http_request *rq, struct process *p,
                      const struct e2b_stream_request *request, const struct viewer_options *from,
                      bool starter)
{
    struct e2b *e = e2b_of(rq);
    struct e2b_stream *s = hf_xalloc(sizeof *s);
    struct viewer_options o = *from;
    struct process_view v;
    struct hf_error err;

    process_view(p, &v);
    o.only_stream = -1;
    o.role = http_role(rq) >= ROLE_OWN    ? VIEWER_OWN
             : http_role(rq) == ROLE_TYPE ? VIEWER_TYPE
                                          : VIEWER_WATCH;
    o.read_only = o.role == VIEWER_WATCH;
    o.guest = caller_is_guest(rq);
    o.terminal = v.pty && !o.read_only;
    o.name = http_peer(rq);
    s->e2b = e;
    s->process = process_ref(p);
    s->request = *request;
    s->starter = starter;
    s->keepalive = timer_new(e->base.loop, on_keepalive, s);
    pending_init(&s->pending, &e->base.pending, &stream_kind);
    if (viewer_attach(p, &o, &viewer_ops, s, &s->viewer, &err) < 0) {
        stream_free(&s->pending);
        e2b_rpc_error(rq, &err);
        return;
    }
    stream_open(s, rq);
    if (request->deadline_ms > 0 && (!starter || request->deadline_stream)) {
        s->deadline = timer_new(e->base.loop, on_deadline, s);
        timer_start(s->deadline, (uint64_t)request->deadline_ms);
    }
}

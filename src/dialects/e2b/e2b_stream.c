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
#include "dialects/common/follow.h"
#include "dialects/common/grpc.h"
#include "dialects/e2b/e2b_event.h"

struct e2b_stream {
    struct follow follow;
    struct timer *keepalive, *deadline;
    struct e2b_stream_request request;
    bool starter;
};

static struct e2b_stream *stream_of(struct follow *f)
{
    return list_entry(f, struct e2b_stream, follow);
}

static void stream_release(struct follow *f)
{
    timer_close(stream_of(f)->keepalive);
    timer_close(stream_of(f)->deadline);
}

static void stream_write(struct e2b_stream *s, const struct buf *b, const struct slice *bytes)
{
    struct iovec iov[2] = {{buf_data(b), b->len}};

    if (bytes != NULL)
        iov[1] = (struct iovec){(void *)(uintptr_t)bytes->bytes, bytes->len};
    http_stream_write(s->follow.out, iov, bytes != NULL ? 2 : 1);
    timer_start(s->keepalive, s->request.keepalive_ms);
}

static struct buf *scratch(struct e2b_stream *s)
{
    struct buf *b = &s->follow.call.base->scratch;

    buf_clear(b);
    return b;
}

/* Sends the end, with or without an error, behind the last message; the stream must end then. */
static void stream_last(struct e2b_stream *s, struct buf *b, const char *code, const char *message)
{
    if (!s->request.grpc)
        e2b_rpc_end(b, code, message);
    if (b->len > 0)
        stream_write(s, b, NULL);
    if (s->request.grpc)
        e2b_grpc_end(s->follow.out, code, message);
}

static void stream_drain(struct follow *f)
{
    struct e2b_stream *s = stream_of(f);

    stream_last(
        s, scratch(s), "unavailable",
        "the daemon is shutting down; the process may still be running: reconnect to follow it");
}

static void stream_bytes(struct follow *f, const struct slice *bytes)
{
    struct e2b_stream *s = stream_of(f);
    struct buf *b = scratch(s);

    if (bytes->len > 0)
        stream_write(s, b, e2b_event_data(b, s->request.codec, bytes) ? bytes : NULL);
}

static void stream_gap(struct follow *f, uint64_t from, uint64_t to)
{
    struct e2b_stream *s = stream_of(f);
    char why[160];

    snprintf(why, sizeof why,
             "output from byte %llu on is no longer kept; connect again with Holdfast-Since: %llu",
             (unsigned long long)from, (unsigned long long)to);
    stream_last(s, scratch(s), "data_loss", why);
    follow_end(f);
}

static bool stream_exited(struct follow *f, const struct exit_record *x)
{
    struct e2b_stream *s = stream_of(f);
    struct buf *b = scratch(s);

    if (((struct e2b *)f->call.base)->sandbox.killed) {
        follow_abort(f); /* with the machine; the SDK requests /health and reports it */
        return false;
    }
    if (s->starter && x->kind == EXIT_TIMED_OUT) {
        stream_last(s, b, "deadline_exceeded", "context deadline exceeded");
        return true;
    }
    e2b_event_end(b, s->request.codec, x);
    stream_last(s, b, NULL, NULL);
    return true;
}

static const struct follow_ops follow_ops = {
    .bytes = stream_bytes,
    .gap = stream_gap,
    .exited = stream_exited,
    .drain = stream_drain,
    .release = stream_release,
};

/* --- timers ---------------------------------------------------------------------------- */

static void on_keepalive(struct timer *t, void *arg)
{
    struct e2b_stream *s = arg;
    struct buf *b = scratch(s);

    (void)t;
    e2b_event_keepalive(b, s->request.codec);
    if (http_stream_ready(s->follow.out))
        stream_write(s, b, NULL);
    else
        timer_start(s->keepalive, s->request.keepalive_ms);
}

static void on_deadline(struct timer *t, void *arg)
{
    struct e2b_stream *s = arg;

    (void)t;
    stream_last(s, scratch(s), "deadline_exceeded", "context deadline exceeded");
    follow_end(&s->follow);
}

/* --- decoding -------------------------------------------------------------------------- */

static bool decode_deadline(struct http_request *rq, struct e2b_stream_request *request)
{
    const char *text = http_header(rq, "Connect-Timeout-Ms"),
               *what = http_header(rq, "Holdfast-Deadline"),
               *grpc = http_header(rq, "grpc-timeout");
    uint64_t deadline = 0;

    request->grpc = e2b_grpc_is(rq, &request->codec);
    request->deadline_stream = what != NULL && strcasecmp(what, "stream") == 0;
    if (what != NULL && !request->deadline_stream && strcasecmp(what, "process") != 0) {
        e2b_rpc_fail(rq, "invalid_argument", "Holdfast-Deadline must be stream or process");
        return false;
    }
    if (request->grpc && grpc != NULL && !grpc_timeout(grpc, &deadline)) {
        e2b_rpc_fail(rq, "invalid_argument",
                     "grpc-timeout must be at most 8 digits and one of H, M, S, m, u, n");
        return false;
    }
    if (request->grpc) {
        request->deadline_ms = (int64_t)deadline;
        return true;
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

static void stream_headers(struct http_request *rq)
{
    http_add_header(rq, "Cache-Control", "no-cache");
}

static struct viewer_options stream_viewer(const struct http_request *rq, struct process *p,
                                           const struct viewer_options *from)
{
    struct viewer_options o = *from;
    struct process_view v;

    process_view(p, &v);
    o.only_stream = -1;
    o.role = http_role(rq) >= ROLE_OWN    ? VIEWER_OWN
             : http_role(rq) == ROLE_TYPE ? VIEWER_TYPE
                                          : VIEWER_WATCH;
    o.read_only = o.role == VIEWER_WATCH;
    o.terminal = v.pty && !o.read_only;
    return o;
}

static void stream_start(struct e2b_stream *s)
{
    struct buf *b = scratch(s);
    struct process_view v;

    process_view(s->follow.process, &v);
    e2b_event_start(b, s->request.codec, v.pid);
    stream_write(s, b, NULL);
    if (s->request.deadline_ms > 0 && (!s->starter || s->request.deadline_stream)) {
        s->deadline = timer_new(s->follow.call.base->loop, on_deadline, s);
        timer_start(s->deadline, (uint64_t)s->request.deadline_ms);
    }
    if (!s->follow.call.base->draining)
        return;
    stream_drain(&s->follow); /* its process was still starting when the others were notified */
    follow_end(&s->follow);
}

void e2b_stream_begin(struct http_request *rq, struct process *p,
                      const struct e2b_stream_request *request, const struct viewer_options *from,
                      bool starter)
{
    const struct follow_open o = {
        .type = e2b_rpc_stream_type(rq, request->codec),
        .headers = stream_headers,
        .viewer = stream_viewer(rq, p, from),
    };
    struct e2b_stream *s = hf_xalloc(sizeof *s);
    struct hf_error err;

    s->request = *request;
    s->starter = starter;
    s->keepalive = timer_new(dialect_base_of(rq)->loop, on_keepalive, s);
    if (follow_begin(&s->follow, &follow_ops, rq, p, &o, &err) < 0)
        e2b_rpc_error(rq, &err);
    else
        stream_start(s);
}

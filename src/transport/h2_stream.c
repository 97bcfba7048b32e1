/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_stream.c - one HTTP/2 stream: its request, from the first header to the last byte
 *
 * The connection's window is reopened as bytes arrive, the stream's as they are consumed: a reader
 * that pauses stops its own stream and no other, and that window bounds what it has not consumed.
 * Layer: transport.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "transport/conn_own.h"
#include "transport/h2_own.h"

struct h2_stream *h2_stream_new(struct h2 *h2, int32_t id)
{
    struct h2_stream *s = hf_xalloc(sizeof *s);

    s->h2 = h2;
    s->id = id;
    s->rq = request_new(h2->c->server, h2->c);
    s->rq->h2 = s;
    list_append(&h2->streams, &s->link);
    return s;
}

void h2_stream_count_held(struct h2_stream *s)
{
    peer_memory_set(&s->held, s->h2->c, s->in.cap + s->out.cap + s->trailers.cap);
}

void h2_stream_free(struct h2_stream *s)
{
    peer_memory_clear(&s->held);
    if (s->h2->head_of == s)
        s->h2->head_of = NULL;
    s->h2->pending -= s->pending;
    deadline_clear(&s->deadline);
    list_remove(&s->link);
    buf_wipe(&s->in);
    buf_fini(&s->out);
    buf_fini(&s->trailers);
    free(s->grant);
    free(s);
}

/* The peer has disconnected, or was cut off, before the response was complete. */
void h2_stream_tell_gone(struct h2_stream *s)
{
    struct http_request *rq = s->rq;
    struct http_stream *st = s->st;

    s->rq = NULL;
    s->st = NULL;
    if (rq != NULL)
        request_orphan(rq);
    if (st != NULL)
        stream_on_disconnect(st);
}

void h2_set_grant(struct h2_stream *s, const char *grant, uint32_t token)
{
    s->token = token;
    free(s->grant);
    s->grant = hf_xstrdup(grant);
}

void h2_resume(struct h2_stream *s)
{
    h2_wake(s->h2);
}

static void reset_with(struct h2_stream *s, uint32_t code)
{
    if (s->is_reset)
        return;
    s->is_reset = true;
    deadline_clear(&s->deadline);
    nghttp2_submit_rst_stream(s->h2->ng, NGHTTP2_FLAG_NONE, s->id, code);
    h2_wake(s->h2);
}

void h2_reset(struct h2_stream *s)
{
    reset_with(s, NGHTTP2_CANCEL);
}

bool h2_is_reset(const struct h2_stream *s)
{
    return s->is_reset;
}

void h2_give_up(struct h2_stream *s)
{
    s->st = NULL;
    reset_with(s, NGHTTP2_INTERNAL_ERROR);
}

/* --- deadlines -------------------------------------------------------------------------- */

static enum deadline_kind stream_deadline(const struct h2_stream *s)
{
    if (s->is_reset || s->st != NULL)
        return DEADLINE_NONE; /* a viewer may pause for as long as it likes */
    if (s->rq == NULL)
        return DEADLINE_STREAM_STALL;
    if (s->rq->body_done || s->rq->body_waits || s->rq->parser.stage <= HTTP1_IN_HEAD)
        return DEADLINE_NONE; /* the handler is working, or the connection times the head */
    return DEADLINE_STREAM_BODY;
}

/* After each step: every step restarts the time-out. */
void h2_stream_set_deadline(struct h2_stream *s)
{
    if (!conn_is_ended(s->h2->c))
        server_set_deadline(s->h2->c->server, &s->deadline, stream_deadline(s));
}

void h2_stream_on_late(struct h2_stream *s, enum deadline_kind kind)
{
    struct hf_error err;

    if (kind == DEADLINE_STREAM_BODY && s->rq != NULL && !s->rq->handling) {
        hf_fail(&err, HF_E_request_timeout, "The request's body did not arrive in time.");
        request_give_up(s->rq, &err);
    } else {
        h2_reset(s);
    }
}

/* --- the request ------------------------------------------------------------------------ */

static void consume(struct h2_stream *s, size_t len)
{
    if (len > 0)
        nghttp2_session_consume_stream(s->h2->ng, s->id, len);
}

/* Delivers to the current reader; returns how much was consumed. */
static size_t give(struct h2_stream *s, const char *bytes, size_t len)
{
    struct http_request *rq = s->rq;
    size_t taken = len;

    if (rq != NULL && request_is_streamed(rq)) {
        if (rq->on_body == NULL)
            rq->body_waits = true; /* until http_body_stream() */
        if (rq->body_waits)
            return 0;
    }
    if (rq != NULL && !s->is_reset)
        taken = request_deliver_body(rq, bytes, len);
    consume(s, taken);
    return taken;
}

static void feed(struct h2_stream *s)
{
    while (s->in.len > 0) {
        size_t taken = give(s, buf_data(&s->in), s->in.len);

        if (taken == 0)
            return;
        buf_drop(&s->in, taken);
        h2_stream_count_held(s);
        h2_stream_set_deadline(s);
    }
}

static void report_last(struct h2_stream *s)
{
    struct http_request *rq = s->rq;

    if (rq == NULL || !rq->handling || !rq->body_done || !request_is_streamed(rq) ||
        s->in.len > 0 || s->is_reset || rq->last_reported)
        return;
    if (rq->on_body == NULL)
        rq->body_waits = true;
    if (rq->body_waits)
        return;
    rq->last_reported = true;
    rq->on_body(rq, "", 0, true);
}

/* The connection's task calls the handler, unless the same bytes also bring a reset. */
void h2_stream_on_head(struct h2_stream *s, bool last)
{
    s->h2->head_of = NULL;
    s->got_all = s->bare = last;
    s->pending = true;
    s->h2->pending++;
}

static void admit(struct http_request *rq, bool last)
{
    h2_head_finish(&rq->parser, last);
    if (rq->parser.failed) {
        rq->server->stats.requests_total++;
        request_give_up(rq, &rq->parser.error);
    } else {
        request_on_head(rq);
    }
}

void h2_stream_begin(struct h2_stream *s)
{
    s->pending = false;
    s->h2->pending--;
    if (s->is_reset)
        return; /* its owner is notified in this turn */
    admit(s->rq, s->bare);
    feed(s);
    if (s->got_all && !s->bare)
        h2_stream_on_last(s);
    if (s->rq == NULL)
        return;
    report_last(s);
    h2_stream_set_deadline(s);
}

void h2_stream_on_data(struct h2_stream *s, const char *bytes, size_t len)
{
    size_t taken = 0;

    if (s->rq != NULL)
        s->rq->expect = false;
    if (s->in.len == 0 && !s->pending)
        taken = give(s, bytes, len);
    if (taken < len && buf_reserve(&s->in, len - taken) < 0)
        h2_reset(s);
    else
        buf_put(&s->in, bytes + taken, len - taken);
    h2_stream_count_held(s);
    h2_stream_set_deadline(s);
    if (taken < len && s->rq != NULL && !s->rq->body_waits)
        h2_wake(s->h2); /* it was resumed in the callback */
}

void h2_stream_on_last(struct h2_stream *s)
{
    struct http_request *rq = s->rq;

    s->got_all = true;
    if (rq == NULL || rq->body_done || s->pending)
        return;
    request_on_done(rq);
    if (s->rq == NULL)
        return;
    report_last(s);
    h2_stream_set_deadline(s);
}

void h2_stream_on_turn(struct h2_stream *s)
{
    if (s->is_reset) {
        h2_stream_tell_gone(s);
        buf_fini(&s->out);
        h2_stream_count_held(s);
        return;
    }
    if (s->pending)
        return;
    feed(s);
    report_last(s);
    if (s->has_room && s->st != NULL) {
        s->has_room = false;
        stream_on_room(s->st);
    }
}

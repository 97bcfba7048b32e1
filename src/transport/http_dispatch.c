/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_dispatch.c - from a head to its handler: what HTTP/1.1 and HTTP/2 have in common
 *
 * Both deliver a request's head and body here in their own time; they differ in how bytes are
 * received and sent. HTTP/2 may deliver more after the connection has ended, because one read has
 * many frames: all of that is ignored. Layer: transport.
 */
#include "base/limits.h"
#include "transport/h2.h"
#include "transport/http_request.h"

/* The handler is notified as if the peer had disconnected; the peer still gets the reason. */
static void reply_for_handler(struct http_request *rq, const struct hf_error *err)
{
    void (*on_disconnect)(void *) = rq->on_disconnect;

    rq->on_disconnect = NULL;
    on_disconnect(rq->user);
    http_reply_error(rq, err);
}

void request_give_up(struct http_request *rq, const struct hf_error *err)
{
    rq->close = true;
    if (rq->replied)
        return;
    if (!rq->handling)
        http_reply_error(rq, err);
    else if (rq->h2 != NULL) /* the handler replies: notify it that the peer is gone */
        h2_reset(rq->h2);
    else if (rq->on_disconnect != NULL)
        reply_for_handler(rq, err);
    else
        conn_end(rq->c);
}

/* --- the handler's turn ------------------------------------------------------------ */

/* Its connection has ended, or its stream was reset, since it was queued. */
static bool is_cut(const struct http_request *rq)
{
    return rq->c == NULL || conn_is_ended(rq->c) || (rq->h2 != NULL && h2_is_reset(rq->h2));
}

static void request_on_call(void *arg)
{
    struct http_request *rq = arg;

    if (is_cut(rq))
        return; /* it stays queued: request_orphan() follows at the end of this turn */
    request_cancel_call(rq);
    rq->match.route->handler(rq);
}

static void call_later(struct http_request *rq)
{
    rq->call_task.fn = request_on_call;
    rq->call_task.arg = rq;
    rq->waits = true;
    loop_defer_work(rq->server->loop, &rq->call_task);
}

void http_call_again(struct http_request *rq)
{
    if (rq->c != NULL)
        call_later(rq);
}

void request_cancel_call(struct http_request *rq)
{
    task_cancel(&rq->call_task);
    rq->waits = false;
    rq->server->in_line -= rq->in_line;
    rq->in_line = false;
}

/*
 * Handlers are short, but a client may send a great many requests in one turn. Beyond TURN_LONG_MS
 * they queue with the heavy work. Public routes do not: they include the probes of a busy daemon.
 */
static bool must_stand_in_line(const struct http_request *rq)
{
    const unsigned at_once = ROUTE_PUBLIC | ROUTE_STREAM_BODY | ROUTE_UPGRADE;

    if (rq->match.route->flags & at_once)
        return false;
    return rq->server->in_line > 0 || loop_is_late(rq->server->loop);
}

static void call_handler(struct http_request *rq)
{
    rq->handling = true;
    if (!must_stand_in_line(rq)) {
        rq->match.route->handler(rq);
        return;
    }
    rq->in_line = true;
    rq->server->in_line++;
    call_later(rq);
}

/* --- head and body ----------------------------------------------------------------- */

bool request_is_streamed(const struct http_request *rq)
{
    return rq->match.route != NULL && (rq->match.route->flags & ROUTE_STREAM_BODY) != 0;
}

void request_on_head(struct http_request *rq)
{
    rq->server->stats.requests_total++;
    request_count_held(rq);
    if (conn_is_ended(rq->c))
        return;
    admission_progress(rq->c);
    rq->body_done = !http1_has_body(&rq->parser);
    rq->expect = !rq->body_done && rq->parser.http11 && http_header(rq, "Expect") != NULL;
    if (!gate_admit(rq))
        return;
    if (request_is_streamed(rq) || rq->body_done)
        call_handler(rq);
    else
        request_send_continue(rq);
}

size_t request_deliver_body(struct http_request *rq, const char *bytes, size_t len)
{
    size_t room = rq->body.cap - rq->body.off - rq->body.len, taken;
    struct hf_error err = {0};

    if (rq->replied || conn_is_ended(rq->c))
        return len;
    if (request_is_streamed(rq)) {
        rq->body_waits = true; /* unless the callback calls http_body_resume() */
        taken = rq->on_body(rq, bytes, len, false);
        if (taken >= len)
            rq->body_waits = false;
        return taken < len ? taken : len;
    }
    if (rq->body.len + len > gate_body_max(rq)) {
        hf_fail(&err, HF_E_body_too_large, "The request body exceeds the limit of %zu bytes.",
                gate_body_max(rq));
        err.limit = "body_bytes";
        request_give_up(rq, &err);
    } else if (len > room && !peer_memory_has_room(rq->c, len)) {
        rq->server->stats.overloaded_total++;
        hf_fail(&err, HF_E_overloaded,
                "The buffers for unfinished requests and unread replies are full; try again.");
        err.limit = "held_bytes";
        request_give_up(rq, &err);
    } else if (buf_reserve(&rq->body, len) < 0) {
        hf_fail(&err, HF_E_no_memory, "Out of memory for the body.");
        request_give_up(rq, &err);
    } else {
        buf_put(&rq->body, bytes, len);
        request_count_held(rq);
    }
    return len;
}

void request_on_done(struct http_request *rq)
{
    rq->body_done = true;
    if (!rq->replied && !conn_is_ended(rq->c) && !request_is_streamed(rq))
        call_handler(rq);
}

void http_body_stream(struct http_request *rq, http_body_fn *on_body)
{
    rq->on_body = on_body;
    if (rq->c == NULL)
        return;
    if (!rq->body_done)
        request_send_continue(rq);
    if (rq->body_waits)
        http_body_resume(rq);
}

void http_body_resume(struct http_request *rq)
{
    rq->body_waits = false;
    if (rq->c == NULL)
        return;
    if (rq->h2 != NULL)
        h2_resume(rq->h2);
    else
        conn_resume(rq->c);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.c - from a head to its handler: what HTTP/1.1 and HTTP/2 do alike
 *
 * Both bring a request's head and body here in their own time; what they differ in is how
 * bytes come and go. Layer: transport.
 */
#include "base/limits.h"
#include "transport/h2.h"
#include "transport/request.h"

/* To its handler the peer has gone; the peer still learns why. */
static void reply_for_handler(struct http_request *rq, const struct hf_error *err)
{
    void (*on_gone)(void *) = rq->on_gone;

    rq->on_gone = NULL;
    on_gone(rq->user);
    http_reply_error(rq, err);
}

void request_give_up(struct http_request *rq, const struct hf_error *err)
{
    rq->close = true;
    if (rq->answered)
        return;
    if (!rq->handling)
        http_reply_error(rq, err);
    else if (rq->h2 != NULL) /* the answer is the handler's: it learns that the peer is gone */
        h2_reset(rq->h2);
    else if (rq->on_gone != NULL)
        reply_for_handler(rq, err);
    else
        conn_end(rq->c);
}

static void call_handler(struct http_request *rq)
{
    rq->handling = true;
    rq->match.route->handler(rq);
}

bool request_is_streamed(const struct http_request *rq)
{
    return rq->match.route != NULL && (rq->match.route->flags & ROUTE_STREAM_BODY) != 0;
}

void request_on_head(struct http_request *rq)
{
    struct hf_error err;

    rq->server->stats.requests_total++;
    rq->body_done = !http1_has_body(&rq->parser);
    rq->expect = !rq->body_done && rq->parser.http11 && http_header(rq, "Expect") != NULL;
    if (rq->c->over_limit) {
        hf_fail(&err, HF_E_too_many_connections, "The daemon serves %zu connections already.",
                rq->server->o.max_connections);
        err.limit = "connections";
        request_give_up(rq, &err);
        return;
    }
    if (!gate_admit(rq))
        return;
    if (request_is_streamed(rq) || rq->body_done)
        call_handler(rq);
    else
        request_send_continue(rq);
}

size_t request_give_body(struct http_request *rq, const char *bytes, size_t len)
{
    const struct route *r = rq->match.route;
    struct hf_error err;
    size_t taken;

    if (rq->answered)
        return len;
    if (request_is_streamed(rq)) {
        rq->body_waits = true; /* unless http_body_resume() is called meanwhile */
        taken = rq->on_body(rq, bytes, len, false);
        if (taken >= len)
            rq->body_waits = false;
        return taken < len ? taken : len;
    }
    if (rq->body.len + len > (r->body_max > 0 ? r->body_max : LIMIT_JSON_BODY_BYTES)) {
        hf_fail(&err, HF_E_body_too_large, "The body is larger than is taken here.");
        err.limit = "body_bytes";
        request_give_up(rq, &err);
    } else if (buf_reserve(&rq->body, len) < 0) {
        hf_fail(&err, HF_E_no_memory, "No memory for the body.");
        request_give_up(rq, &err);
    } else {
        buf_put(&rq->body, bytes, len);
    }
    return len;
}

void request_on_done(struct http_request *rq)
{
    rq->body_done = true;
    if (!rq->answered && !request_is_streamed(rq))
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

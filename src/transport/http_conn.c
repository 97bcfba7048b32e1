/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_conn.c - HTTP/1.1 on a connection: one request after the other
 *
 * http_on_bytes() is the whole state machine. It loops until it needs something: bytes, the
 * handler's reply, or room in the socket. The code that provides it calls conn_resume(), and the
 * loop continues from there. The request is the state:
 *
 *   none -> head -> [body ->] handler -> replied -> none
 *
 * Bytes after a request are not parsed before its response is being sent, so pipelined requests get
 * their responses in order and cost nothing but their bytes. Layer: transport.
 */
#include "transport/http_request.h"

#include <string.h>

#include "base/limits.h"
#include "transport/conn_own.h"
#include "transport/h2.h"

bool request_is_idle(const struct conn *c)
{
    return c->proto == &http_proto && c->owner == NULL && !c->blocked;
}

bool request_is_admitted(const struct conn *c)
{
    const struct http_request *rq = c->owner;

    if (c->proto != &http_proto || c->blocked)
        return true;
    return rq != NULL && rq->parser.stage > HTTP1_IN_HEAD && !rq->replied;
}

/* Body that was parsed in an earlier turn but not consumed then. */
static size_t http_deliver_parsed(struct http_request *rq, const char *bytes, size_t len)
{
    size_t n = rq->body_parsed < len ? rq->body_parsed : len;
    size_t taken = request_deliver_body(rq, bytes, n);

    rq->body_parsed -= taken;
    return taken;
}

/* Parses up to the next event and acts on it; returns what was consumed. */
static size_t http_step(struct http_request *rq, const char *bytes, size_t len)
{
    struct http1 *p = &rq->parser;
    size_t used, taken;

    if (rq->body_parsed > 0)
        return http_deliver_parsed(rq, bytes, len);
    switch (http1_feed(p, bytes, len, &used)) {
    case HTTP1_MORE: break;
    case HTTP1_HEAD: request_on_head(rq); break;
    case HTTP1_BODY:
        rq->expect = false;
        taken = request_deliver_body(rq, p->body, p->body_len);
        rq->body_parsed = p->body_len - taken;
        used -= rq->body_parsed;
        break;
    case HTTP1_DONE: request_on_done(rq); break;
    case HTTP1_ERROR:
        request_give_up(rq, &p->error);
        used = len;
        break;
    }
    return used;
}

/* The response is complete. False: the connection needs room first, or is done. */
static bool http_next_request(struct conn *c, struct http_request *rq, bool more)
{
    bool keep = !rq->close, drain = !rq->body_done || more;

    if (c->blocked || conn_is_ended(c))
        return false;
    request_release(rq);
    if (!keep)
        conn_finish(c, drain);
    return keep;
}

/* Stream routes: waits for http_body_stream(), reports the end of the body. False: wait. */
static bool http_step_stream(struct http_request *rq)
{
    if (rq->on_body == NULL) {
        rq->body_waits = true;
        return false;
    }
    if (rq->body_done && rq->body_parsed == 0 && !rq->last_reported) {
        rq->last_reported = true;
        rq->on_body(rq, "", 0, true);
        return true;
    }
    return !rq->body_done || rq->body_parsed > 0;
}

/* One round; returns false when it has to wait. *used grows. */
static bool http_round(struct conn *c, char *bytes, size_t len, size_t *used)
{
    struct http_request *rq = c->owner;

    if (rq == NULL) {
        if (*used == len || c->blocked)
            return false;
        rq = c->owner = request_new(c->server, c);
        conn_time_head(c);
    }
    if (rq->replied)
        request_send_lent(rq);
    if (rq->replied && (rq->body_done || rq->close))
        return http_next_request(c, rq, *used < len);
    if (rq->handling && !rq->replied) {
        if (!request_is_streamed(rq) || rq->body_waits)
            return false;
        if (!http_step_stream(rq))
            return false;
        if (c->owner != rq || rq->replied || rq->last_reported)
            return true;
    }
    if (*used == len && !http1_is_complete(&rq->parser))
        return false;
    *used += http_step(rq, bytes + *used, len - *used);
    return rq->body_parsed == 0;
}

static enum deadline_kind http_deadline(const struct conn *c)
{
    const struct http_request *rq = c->owner;

    if (c->blocked && (rq == NULL || rq->replied))
        return DEADLINE_STALL;
    if (rq == NULL)
        return c->has_request ? DEADLINE_IDLE : DEADLINE_HEAD;
    if (rq->parser.stage <= HTTP1_IN_HEAD && !rq->replied)
        return DEADLINE_HEAD;
    if (rq->body_done || (rq->body_waits && !c->last))
        return DEADLINE_NONE; /* the handler is working */
    return DEADLINE_BODY;
}

/* The head and a stalled response are timed as a whole, the others since the last step. */
static void http_update_deadline(struct conn *c)
{
    enum deadline_kind kind = http_deadline(c);

    if (kind == c->deadline.kind && (kind == DEADLINE_HEAD || kind == DEADLINE_STALL))
        return;
    conn_set_deadline(c, kind);
}

/* The first bytes decide whether it is HTTP/2. True: it is, or more bytes are needed to decide. If
 * the peer chose HTTP/2 by ALPN, any other bytes end the connection. */
static bool http_is_h2(struct conn *c, const char *bytes, size_t len)
{
    bool chosen = c->tls != NULL && tls_chose_h2(c->tls);

    if (len == 0)
        return false;
    if (!chosen && !h2_is_preface(bytes, len)) {
        c->has_request = true;
        return false;
    }
    if (chosen || len >= H2_PREFACE_BYTES)
        h2_begin(c);
    else
        conn_time_head(c);
    return true;
}

static size_t http_on_bytes(struct conn *c, char *bytes, size_t len)
{
    uint64_t sent_before = c->server->stats.bytes_out;
    size_t used = 0;

    if (!c->has_request && http_is_h2(c, bytes, len))
        return 0;
    while (http_round(c, bytes, len, &used)) {
        if (conn_is_ended(c) || c->proto != &http_proto)
            return used;
        if (c->owner == NULL && c->server->stats.bytes_out - sent_before > LIMIT_TURN_BYTES) {
            conn_resume_later(c); /* a peer that reads fast could pipeline requests for ever */
            break;
        }
    }
    if (conn_is_ended(c) || c->proto != &http_proto)
        return used;
    http_update_deadline(c);
    if (c->owner != NULL) {
        request_count_held(c->owner);
        if (((struct http_request *)c->owner)->body_waits)
            conn_pause(c);
    }
    return used;
}

static void http_on_eof(struct conn *c)
{
    struct http_request *rq = c->owner;

    if (rq == NULL ? c->blocked : rq->replied) {
        /* The response is still being sent: finish it, then end. */
        if (rq != NULL)
            rq->close = true;
        else
            conn_finish(c, false);
        conn_resume(c);
    } else {
        conn_end(c);
    }
}

/* The body waits for its handler, and the peer sends no more. If the body is complete, the peer may
 * only have closed its direction early; it may also be gone, so a deadline applies. */
static void http_on_last(struct conn *c)
{
    const struct http_request *rq = c->owner;

    c->last = true;
    if (rq != NULL && !conn_may_bring(c, http1_missing(&rq->parser) + rq->body_parsed))
        conn_end(c);
    else
        http_update_deadline(c);
}

static void http_on_drain(struct conn *c)
{
    conn_resume(c);
}

static void http_on_deadline(struct conn *c, enum deadline_kind kind)
{
    struct http_request *rq = c->owner;
    struct hf_error err;

    if (rq == NULL || rq->replied || rq->handling || rq->parser.stage == HTTP1_AT_START) {
        conn_end(c);
        return;
    }
    hf_fail(&err, HF_E_request_timeout, "The request's %s did not arrive in time.",
            kind == DEADLINE_BODY ? "body" : "head");
    request_give_up(rq, &err);
}

static void http_on_end(struct conn *c)
{
    if (c->owner != NULL)
        request_orphan(c->owner);
}

const struct conn_proto http_proto = {
    .on_bytes = http_on_bytes,
    .on_eof = http_on_eof,
    .on_drain = http_on_drain,
    .on_deadline = http_on_deadline,
    .on_end = http_on_end,
    .on_last = http_on_last,
};

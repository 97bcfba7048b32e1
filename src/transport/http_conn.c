/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_conn.c - HTTP on a connection: one request after the other
 *
 * http_on_bytes() is the whole state machine. It goes round until it needs
 * something: bytes, the handler's answer, or room in the socket. Whoever brings that calls
 * conn_resume() and it goes on from there. The request is the state:
 *
 *   none -> head -> [body ->] handler -> answered -> none
 *
 * What follows a request is not looked at before its answer is on its way, so
 * pipelined requests are answered in order and cost nothing but their bytes.
 * Layer: transport.
 */
#include "transport/http_request.h"

#include <string.h>

#include "base/limits.h"
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
    return rq != NULL && rq->parser.stage > HTTP1_IN_HEAD && !rq->answered;
}

/* Body that was parsed in an earlier turn but not taken then. */
static size_t http_give_parsed(struct http_request *rq, const char *bytes, size_t len)
{
    size_t n = rq->body_parsed < len ? rq->body_parsed : len;
    size_t taken = request_give_body(rq, bytes, n);

    rq->body_parsed -= taken;
    return taken;
}

/* Parses up to the next event and acts on it; returns what was consumed. */
static size_t http_step(struct http_request *rq, const char *bytes, size_t len)
{
    struct http1 *p = &rq->parser;
    size_t used, taken;

    if (rq->body_parsed > 0)
        return http_give_parsed(rq, bytes, len);
    switch (http1_feed(p, bytes, len, &used)) {
    case HTTP1_MORE: break;
    case HTTP1_HEAD: request_on_head(rq); break;
    case HTTP1_BODY:
        rq->expect = false;
        taken = request_give_body(rq, p->body, p->body_len);
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

/* The answer is complete. False: the connection needs room first, or is done. */
static bool http_next_request(struct conn *c, struct http_request *rq, bool more)
{
    bool keep = !rq->close, drain = !rq->body_done || more;

    if (c->blocked || c->ended)
        return false;
    request_release(rq);
    if (!keep)
        conn_finish(c, drain);
    return keep;
}

/* Stream routes: waits for http_body_stream(), tells the end of the body. False: wait. */
static bool http_step_stream(struct http_request *rq)
{
    if (rq->on_body == NULL) {
        rq->body_waits = true;
        return false;
    }
    if (rq->body_done && rq->body_parsed == 0 && !rq->last_told) {
        rq->last_told = true;
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
    if (rq->answered)
        request_send_lent(rq);
    if (rq->answered && (rq->body_done || rq->close))
        return http_next_request(c, rq, *used < len);
    if (rq->handling && !rq->answered) {
        if (!request_is_streamed(rq) || rq->body_waits)
            return false;
        if (!http_step_stream(rq))
            return false;
        if (c->owner != rq || rq->answered || rq->last_told)
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

    if (c->blocked && (rq == NULL || rq->answered))
        return DEADLINE_STALL;
    if (rq == NULL)
        return c->asked ? DEADLINE_IDLE : DEADLINE_HEAD;
    if (rq->parser.stage <= HTTP1_IN_HEAD && !rq->answered)
        return DEADLINE_HEAD;
    if (rq->body_done || (rq->body_waits && !c->last))
        return DEADLINE_NONE; /* it is the handler's turn */
    return DEADLINE_BODY;
}

/* The head and a stalled answer are timed as a whole, the others since the last step. */
static void http_update_deadline(struct conn *c)
{
    enum deadline_kind kind = http_deadline(c);

    if (kind == c->deadline.kind && (kind == DEADLINE_HEAD || kind == DEADLINE_STALL))
        return;
    conn_set_deadline(c, kind);
}

/*
 * The first bytes say whether it is HTTP/2. True: they do, or more of them are needed to tell. A
 * peer that has chosen it by ALPN is held to it: whatever else it sends ends the connection.
 */
static bool http_is_h2(struct conn *c, const char *bytes, size_t len)
{
    bool chosen = c->tls != NULL && tls_chose_h2(c->tls);

    if (len == 0)
        return false;
    if (!chosen && !h2_is_preface(bytes, len)) {
        c->asked = true;
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

    if (!c->asked && http_is_h2(c, bytes, len))
        return 0;
    while (http_round(c, bytes, len, &used)) {
        if (c->ended || c->proto != &http_proto)
            return used;
        if (c->owner == NULL && c->server->stats.bytes_out - sent_before > LIMIT_TURN_BYTES) {
            conn_resume_later(c); /* a peer that reads fast could pipeline requests for ever */
            break;
        }
    }
    if (c->ended || c->proto != &http_proto)
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

    if (rq == NULL ? c->blocked : rq->answered) {
        /* The answer is still on its way: it arrives, then it is over. */
        if (rq != NULL)
            rq->close = true;
        else
            conn_finish(c, false);
        conn_resume(c);
    } else {
        conn_end(c);
    }
}

/*
 * The body waits for its handler, and the peer sends no more. If all of it is here that may be a
 * peer that ends its direction early; but nobody may wait for the answer, so it is not for ever.
 */
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

    if (rq == NULL || rq->answered || rq->handling || rq->parser.stage == HTTP1_AT_START) {
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway_client.c - the client's side: one request after the other
 *
 * client_on_bytes() loops until it needs something: bytes, a decision, room at the sandbox's side.
 * The code that provides it calls conn_resume(), and the loop continues from there. Bytes after a
 * request are not parsed before its response is being sent. Layer: gateway.
 */
#include "gateway/gateway_exchange.h"

static struct gateway *gateway_of(const struct conn *c)
{
    return c->listener->owner;
}

/* The response is complete. False: room is needed first, or the connection ends. */
static bool client_next(struct conn *c, struct exchange *ex, bool more)
{
    bool keep = !ex->close, drain = !ex->rq_done || ex->farewell || more;

    if (c->blocked)
        return false;
    access_record_finish(ex->g, &ex->record, c->peer, ex->upstream);
    c->owner = NULL;
    exchange_free(ex);
    conn_set_trust(c, ROLE_NONE); /* idle: it may be evicted */
    if (!keep)
        conn_finish(c, drain);
    return keep;
}

/* Framing is lost. The sandbox does not get the rest of the request. */
static void client_give_up(struct exchange *ex, const struct hf_error *err)
{
    ex->close = true;
    if (ex->rs_begun)
        conn_end(ex->client);
    else
        gateway_reply_error(ex, err);
}

static bool client_head(struct exchange *ex, const char *bytes, size_t len, size_t *used)
{
    if (len == 0)
        return false;
    switch (http1_feed(&ex->rq, bytes, len, used)) {
    case HTTP1_HEAD: exchange_on_head(ex); return true;
    case HTTP1_ERROR:
        *used = len;
        client_give_up(ex, &ex->rq.error);
        return true;
    default: return false;
    }
}

static bool client_body(struct exchange *ex, const char *bytes, size_t len, size_t *used)
{
    if (ex->rq_done || ex->up == NULL || ex->up->blocked ||
        (len == 0 && !http1_is_complete(&ex->rq)))
        return false;
    switch (http1_feed(&ex->rq, bytes, len, used)) {
    case HTTP1_BODY: upstream_send_body(ex, ex->rq.body, ex->rq.body_len); return true;
    case HTTP1_DONE: upstream_end_body(ex); return true;
    case HTTP1_ERROR:
        *used = len;
        client_give_up(ex, &ex->rq.error);
        return true;
    default: return *used < len;
    }
}

static bool client_round(struct conn *c, const char *bytes, size_t len, size_t *used)
{
    struct exchange *ex = c->owner;
    size_t n = 0;
    bool more;

    if (ex == NULL) {
        if (*used == len || c->blocked)
            return false;
        ex = c->owner = exchange_new(gateway_of(c), c);
        c->has_request = true;
        conn_time_head(c);
    }
    switch (ex->state) {
    case EXCHANGE_HEAD: more = client_head(ex, bytes + *used, len - *used, &n); break;
    case EXCHANGE_RELAY: more = client_body(ex, bytes + *used, len - *used, &n); break;
    case EXCHANGE_REPLIED: return client_next(c, ex, *used < len);
    default: return false;
    }
    *used += n;
    return more;
}

/* The head is timed as a whole, a body by its progress, and only while we wait for the client. */
static void client_update_deadline(struct conn *c)
{
    const struct exchange *ex = c->owner;
    enum deadline_kind kind = DEADLINE_NONE;

    if (ex == NULL)
        kind = c->blocked ? DEADLINE_STALL : c->has_request ? DEADLINE_IDLE : DEADLINE_HEAD;
    else if (ex->state == EXCHANGE_HEAD)
        kind = DEADLINE_HEAD;
    else if (ex->state == EXCHANGE_REPLIED)
        kind = DEADLINE_STALL;
    else if (ex->state == EXCHANGE_RELAY && !ex->rq_done && ex->up != NULL &&
             (c->last || (!ex->rs_begun && !ex->up->blocked)))
        kind = DEADLINE_BODY;
    if (kind == c->deadline.kind && (kind == DEADLINE_HEAD || kind == DEADLINE_STALL))
        return;
    conn_set_deadline(c, kind);
}

/* While the sandbox has no room for more of the body, none is read. */
static void client_update_pause(struct conn *c)
{
    const struct exchange *ex = c->owner;

    if (ex != NULL && ex->state == EXCHANGE_RELAY && !ex->rq_done && ex->up != NULL &&
        ex->up->blocked && !ex->up->connecting)
        conn_pause(c);
}

static size_t client_on_bytes(struct conn *c, char *bytes, size_t len)
{
    size_t used = 0;

    while (client_round(c, bytes, len, &used)) {
        if (c->ended || c->proto != &client_proto)
            return used;
    }
    if (c->ended || c->proto != &client_proto)
        return used;
    client_update_deadline(c);
    client_update_pause(c);
    if (c->owner != NULL)
        exchange_count_held(c->owner);
    return used;
}

static void client_on_eof(struct conn *c)
{
    struct exchange *ex = c->owner;

    if (ex != NULL && ex->state == EXCHANGE_REPLIED) {
        ex->close = true; /* the response is still being sent: finish it */
        conn_resume(c);
    } else if (ex == NULL && c->blocked) {
        conn_finish(c, false);
    } else {
        conn_end(c);
    }
}

/* The sandbox reads no more of the body, and the client sends no more: that must not last. */
static void client_on_last(struct conn *c)
{
    const struct exchange *ex = c->owner;

    c->last = true;
    if (ex != NULL && !conn_may_bring(c, http1_missing(&ex->rq)))
        conn_end(c);
    else
        client_update_deadline(c);
}

/* There is room again: for the next request, or for more of the response. */
static void client_on_drain(struct conn *c)
{
    struct exchange *ex = c->owner;

    if (ex != NULL && !bulk_on_room(ex))
        return;
    if (ex != NULL && ex->up != NULL && ex->up->paused)
        conn_resume(ex->up);
    if (ex == NULL || ex->state == EXCHANGE_REPLIED)
        conn_resume(c);
}

/* What bulk_body.c moves is not in `out`, so it must be notified here that there is room. */
static void client_on_writable(struct conn *c)
{
    conn_flush(c);
    if (c->ended || c->out.len > 0)
        return;
    conn_set_blocked(c, false);
    client_on_drain(c);
}

static void client_on_deadline(struct conn *c, enum deadline_kind kind)
{
    struct exchange *ex = c->owner;
    struct hf_error err = {0};

    if (ex == NULL || ex->rs_begun || ex->state == EXCHANGE_REPLIED ||
        ex->rq.stage == HTTP1_AT_START) {
        conn_end(c);
        return;
    }
    hf_fail(&err, HF_E_request_timeout, "The request's %s did not arrive in time.",
            kind == DEADLINE_BODY ? "body" : "head");
    client_give_up(ex, &err);
}

static void client_on_end(struct conn *c)
{
    struct exchange *ex = c->owner;

    c->owner = NULL;
    if (ex != NULL)
        exchange_abandon(ex);
}

/* The worker shuts down: active requests are finished, no new ones begin. */
/* A new client has sent its request by now or is about to, and no other worker would serve it. */
static void client_on_leave(struct conn *c)
{
    struct exchange *ex = c->owner;

    if (ex != NULL)
        ex->close = true;
    else if (c->blocked)
        conn_finish(c, false);
    else if (!c->has_request)
        conn_set_deadline(c, DEADLINE_LINGER);
    else
        conn_end(c);
}

const struct conn_proto client_proto = {
    .on_bytes = client_on_bytes,
    .on_eof = client_on_eof,
    .on_drain = client_on_drain,
    .on_deadline = client_on_deadline,
    .on_end = client_on_end,
    .on_writable = client_on_writable,
    .on_last = client_on_last,
    .on_leave = client_on_leave,
};

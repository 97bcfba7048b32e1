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
    return conn_listener(c)->owner;
}

/* The response is complete. False: room is needed first, or the connection ends. */
static bool client_next(struct conn *c, struct exchange *ex, bool more)
{
    bool keep = !ex->close, drain = !ex->rq_done || ex->farewell || more;

    if (conn_is_blocked(c))
        return false;
    access_record_finish(ex->g, &ex->record, conn_peer(c), ex->upstream);
    conn_set_owner(c, NULL);
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
    if (ex->rq_done || ex->up == NULL || conn_is_blocked(ex->up) ||
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
    struct exchange *ex = conn_owner(c);
    size_t n = 0;
    bool more;

    if (ex == NULL) {
        if (*used == len || conn_is_blocked(c))
            return false;
        ex = exchange_new(gateway_of(c), c);
        conn_set_owner(c, ex);
        conn_set_has_request(c);
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
    const struct exchange *ex = conn_owner(c);
    enum deadline_kind kind = DEADLINE_NONE;

    if (ex == NULL)
        kind = conn_is_blocked(c)    ? DEADLINE_STALL
               : conn_has_request(c) ? DEADLINE_IDLE
                                     : DEADLINE_HEAD;
    else if (ex->state == EXCHANGE_HEAD)
        kind = DEADLINE_HEAD;
    else if (ex->state == EXCHANGE_REPLIED)
        kind = DEADLINE_STALL;
    else if (ex->state == EXCHANGE_RELAY && !ex->rq_done && ex->up != NULL &&
             (conn_is_last(c) || (!ex->rs_begun && !conn_is_blocked(ex->up))))
        kind = DEADLINE_BODY;
    if (kind == conn_deadline(c) && (kind == DEADLINE_HEAD || kind == DEADLINE_STALL))
        return;
    conn_set_deadline(c, kind);
}

/* While the sandbox has no room for more of the body, none is read. */
static void client_update_pause(struct conn *c)
{
    const struct exchange *ex = conn_owner(c);

    if (ex != NULL && ex->state == EXCHANGE_RELAY && !ex->rq_done && ex->up != NULL &&
        conn_is_blocked(ex->up) && conn_is_established(ex->up))
        conn_pause(c);
}

static size_t client_on_bytes(struct conn *c, char *bytes, size_t len)
{
    size_t used = 0;

    while (client_round(c, bytes, len, &used)) {
        if (conn_is_ended(c) || !conn_has_proto(c, &client_proto))
            return used;
    }
    if (conn_is_ended(c) || !conn_has_proto(c, &client_proto))
        return used;
    client_update_deadline(c);
    client_update_pause(c);
    if (conn_owner(c) != NULL)
        exchange_count_held(conn_owner(c));
    return used;
}

static void client_on_eof(struct conn *c)
{
    struct exchange *ex = conn_owner(c);

    if (ex != NULL && ex->state == EXCHANGE_REPLIED) {
        ex->close = true; /* the response is still being sent: finish it */
        conn_resume(c);
    } else if (ex == NULL && conn_is_blocked(c)) {
        conn_finish(c, false);
    } else {
        conn_end(c);
    }
}

/* The sandbox reads no more of the body, and the client sends no more: that must not last. */
static void client_on_last(struct conn *c)
{
    const struct exchange *ex = conn_owner(c);

    conn_set_last(c);
    if (ex != NULL && !conn_may_bring(c, http1_missing(&ex->rq)))
        conn_end(c);
    else
        client_update_deadline(c);
}

/* There is room again: for the next request, or for more of the response. */
static void client_on_drain(struct conn *c)
{
    struct exchange *ex = conn_owner(c);

    if (ex != NULL && !bulk_on_room(ex))
        return;
    if (ex != NULL && ex->up != NULL && conn_is_paused(ex->up))
        conn_resume(ex->up);
    if (ex == NULL || ex->state == EXCHANGE_REPLIED)
        conn_resume(c);
}

/* What bulk_body.c moves is not in `out`, so it must be notified here that there is room. */
static void client_on_writable(struct conn *c)
{
    conn_flush(c);
    if (conn_is_ended(c) || conn_unsent(c) > 0)
        return;
    conn_set_blocked(c, false);
    client_on_drain(c);
}

static void client_on_deadline(struct conn *c, enum deadline_kind kind)
{
    struct exchange *ex = conn_owner(c);
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
    struct exchange *ex = conn_owner(c);

    conn_set_owner(c, NULL);
    if (ex != NULL)
        exchange_abandon(ex);
}

/* The worker shuts down: active requests are finished, no new ones begin. */
/* A new client has sent its request by now or is about to, and no other worker would serve it. */
static void client_on_leave(struct conn *c)
{
    struct exchange *ex = conn_owner(c);

    if (ex != NULL)
        ex->close = true;
    else if (conn_is_blocked(c))
        conn_finish(c, false);
    else if (!conn_has_request(c))
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

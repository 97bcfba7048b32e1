/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upstream.c - the sandbox's side: sends the request up, the response down
 *
 * Layer: gateway.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gateway/gateway_exchange.h"

#define UPSTREAM_SMALL_BYTES 2048 /* copying it is cheaper than another call */
#define UPSTREAM_INTERIM_MAX 100  /* 1xx responses before the final one */

static const struct conn_proto upstream_proto;

static struct shared_counters *counters(const struct exchange *ex)
{
    return &ex->g->shared->seats[ex->g->o.worker].counters;
}

static void fail(struct exchange *ex, enum hf_code code, const char *why)
{
    struct hf_error err = {0};

    if (ex->rs_begun) {
        conn_end(ex->client); /* the client must see that it is incomplete */
        return;
    }
    hf_fail(&err, code, "Port %u of sandbox %s %s.", ex->place.port, ex->place.id, why);
    gateway_reply_error(ex, &err);
}

/* Repeating the request has the same effect as sending it once. */
static bool is_idempotent(const struct exchange *ex)
{
    const unsigned safe = HTTP_GET_M | HTTP_HEAD_M | HTTP_OPTIONS_M | HTTP_PUT_M | HTTP_DELETE_M;

    return (ex->rq.method & safe) != 0 && !http1_has_body(&ex->rq);
}

/* --- up ------------------------------------------------------------------------------ */

static int upstream_put_head(struct exchange *ex, struct hf_error *err)
{
    struct head_request h = {
        .rq = &ex->rq,
        .place = &ex->place,
        .endpoint = ex->endpoint,
        .headers = endpoint_headers(ex->endpoint, ex->place.port, &ex->to),
        .upstream = ex->upstream,
        .peer = conn_peer(ex->client),
        .request_id = ex->request_id,
        .tls = conn_is_tls(ex->client),
        .spent_authorization = ex->access.spent_authorization,
        .spent_protocol = ex->access.spent_protocol,
        .strip_link = access_has_links(ex->g->access),
    };

    buf_clear(&ex->g->head);
    return head_put_request(&ex->g->head, &ex->g->o.rules, &h, err);
}

static struct conn *upstream_dial(struct exchange *ex)
{
    int errnum = 0;
    struct conn *up =
        conn_dial(ex->g->server, &ex->to.any, ex->to.len, &upstream_proto, ex, &errnum);

    if (up == NULL) {
        counters(ex)->dial_failed++;
        fail(ex, HF_E_upstream_unreachable,
             errnum == ECONNREFUSED ? "refuses connections" : "cannot be reached");
        return NULL;
    }
    counters(ex)->dialled++;
    conn_set_deadline(up, DEADLINE_CONNECT);
    return up;
}

static struct conn *upstream_reuse(struct exchange *ex)
{
    struct conn *up = ex->retried ? NULL : pool_take(ex->g->pool, &ex->to, !is_idempotent(ex));

    if (up == NULL)
        return NULL;
    counters(ex)->reused++;
    conn_become(up, &upstream_proto, ex);
    if (ex->rq_done)
        conn_set_deadline(up, DEADLINE_REPLY);
    return up;
}

void upstream_begin(struct exchange *ex)
{
    struct hf_error err = {0};

    if (upstream_put_head(ex, &err) < 0) {
        gateway_reply_error(ex, &err);
        return;
    }
    http1_again(&ex->rs, ex->rq.method == HTTP_HEAD_M);
    ex->up = upstream_reuse(ex);
    ex->reused = ex->up != NULL;
    if (ex->up == NULL && (ex->up = upstream_dial(ex)) == NULL)
        return;
    /* The body may be here already; and requests that arrived together are sent together, so that
     * their sandbox is woken once. */
    conn_cork(ex->up, buf_data(&ex->g->head), ex->g->head.len);
    if (!conn_is_delivering(ex->client))
        conn_resume(ex->client);
}

/* A sandbox whose response has begun only has to keep reading the request. */
static void upstream_update_deadline(struct exchange *ex)
{
    conn_set_deadline(ex->up, !ex->rs_begun             ? DEADLINE_REPLY
                              : conn_is_blocked(ex->up) ? DEADLINE_STALL
                                                        : DEADLINE_NONE);
}

void upstream_send_body(struct exchange *ex, const char *bytes, size_t len)
{
    char size[24];
    struct iovec iov[3] = {
        {.iov_base = size}, {(void *)(uintptr_t)bytes, len}, {(void *)(uintptr_t)("\r\n"), 2}};

    ex->record.bytes_up += len;
    if (ex->rq.chunked) {
        iov[0].iov_len = (size_t)snprintf(size, sizeof size, "%zx\r\n", len);
        conn_send(ex->up, iov, 3);
    } else {
        conn_send(ex->up, iov + 1, 1);
    }
    upstream_update_deadline(ex);
}

void upstream_end_body(struct exchange *ex)
{
    struct buf *out = &ex->g->head;
    struct iovec iov;

    ex->rq_done = true;
    upstream_update_deadline(ex);
    if (!ex->rq.chunked)
        return;
    buf_clear(out);
    buf_puts(out, "0\r\n");
    head_put_trailers(out, &ex->rq.trailers);
    buf_puts(out, "\r\n");
    iov = (struct iovec){buf_data(out), out->len};
    conn_send(ex->up, &iov, 1);
}

/* --- down ------------------------------------------------------------------------------- */

/* How the client learns where the body ends; its HTTP version may be older than the sandbox's. */
static void choose_framing(struct exchange *ex, struct head_response *h)
{
    const struct http1 *rs = &ex->rs;
    bool open_ended = (rs->chunked || rs->until_close) && rs->status != 204 && rs->status != 304;

    h->chunked = open_ended && ex->rq.http11;
    ex->chunked = h->chunked && !rs->bodiless;
    ex->until_close = open_ended && !ex->rq.http11;
    if (ex->until_close || ex->g->server->draining || (!ex->rq_done && !rs->keep_alive))
        ex->close = true;
    h->close = ex->close;
    h->http10 = !ex->rq.http11;
}

static void upstream_on_final(struct exchange *ex)
{
    struct buf *out = &ex->g->head;
    struct head_response h = {.rs = &ex->rs,
                              .place = &ex->place,
                              .upstream = ex->upstream,
                              .cors_origin = ex->cors_origin};
    char cookie[256];

    conn_set_deadline(ex->up, DEADLINE_NONE);
    choose_framing(ex, &h);
    h.set_cookie = access_cookie(ex, cookie, sizeof cookie);
    buf_clear(out);
    if (head_put_response(out, &h) < 0) {
        exchange_drop_up(ex, false);
        fail(ex, HF_E_upstream_failed, "sent a header that is not allowed");
        return;
    }
    ex->rs_begun = true;
    ex->record.status = ex->rs.status;
    conn_cork(ex->client, buf_data(out), out->len);
}

static void upstream_on_interim(struct exchange *ex)
{
    struct buf *out = &ex->g->head;

    if (++ex->interims > UPSTREAM_INTERIM_MAX) {
        exchange_drop_up(ex, false);
        fail(ex, HF_E_upstream_failed, "sent too many interim responses");
        return;
    }
    upstream_update_deadline(ex); /* a sign that it is working */
    buf_clear(out);
    if (ex->rq.http11 && head_put_interim(out, &ex->rs) == 0)
        conn_cork(ex->client, buf_data(out), out->len);
}

/* Both leave HTTP only if the client requested it. */
static void upstream_on_switch(struct exchange *ex)
{
    if (!ex->rq.upgrade || !ex->rq_done) {
        exchange_drop_up(ex, false);
        fail(ex, HF_E_upstream_failed, "changed protocols without a request to do so");
        return;
    }
    upstream_on_final(ex);
    if (ex->rs_begun)
        tunnel_begin(ex);
}

static void upstream_on_head(struct exchange *ex)
{
    if (ex->rs.status == 101)
        upstream_on_switch(ex);
    else if (ex->rs.status < 200)
        upstream_on_interim(ex);
    else if (!gateway_reply_refusal(ex))
        upstream_on_final(ex);
}

static void upstream_on_body(struct exchange *ex, const char *bytes, size_t len)
{
    char size[24];
    struct iovec iov[3] = {
        {.iov_base = size}, {(void *)(uintptr_t)bytes, len}, {(void *)(uintptr_t)("\r\n"), 2}};

    ex->record.bytes_down += len;
    if (!ex->chunked && len <= UPSTREAM_SMALL_BYTES && ex->rs.length == len) {
        conn_cork(ex->client, bytes, len); /* the whole response, with those of others */
    } else if (ex->chunked) {
        iov[0].iov_len = (size_t)snprintf(size, sizeof size, "%zx\r\n", len);
        conn_send(ex->client, iov, 3);
    } else {
        conn_send(ex->client, iov + 1, 1);
    }
    if (conn_is_blocked(ex->client))
        conn_pause(ex->up);
}

static void upstream_on_done(struct exchange *ex)
{
    struct buf *out = &ex->g->head;
    struct iovec iov;

    if (ex->rs.status < 200) {
        http1_again(&ex->rs, ex->rq.method == HTTP_HEAD_M);
        return;
    }
    if (ex->chunked) {
        buf_clear(out);
        buf_puts(out, "0\r\n");
        head_put_trailers(out, &ex->rs.trailers);
        buf_puts(out, "\r\n");
        iov = (struct iovec){buf_data(out), out->len};
        conn_send(ex->client, &iov, 1);
    }
    /* A connection whose response came before the whole request is not reused. */
    exchange_drop_up(ex, ex->rs.keep_alive && !ex->rs.until_close && ex->rq_done &&
                             !conn_is_mute(ex->up) && !conn_is_blocked(ex->up) &&
                             conn_unsent(ex->up) == 0);
    exchange_replied(ex);
}

/* One step; false: wait. */
static bool upstream_round(struct conn *up, const char *bytes, size_t len, size_t *used)
{
    struct exchange *ex = conn_owner(up);
    size_t n = 0;
    bool more = true;

    if (conn_is_blocked(ex->client)) { /* also by interim responses: those use memory too */
        conn_pause(up);
        return false;
    }
    if (*used == len && !http1_is_complete(&ex->rs))
        return false;
    ex->rs_bytes = true;
    switch (http1_feed(&ex->rs, bytes + *used, len - *used, &n)) {
    case HTTP1_HEAD: upstream_on_head(ex); break;
    case HTTP1_BODY: upstream_on_body(ex, ex->rs.body, ex->rs.body_len); break;
    case HTTP1_DONE: upstream_on_done(ex); break;
    case HTTP1_ERROR:
        n = len - *used;
        exchange_drop_up(ex, false);
        fail(ex, HF_E_upstream_failed, "sent something that is not HTTP/1.1");
        break;
    default: more = *used + n < len;
    }
    *used += n;
    return more;
}

static size_t upstream_on_bytes(struct conn *up, char *bytes, size_t len)
{
    size_t used = 0;

    while (conn_has_proto(up, &upstream_proto) && !conn_is_ended(up) &&
           upstream_round(up, bytes, len, &used))
        ;
    if (conn_has_proto(up, &upstream_proto) && !conn_is_ended(up) && used == len)
        bulk_begin(conn_owner(up));
    return used;
}

void upstream_moved(struct exchange *ex)
{
    conn_become(ex->up, &upstream_proto, ex);
    upstream_on_done(ex);
}

/* --- failures -------------------------------------------------------------------------- */

static bool may_retry(const struct exchange *ex)
{
    return ex->reused && !ex->retried && !ex->rs_bytes && is_idempotent(ex);
}

static void upstream_broken(struct exchange *ex)
{
    if (may_retry(ex)) {
        ex->retried = true;
        counters(ex)->retried++;
        upstream_begin(ex);
        return;
    }
    fail(ex, HF_E_upstream_failed, "closed the connection before the response was complete");
}

static void upstream_on_eof(struct conn *up)
{
    struct exchange *ex = conn_owner(up);

    if (http1_finish(&ex->rs) && ex->rs_begun) {
        upstream_on_done(ex);
        return;
    }
    exchange_drop_up(ex, false);
    upstream_broken(ex);
}

static void upstream_on_end(struct conn *up)
{
    struct exchange *ex = conn_owner(up);
    bool connecting = !conn_is_established(up);

    ex->up = NULL;
    if (!connecting) {
        upstream_broken(ex);
        return;
    }
    counters(ex)->dial_failed++;
    fail(ex, HF_E_upstream_unreachable,
         conn_errnum(up) == ECONNREFUSED ? "refuses connections" : "cannot be reached");
}

static void upstream_on_drain(struct conn *up)
{
    struct exchange *ex = conn_owner(up);

    if (conn_deadline(up) == DEADLINE_CONNECT)
        conn_set_deadline(up, DEADLINE_REPLY);
    else if (conn_deadline(up) == DEADLINE_STALL)
        conn_set_deadline(up, DEADLINE_NONE);
    conn_resume(ex->client);
}

static void upstream_on_deadline(struct conn *up, enum deadline_kind kind)
{
    struct exchange *ex = conn_owner(up);

    exchange_drop_up(ex, false);
    if (kind == DEADLINE_CONNECT) {
        counters(ex)->dial_failed++;
        fail(ex, HF_E_upstream_unreachable, "did not accept the connection in time");
    } else {
        fail(ex, HF_E_upstream_timeout, "did not respond in time");
    }
}

static const struct conn_proto upstream_proto = {
    .on_bytes = upstream_on_bytes,
    .on_eof = upstream_on_eof,
    .on_drain = upstream_on_drain,
    .on_deadline = upstream_on_deadline,
    .on_end = upstream_on_end,
};

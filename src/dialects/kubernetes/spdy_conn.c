/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spdy_conn.c - carries SPDY over a raw connection or a WebSocket. Layer: dialects.
 */
#include "dialects/kubernetes/spdy_conn.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/limits.h"
#include "base/mem.h"
#include "transport/ws.h"

#define OUR_PING 2

struct spdy_conn {
    struct spdy *spdy;
    struct raw *raw; /* exactly one of raw and ws is set */
    struct ws *ws;
    const struct spdy_conn_ops *ops;
    void *arg;
    struct timer *linger;
    bool replied; /* the stream of headers has begun */
    bool finished;
    bool over; /* the client has closed */
};

void spdy_conn_free(struct spdy_conn *c)
{
    timer_close(c->linger);
    spdy_free(c->spdy);
    free(c);
}

/* Marks the connection dead and notifies the owner. */
static void conn_gone(struct spdy_conn *c)
{
    c->ops->gone(c->arg);
    spdy_conn_free(c);
}

/* The WebSocket reports its own end; a raw connection does not. */
static void conn_close(struct spdy_conn *c, int code)
{
    if (c->ws != NULL) {
        c->finished = true;
        ws_close(c->ws, code, "");
        return;
    }
    raw_close(c->raw);
    conn_gone(c);
}

static void on_linger(struct timer *t, void *arg)
{
    (void)t;
    conn_close(arg, 1000);
}

/* --- to the client -------------------------------------------------------------------------- */

static void conn_write(struct spdy_conn *c, const struct iovec *iov, int count)
{
    if (c->over)
        return;
    if (c->ws != NULL)
        ws_send(c->ws, WS_BINARY, iov, count);
    else
        raw_write(c->raw, iov, count);
}

static void conn_write_buf(struct spdy_conn *c, struct buf *b)
{
    struct iovec iov = {buf_data(b), b->len};

    conn_write(c, &iov, 1);
    buf_fini(b);
}

void spdy_conn_accept(struct spdy_conn *c, uint32_t id)
{
    struct buf b = {0};

    spdy_put_reply(&b, id, !c->replied);
    c->replied = true;
    conn_write_buf(c, &b);
}

void spdy_conn_reset(struct spdy_conn *c, uint32_t id, uint32_t status)
{
    struct buf b = {0};

    spdy_put_rst(&b, id, status);
    conn_write_buf(c, &b);
}

bool spdy_conn_ready(const struct spdy_conn *c)
{
    return !c->over && (c->ws != NULL ? ws_ready(c->ws) : raw_ready(c->raw));
}

void spdy_conn_send(struct spdy_conn *c, uint32_t id, const char *bytes, size_t len, bool fin)
{
    char head[SPDY_DATA_HEADER];
    struct iovec iov[] = {{head, sizeof head}, {(void *)(uintptr_t)bytes, len}};

    spdy_data_header(head, id, len, fin);
    conn_write(c, iov, 2);
}

uint64_t spdy_conn_count_sent(const struct spdy_conn *c)
{
    return c->ws != NULL ? ws_count_sent(c->ws) : c->raw != NULL ? raw_count_sent(c->raw) : 0;
}

uint64_t spdy_conn_count_taken(const struct spdy_conn *c)
{
    return c->ws != NULL ? ws_count_received(c->ws) : c->raw != NULL ? raw_count_taken(c->raw) : 0;
}

void spdy_conn_ping(struct spdy_conn *c)
{
    struct buf b = {0};

    spdy_put_ping(&b, OUR_PING);
    conn_write_buf(c, &b);
}

/* --- from the client ------------------------------------------------------------------------ */

static void on_syn(void *arg, uint32_t id, const struct spdy_headers *h)
{
    struct spdy_conn *c = arg;

    if (!c->finished && !c->over)
        c->ops->open(c->arg, id, h);
}

static size_t on_data(void *arg, uint32_t id, const char *bytes, size_t len, bool fin)
{
    struct spdy_conn *c = arg;

    return c->finished || c->over ? len : c->ops->data(c->arg, id, bytes, len, fin);
}

static void on_rst(void *arg, uint32_t id)
{
    struct spdy_conn *c = arg;

    if (!c->finished && !c->over)
        c->ops->reset(c->arg, id);
}

/* Odd pings are the client's, and we return them. An even one is ours, returned to us. */
static void on_ping(void *arg, uint32_t id)
{
    struct spdy_conn *c = arg;
    struct buf b = {0};

    if (id % 2 == 0) {
        if (c->ops->pong != NULL && !c->finished && !c->over)
            c->ops->pong(c->arg);
        return;
    }
    spdy_put_ping(&b, id);
    conn_write_buf(c, &b);
}

static void on_goaway(void *arg)
{
    ((struct spdy_conn *)arg)->over = true;
}

static const struct spdy_ops spdy_ops = {
    .syn = on_syn,
    .data = on_data,
    .rst = on_rst,
    .ping = on_ping,
    .goaway = on_goaway,
};

/* Returns how many bytes were consumed. The connection may be dead afterwards. */
static size_t conn_feed(struct spdy_conn *c, const char *bytes, size_t len)
{
    ssize_t n = spdy_feed(c->spdy, bytes, len, &spdy_ops, c);

    if (n < 0 || c->over) {
        conn_close(c, n < 0 ? 1002 : 1000);
        return len;
    }
    return (size_t)n;
}

/* --- on a connection of its own ------------------------------------------------------------- */

static size_t raw_on_data(void *arg, const void *bytes, size_t len)
{
    return conn_feed(arg, bytes, len);
}

static void raw_on_eof(void *arg)
{
    conn_close(arg, 1000);
}

static void raw_on_drain(void *arg)
{
    struct spdy_conn *c = arg;

    if (!c->finished)
        c->ops->drain(c->arg);
}

static void raw_on_disconnect(void *arg)
{
    conn_gone(arg);
}

static const struct raw_ops raw_ops = {
    .on_data = raw_on_data,
    .on_eof = raw_on_eof,
    .on_drain = raw_on_drain,
    .on_disconnect = raw_on_disconnect,
};

/* --- inside a WebSocket --------------------------------------------------------------------- */

static void tunnel_on_text(void *arg, const char *text, size_t len)
{
    (void)text, (void)len;
    conn_close(arg, 1003);
}

static size_t tunnel_on_binary(void *arg, const void *bytes, size_t len, bool last)
{
    (void)last;
    return len > 0 ? conn_feed(arg, bytes, len) : 0;
}

static void tunnel_on_closed(void *arg, int code)
{
    (void)code;
    conn_gone(arg);
}

static const struct ws_ops ws_ops = {
    .on_text = tunnel_on_text,
    .on_binary = tunnel_on_binary,
    .on_drain = raw_on_drain,
    .on_closed = tunnel_on_closed,
};

void spdy_conn_resume(struct spdy_conn *c)
{
    if (c->over)
        return;
    if (c->ws != NULL)
        ws_resume(c->ws);
    else
        raw_resume(c->raw);
}

void spdy_conn_finish(struct spdy_conn *c)
{
    if (c->finished)
        return;
    c->finished = true;
    timer_start(c->linger, KUBE_LINGER_MS);
    spdy_conn_resume(c); /* discards what still arrives, up to the client's close */
}

/* --- setup ---------------------------------------------------------------------------------- */

static bool is_offered(const char *offered, const char *protocol)
{
    size_t want = strlen(protocol);

    while (*offered != '\0') {
        size_t len;

        offered += strspn(offered, ", \t");
        len = strcspn(offered, ", \t");
        if (len == want && memcmp(offered, protocol, len) == 0)
            return true;
        offered += len;
    }
    return false;
}

const char *spdy_negotiate(struct http_request *rq, const char *const *ours)
{
    const char *upgrade = http_header(rq, "Upgrade"), *offered = http_header(rq, SPDY_HEADER);

    if (upgrade == NULL || strcasecmp(upgrade, "SPDY/3.1") != 0) {
        kube_refuse(rq, 400, "unable to upgrade: only WebSocket and SPDY/3.1 are spoken here");
        return NULL;
    }
    if (offered == NULL || offered[0] == '\0') {
        kube_refuse(rq, 400, "unable to upgrade: the header " SPDY_HEADER " is missing");
        return NULL;
    }
    for (size_t i = 0; ours[i] != NULL; i++)
        if (is_offered(offered, ours[i]))
            return ours[i];
    for (size_t i = 0; ours[i] != NULL; i++)
        http_add_header(rq, "X-Accepted-Stream-Protocol-Versions", ours[i]);
    kube_refuse(rq, 403, "unable to upgrade: unable to negotiate protocol: client supports %.200s",
                offered);
    return NULL;
}

static struct spdy_conn *conn_new(struct http_request *rq, const struct spdy_conn_ops *ops,
                                  void *arg)
{
    struct spdy_conn *c = hf_xalloc(sizeof *c);

    c->ops = ops;
    c->arg = arg;
    c->spdy = spdy_new();
    c->linger = timer_new(http_loop(rq), on_linger, c);
    return c;
}

struct spdy_conn *spdy_conn_raw(struct http_request *rq, const char *protocol,
                                const struct spdy_conn_ops *ops, void *arg)
{
    struct spdy_conn *c = conn_new(rq, ops, arg);

    http_add_header(rq, SPDY_HEADER, protocol);
    c->raw = raw_accept(rq, "SPDY/3.1", &raw_ops, c);
    raw_set_held(c->raw, INFLATE_BYTES); /* headers come compressed */
    return c;
}

struct spdy_conn *spdy_conn_tunnel(struct http_request *rq, const char *subprotocol,
                                   const struct spdy_conn_ops *ops, void *arg)
{
    struct spdy_conn *c = conn_new(rq, ops, arg);

    c->ws = ws_accept(rq, subprotocol, &ws_ops, c);
    return c;
}

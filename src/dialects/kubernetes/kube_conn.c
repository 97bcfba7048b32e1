/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_conn.c - carries streams over SPDY or over the channels of a WebSocket. Layer: dialects.
 */
#include "dialects/kubernetes/kube_conn.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/kubernetes/kubernetes_limits.h"
#include "transport/ws.h"

#define SPDY_HEADER "X-Stream-Protocol-Version"
#define OUR_PING 2

/* --- the end ---------------------------------------------------------------------------------- */

static void conn_release(struct call *call)
{
    struct kube_conn *c = list_entry(call, struct kube_conn, call);

    c->ops->release(c);
    timer_close(c->timer);
    spdy_free(c->spdy);
    buf_fini(&c->held);
    free(c->peer);
}

static void conn_drain(struct call *call)
{
    struct kube_conn *c = list_entry(call, struct kube_conn, call);

    c->ops->drain(c);
}

static const struct call_kind conn_kind = {.release = conn_release, .drain = conn_drain};

static void conn_gone(struct kube_conn *c, bool in_order)
{
    if (c->ops->closed != NULL)
        c->ops->closed(c, in_order);
    call_end(&c->call);
}

/* The WebSocket reports its own end; a raw connection does not. */
static void conn_close(struct kube_conn *c, int code)
{
    struct raw *raw = c->raw;

    c->finished = true;
    if (raw == NULL) {
        ws_close(c->ws, code, "");
        return;
    }
    conn_gone(c, false);
    raw_close(raw);
}

/* --- to the client -------------------------------------------------------------------------- */

static void conn_write(struct kube_conn *c, const struct iovec *iov, int count)
{
    if (c->over)
        return;
    if (c->ws != NULL)
        ws_send(c->ws, WS_BINARY, iov, count);
    else
        raw_write(c->raw, iov, count);
}

static void conn_write_buf(struct kube_conn *c, struct buf *b)
{
    struct iovec iov = {buf_data(b), b->len};

    conn_write(c, &iov, 1);
    buf_fini(b);
}

void kube_conn_accept_stream(struct kube_conn *c, uint32_t id)
{
    struct buf b = {0};

    spdy_put_reply(&b, id, !c->replied);
    c->replied = true;
    conn_write_buf(c, &b);
}

void kube_conn_reset_stream(struct kube_conn *c, uint32_t id, uint32_t status)
{
    struct buf b = {0};

    spdy_put_rst(&b, id, status);
    conn_write_buf(c, &b);
}

bool kube_conn_ready(const struct kube_conn *c)
{
    return !c->over && !c->gated && (c->ws != NULL ? ws_ready(c->ws) : raw_ready(c->raw));
}

static void send_base64(struct kube_conn *c, uint8_t channel, const char *bytes, size_t len)
{
    struct buf *text = &c->call.base->scratch;

    buf_clear(text);
    channel_encode(text, channel, bytes, len);
    ws_send_text(c->ws, buf_data(text), text->len);
}

void kube_conn_send(struct kube_conn *c, uint32_t id, const char *bytes, size_t len, bool fin)
{
    char head[SPDY_DATA_HEADER] = {(char)id};
    struct iovec iov[] = {{head, 1}, {(void *)(uintptr_t)bytes, len}};

    if (c->protocol->spdy) {
        spdy_data_header(head, id, len, fin);
        iov[0].iov_len = sizeof head;
    } else if (fin && len == 0) {
        return;
    } else if (c->protocol->base64) {
        send_base64(c, (uint8_t)id, bytes, len);
        return;
    }
    conn_write(c, iov, 2);
}

uint64_t kube_conn_count_sent(const struct kube_conn *c)
{
    return c->ws != NULL ? ws_count_sent(c->ws) : raw_count_sent(c->raw);
}

uint64_t kube_conn_count_received(const struct kube_conn *c)
{
    return c->ws != NULL ? ws_count_received(c->ws) : raw_count_taken(c->raw);
}

void kube_conn_ping(struct kube_conn *c)
{
    struct buf b = {0};

    if (!c->protocol->spdy) {
        ws_ping(c->ws);
        return;
    }
    spdy_put_ping(&b, OUR_PING);
    conn_write_buf(c, &b);
}

void kube_conn_finish(struct kube_conn *c, bool draining)
{
    if (c->finished)
        return;
    c->finished = true;
    c->gated = false;
    timer_stop(c->timer);
    if (!c->protocol->spdy) {
        ws_close(c->ws, draining ? 1001 : 1000, draining ? "the daemon is shutting down" : "");
        return;
    }
    timer_start(c->timer, KUBE_LINGER_MS);
    kube_conn_resume(c); /* discards what still arrives, up to the client's close */
}

/* --- the gate ------------------------------------------------------------------------------- */

void kube_conn_gate(struct kube_conn *c)
{
    c->gated = true;
    timer_start(c->timer, KUBE_REPLY_MS);
    ws_ping(c->ws);
}

static void open_gate(struct kube_conn *c)
{
    if (!c->gated)
        return;
    c->gated = false;
    timer_stop(c->timer);
    c->ops->gate_open(c);
}

static void on_timer(struct timer *t, void *arg)
{
    struct kube_conn *c = arg;

    (void)t;
    if (c->gated)
        open_gate(c);
    else
        conn_close(c, 1000);
}

/* --- from the client: both framings ----------------------------------------------------------- */

static bool is_deaf(const struct kube_conn *c)
{
    return c->finished || c->over;
}

static size_t deliver(struct kube_conn *c, uint32_t id, const char *bytes, size_t len, bool fin)
{
    return is_deaf(c) ? len : c->ops->data(c, id, bytes, len, fin);
}

static void on_pong(void *arg)
{
    struct kube_conn *c = arg;

    if (c->gated && !c->heard)
        timer_start(c->timer, KUBE_GATE_MS);
    c->heard = true;
    if (c->ops->pong != NULL && !is_deaf(c))
        c->ops->pong(c);
}

static void on_room(void *arg)
{
    struct kube_conn *c = arg;

    if (!c->finished)
        c->ops->room(c);
}

void kube_conn_resume(struct kube_conn *c)
{
    if (c->over)
        return;
    if (c->held.len > 0) {
        buf_drop(&c->held, deliver(c, c->held_channel, buf_data(&c->held), c->held.len, false));
        if (c->held.len > 0)
            return;
        buf_fini(&c->held);
    }
    if (c->ws != NULL)
        ws_resume(c->ws);
    else
        raw_resume(c->raw);
}

/* --- SPDY ------------------------------------------------------------------------------------- */

static void on_syn(void *arg, uint32_t id, const struct spdy_headers *h)
{
    struct kube_conn *c = arg;

    if (!is_deaf(c))
        c->ops->open(c, id, h);
}

static size_t on_data(void *arg, uint32_t id, const char *bytes, size_t len, bool fin)
{
    return deliver(arg, id, bytes, len, fin);
}

static void on_rst(void *arg, uint32_t id)
{
    struct kube_conn *c = arg;

    if (c->ops->reset != NULL && !is_deaf(c))
        c->ops->reset(c, id);
}

/* Odd pings are the client's, and we return them. An even one is ours, returned to us. */
static void on_ping(void *arg, uint32_t id)
{
    struct buf b = {0};

    if (id % 2 == 0) {
        on_pong(arg);
        return;
    }
    spdy_put_ping(&b, id);
    conn_write_buf(arg, &b);
}

static void on_goaway(void *arg)
{
    ((struct kube_conn *)arg)->over = true;
}

static const struct spdy_ops spdy_ops = {
    .syn = on_syn,
    .data = on_data,
    .rst = on_rst,
    .ping = on_ping,
    .goaway = on_goaway,
};

/* Returns how many bytes were consumed. The connection may be dead afterwards. */
static size_t feed_spdy(struct kube_conn *c, const char *bytes, size_t len)
{
    ssize_t n = spdy_feed(c->spdy, bytes, len, &spdy_ops, c);

    if (n < 0 || c->over) {
        conn_close(c, n < 0 ? 1002 : 1000);
        return len;
    }
    return (size_t)n;
}

static size_t raw_on_data(void *arg, const void *bytes, size_t len)
{
    return feed_spdy(arg, bytes, len);
}

static void raw_on_eof(void *arg)
{
    conn_close(arg, 1000);
}

static void raw_on_disconnect(void *arg)
{
    conn_gone(arg, false);
}

static const struct raw_ops raw_ops = {
    .on_data = raw_on_data,
    .on_eof = raw_on_eof,
    .on_drain = on_room,
    .on_disconnect = raw_on_disconnect,
};

/* --- channels --------------------------------------------------------------------------------- */

static bool on_is_small(void *arg, uint8_t channel)
{
    return channel > ((const struct kube_conn *)arg)->ops->last_stream;
}

static size_t on_input(void *arg, uint8_t channel, const char *bytes, size_t len)
{
    open_gate(arg);
    return deliver(arg, channel, bytes, len, false);
}

static void on_small(void *arg, uint8_t channel, const char *bytes, size_t len)
{
    struct kube_conn *c = arg;

    open_gate(c);
    if (channel != CHANNEL_CLOSE)
        (void)deliver(c, channel, bytes, len, true);
    else if (c->protocol->close && len == 1 && !on_is_small(c, (uint8_t)bytes[0]))
        (void)deliver(c, (uint8_t)bytes[0], "", 0, true);
}

static const struct channel_ops channel_ops = {
    .input = on_input,
    .small = on_small,
    .is_small = on_is_small,
};

/* A text message is consumed whole, so what the owner has no room for is queued here. */
static void input_text(struct kube_conn *c, uint8_t channel, const char *bytes, size_t len)
{
    size_t n = deliver(c, channel, bytes, len, false);

    if (n == len)
        return;
    c->held_channel = channel;
    buf_put(&c->held, bytes + n, len - n);
    ws_pause(c->ws);
}

/* Some clients send their input as text, with the number of the channel as its first character. */
static bool decode_text(const struct kube_conn *c, const char *text, size_t len, uint8_t *channel,
                        struct buf *data)
{
    if (c->protocol->base64)
        return channel_decode(text, len, channel, data);
    *channel = len > 0 ? (uint8_t)text[0] : 0;
    if (len > 0)
        buf_put(data, text + 1, len - 1);
    return true;
}

static void ws_on_text(void *arg, const char *text, size_t len)
{
    struct kube_conn *c = arg;
    struct buf data = {0};
    uint8_t channel;

    if (c->protocol->spdy) {
        conn_close(c, 1003);
        return;
    }
    open_gate(c);
    if (!decode_text(c, text, len, &channel, &data))
        ws_close(c->ws, 1007, "a message must be a digit and base64");
    else if (on_is_small(c, channel))
        on_small(c, channel, buf_data(&data), data.len);
    else if (data.len > 0)
        input_text(c, channel, buf_data(&data), data.len);
    buf_fini(&data);
}

static size_t ws_on_binary(void *arg, const void *bytes, size_t len, bool last)
{
    struct kube_conn *c = arg;

    if (c->protocol->spdy)
        return len > 0 ? feed_spdy(c, bytes, len) : 0;
    if (!c->protocol->base64)
        return channel_feed(&c->in, bytes, len, last, &channel_ops, c);
    ws_close(c->ws, 1003, "messages must be base64 text");
    return len;
}

/* 1006 is a broken connection. */
static void ws_on_closed(void *arg, int code)
{
    conn_gone(arg, code != 1006);
}

static const struct ws_ops ws_ops = {
    .on_text = ws_on_text,
    .on_binary = ws_on_binary,
    .on_drain = on_room,
    .on_pong = on_pong,
    .on_receipt = on_room,
    .on_closed = ws_on_closed,
};

/* --- setup ---------------------------------------------------------------------------------- */

static const struct protocol *negotiate_spdy(struct http_request *rq, const struct protocol *ours)
{
    const char *upgrade = http_header(rq, "Upgrade"), *offered = http_header(rq, SPDY_HEADER);

    if (upgrade == NULL || strcasecmp(upgrade, "SPDY/3.1") != 0) {
        kube_refuse(rq, 400, "unable to upgrade: only WebSocket and SPDY/3.1 are supported");
        return NULL;
    }
    if (offered == NULL || offered[0] == '\0') {
        kube_refuse(rq, 400, "unable to upgrade: the header " SPDY_HEADER " is missing");
        return NULL;
    }
    for (const struct protocol *p = ours; p->name != NULL; p++)
        if (kube_protocol_is_offered(offered, p->name))
            return p;
    for (const struct protocol *p = ours; p->name != NULL; p++)
        http_add_header(rq, "X-Accepted-Stream-Protocol-Versions", p->name);
    kube_refuse(rq, 403, "unable to upgrade: unable to negotiate protocol: client supports %.200s",
                offered);
    return NULL;
}

const struct protocol *kube_conn_negotiate(struct http_request *rq, const struct protocol *spdy)
{
    const struct protocol *protocol;

    if (!http_is_websocket(rq))
        return negotiate_spdy(rq, spdy);
    protocol = kube_protocol_pick(ws_offered(rq));
    if (protocol == NULL)
        kube_refuse(rq, 400, "none of the subprotocols is supported: %.200s", ws_offered(rq));
    return protocol;
}

void kube_conn_accept(struct kube_conn *c, struct http_request *rq, const struct protocol *protocol,
                      const struct kube_conn_ops *ops)
{
    call_adopt_unattended(&c->call, dialect_base_of(rq), &conn_kind);
    c->ops = ops;
    c->protocol = protocol;
    c->peer = hf_xstrdup(http_peer(rq));
    c->spdy = protocol->spdy ? spdy_new() : NULL;
    c->timer = timer_new(c->call.base->loop, on_timer, c);
    if (http_is_websocket(rq)) {
        c->ws = ws_accept(rq, protocol->name[0] != '\0' ? protocol->name : NULL, &ws_ops, c);
        if (!protocol->spdy)
            ws_allow_text(c->ws, LIMIT_KUBE_TEXT_BYTES);
        return;
    }
    http_add_header(rq, SPDY_HEADER, protocol->name);
    c->raw = raw_accept(rq, "SPDY/3.1", &raw_ops, c);
    raw_set_held(c->raw, INFLATE_BYTES); /* headers come compressed */
}

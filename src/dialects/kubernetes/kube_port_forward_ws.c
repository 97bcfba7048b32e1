/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_port_forward_ws.c - port forwarding by WebSocket: port i has data channel 2i and error
 * channel 2i + 1
 *
 * Both channels begin with the port number in two bytes, little-endian. The protocol has no
 * half-close: the connection closes when all ports have closed. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/kubernetes/kube_channel.h"
#include "dialects/kubernetes/kube_port_forward.h"
#include "dialects/kubernetes/spdy_conn.h"
#include "transport/ws.h"

#define BASE64_PORTS 5 /* a channel is a single digit in base64 */

struct kube_port_forward_ws_ports;

struct port {
    struct kube_port_forward_ws_ports *all;
    uint16_t number;
    uint8_t channel; /* the data channel */
    bool open;
    struct forward forward;
};

struct kube_port_forward_ws_ports {
    struct pending pending;
    struct kube *kube;
    const struct protocol *protocol;
    struct ws *ws;
    char *peer;
    struct channel_in in;
    size_t count, open;
    struct port list[LIMIT_KUBE_PORTS];
};

static void ports_end(struct kube_port_forward_ws_ports *p)
{
    for (size_t i = 0; i < p->count; i++) {
        if (p->list[i].open)
            forward_fini(&p->list[i].forward);
        p->list[i].open = false;
    }
    p->open = 0;
}

static void ports_free(struct kube_port_forward_ws_ports *p)
{
    ports_end(p);
    pending_fini(&p->pending);
    free(p->peer);
    free(p);
}

static void ports_on_free(struct pending *p)
{
    ports_free(list_entry(p, struct kube_port_forward_ws_ports, pending));
}

/* A server that shuts down closes its WebSockets itself, with 1001. */
static const struct pending_kind ports_kind = {.drain = NULL, .free = ports_on_free};

/* --- to the client --------------------------------------------------------------------------- */

static void ports_send(struct kube_port_forward_ws_ports *p, uint8_t channel, const char *bytes,
                       size_t len)
{
    struct buf *text = &p->kube->base.scratch;
    char first = (char)channel;
    struct iovec iov[] = {{&first, 1}, {(void *)(uintptr_t)bytes, len}};

    if (!p->protocol->base64) {
        ws_send(p->ws, WS_BINARY, iov, 2);
        return;
    }
    buf_clear(text);
    channel_encode(text, channel, bytes, len);
    ws_send_text(p->ws, buf_data(text), text->len);
}

static bool port_ready(void *arg)
{
    return ws_ready(((struct port *)arg)->all->ws);
}

static void port_bytes(void *arg, const char *bytes, size_t len)
{
    struct port *port = arg;

    ports_send(port->all, port->channel, bytes, len);
}

static void port_room(void *arg)
{
    ws_resume(((struct port *)arg)->all->ws);
}

static void port_ended(void *arg, const char *why)
{
    struct port *port = arg;
    struct kube_port_forward_ws_ports *p = port->all;

    if (why[0] != '\0')
        ports_send(p, (uint8_t)(port->channel + 1), why, strlen(why));
    port->open = false;
    p->open--;
    forward_fini(&port->forward);
    ws_resume(p->ws); /* its input may have been paused */
    if (p->open == 0)
        ws_close(p->ws, 1000, "");
}

static const struct forward_ops forward_ops = {
    .ready = port_ready,
    .bytes = port_bytes,
    .room = port_room,
    .ended = port_ended,
};

/* --- from the client -------------------------------------------------------------------------- */

static struct port *port_of(struct kube_port_forward_ws_ports *p, uint8_t channel)
{
    struct port *port = channel / 2 < p->count ? &p->list[channel / 2] : NULL;

    return port != NULL && port->open && channel % 2 == 0 ? port : NULL;
}

static bool is_small(void *arg, uint8_t channel)
{
    return port_of(arg, channel) == NULL;
}

static size_t on_input(void *arg, uint8_t channel, const char *bytes, size_t len)
{
    return forward_type(&port_of(arg, channel)->forward, bytes, len);
}

static void on_small(void *arg, uint8_t channel, const char *bytes, size_t len)
{
    struct kube_port_forward_ws_ports *p = arg;
    struct port *port = channel == CHANNEL_CLOSE && p->protocol->close && len == 1
                            ? port_of(p, (uint8_t)bytes[0])
                            : NULL;

    if (port != NULL)
        forward_type_eof(&port->forward);
}

static const struct channel_ops channel_ops = {
    .input = on_input,
    .small = on_small,
    .is_small = is_small,
};

static size_t ports_on_binary(void *arg, const void *bytes, size_t len, bool last)
{
    struct kube_port_forward_ws_ports *p = arg;

    if (!p->protocol->base64)
        return channel_feed(&p->in, bytes, len, last, &channel_ops, p);
    ws_close(p->ws, 1003, "messages must be base64 text");
    return len;
}

static void ports_on_text(void *arg, const char *text, size_t len)
{
    struct kube_port_forward_ws_ports *p = arg;
    struct buf data = {0};
    struct port *port;
    uint8_t channel;

    if (!p->protocol->base64)
        ws_close(p->ws, 1003, "messages must be binary");
    else if (!channel_decode(text, len, &channel, &data))
        ws_close(p->ws, 1007, "a message must be a digit and base64");
    else if ((port = port_of(p, channel)) != NULL && data.len > 0 &&
             !kube_stream_type_all(&port->forward.tap, buf_data(&data), data.len))
        ws_pause(p->ws);
    buf_fini(&data);
}

static void ports_on_drain(void *arg)
{
    struct kube_port_forward_ws_ports *p = arg;

    for (size_t i = 0; i < p->count; i++)
        if (p->list[i].open)
            forward_pump(&p->list[i].forward);
}

static void ports_on_closed(void *arg, int code)
{
    (void)code;
    ports_free(arg);
}

static const struct ws_ops ws_ops = {
    .on_text = ports_on_text,
    .on_binary = ports_on_binary,
    .on_drain = ports_on_drain,
    .on_closed = ports_on_closed,
};

/* --- setup ---------------------------------------------------------------------------------- */

/* "ports=80,443" and "ports=80&ports=443"; false: replied. */
static bool decode_ports(struct http_request *rq, struct kube_port_forward_ws_ports *p)
{
    const char *name, *value;
    size_t i = 0, max = p->protocol->base64 ? BASE64_PORTS : LIMIT_KUBE_PORTS;

    while (http_query_each(rq, &i, &name, &value)) {
        while (strcmp(name, "ports") == 0 && *value != '\0') {
            size_t len = strcspn(value, ",");
            char *one = hf_xstrndup(value, len);
            uint16_t number = forward_port(one);

            free(one);
            if (number == 0 || p->count == max) {
                kube_refuse(rq, 400, "ports must be 1 to %zu numbers from 1 to 65535", max);
                return false;
            }
            p->list[p->count] = (struct port){
                .all = p, .number = number, .channel = (uint8_t)(2 * p->count), .open = true};
            p->count++;
            value += len + (value[len] == ',');
        }
    }
    if (p->count > 0)
        return true;
    kube_refuse(rq, 400, "query parameter \"ports\" is required");
    return false;
}

static void ports_begin(struct kube_port_forward_ws_ports *p)
{
    p->open = p->count;
    for (size_t i = 0; i < p->count; i++) {
        const struct port *port = &p->list[i];
        char number[2] = {(char)port->number, (char)(port->number >> 8)};

        ports_send(p, port->channel, number, sizeof number);
        ports_send(p, (uint8_t)(port->channel + 1), number, sizeof number);
    }
    for (size_t i = 0; i < p->count; i++)
        forward_begin(&p->list[i].forward, p->kube, p->list[i].number, p->peer, &forward_ops,
                      &p->list[i]);
}

static void ports_open(struct http_request *rq, const struct protocol *protocol)
{
    struct kube_port_forward_ws_ports *p = hf_xalloc(sizeof *p);
    bool ok;

    p->kube = kube_of(rq);
    p->protocol = protocol;
    p->peer = hf_xstrdup(http_peer(rq));
    pending_init(&p->pending, &p->kube->base.pending, &ports_kind);
    ok = decode_ports(rq, p);
    if (!ok) {
        p->count = 0; /* none was started */
        ports_free(p);
        return;
    }
    p->ws = ws_accept(rq, protocol->name[0] != '\0' ? protocol->name : NULL, &ws_ops, p);
    ws_allow_text(p->ws, LIMIT_KUBE_TEXT_BYTES);
    ports_begin(p);
}

void forward_ws(struct http_request *rq)
{
    const struct protocol *protocol = kube_protocol_pick(ws_offered(rq));

    if (ws_is_offered(rq, SPDY_TUNNEL "portforward.k8s.io"))
        forward_spdy(rq);
    else if (protocol == NULL)
        kube_refuse(rq, 400, "none of the subprotocols is supported: %.200s", ws_offered(rq));
    else
        ports_open(rq, protocol);
}

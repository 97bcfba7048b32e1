/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_socket.c - GET …/socket.io/: the control plane's events, of which there are none
 *
 * A client that cannot connect here retries for minutes, and its program does not exit until it
 * gives up. So the connection is accepted, with its token in the first message because its
 * WebSocket has no headers, and kept open: the one sandbox never changes. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/daytona/daytona.h"
#include "transport/auth.h"
#include "transport/ws.h"

struct socket {
    struct pending pending;
    struct dt *dt;
    struct ws *ws;
    struct timer *timer; /* authentication, then the pings */
    bool known, closing;
};

static void socket_free(struct pending *p)
{
    struct socket *s = list_entry(p, struct socket, pending);

    timer_close(s->timer);
    pending_fini(p);
    free(s);
}

static const struct pending_kind socket_kind = {.drain = NULL, .free = socket_free};

static void socket_close(struct socket *s, int code, const char *reason)
{
    if (s->closing)
        return;
    s->closing = true;
    timer_stop(s->timer);
    ws_close(s->ws, code, reason);
}

static void send_text(struct socket *s, const char *text)
{
    ws_send_text(s->ws, text, strlen(text));
}

static void on_timer(struct timer *t, void *arg)
{
    struct socket *s = arg;

    if (!s->known) {
        socket_close(s, 1008, "no token was sent");
        return;
    }
    send_text(s, "2");
    timer_start(t, DT_PING_MS);
}

/* "44" refuses a connect. */
static void connect(struct socket *s, const char *token)
{
    enum role role = auth_token_role(s->dt->auth, token, strlen(token), NULL);

    ws_set_trusted(s->ws, role);
    s->known = s->known || role != ROLE_NONE;
    if (s->known) {
        send_text(s, "40{\"sid\":\"" DT_SANDBOX "\"}");
        timer_start(s->timer, DT_PING_MS);
        return;
    }
    send_text(s, "44{\"message\":\"Unauthorized\"}");
    socket_close(s, 1008, "unauthorized");
}

static void on_text(void *arg, const char *text, size_t len)
{
    struct socket *s = arg;
    char *token;

    if (s->closing)
        return;
    switch (dt_decode_packet(text, len, &token)) {
    case DT_PACKET_CONNECT: connect(s, token); break;
    case DT_PACKET_PING: send_text(s, "3"); break;
    case DT_PACKET_DISCONNECT: socket_close(s, 1000, ""); break;
    case DT_PACKET_OTHER: break;
    }
    free(token);
}

static size_t on_binary(void *arg, const void *bytes, size_t len, bool last)
{
    (void)arg, (void)bytes, (void)last;
    return len;
}

static void on_drain(void *arg)
{
    (void)arg;
}

static void on_closed(void *arg, int code)
{
    (void)code;
    socket_free(&((struct socket *)arg)->pending);
}

static const struct ws_ops ops = {
    .on_text = on_text,
    .on_binary = on_binary,
    .on_drain = on_drain,
    .on_closed = on_closed,
};

void dt_socket(struct http_request *rq)
{
    struct dt *dt = dt_of(rq);
    struct socket *s = hf_xalloc(sizeof *s);
    char hello[160];

    s->dt = dt;
    s->known = http_role(rq) != ROLE_NONE; /* by a header, or because no token is required */
    s->timer = timer_new(dt->loop, on_timer, s);
    pending_init(&s->pending, &dt->pending, &socket_kind);
    s->ws = ws_accept(rq, NULL, &ops, s);
    snprintf(hello, sizeof hello,
             "0{\"sid\":\"" DT_SANDBOX
             "\",\"upgrades\":[],\"pingInterval\":%d,\"pingTimeout\":20000,\"maxPayload\":%d}",
             DT_PING_MS, LIMIT_WS_TEXT_BYTES);
    send_text(s, hello);
    timer_start(s->timer, DT_HELLO_MS);
}

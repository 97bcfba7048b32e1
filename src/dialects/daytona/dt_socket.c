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
#include "dialects/common/console.h"
#include "dialects/daytona/daytona.h"
#include "dialects/daytona/daytona_limits.h"
#include "transport/auth.h"
#include "transport/ws.h"

struct dt_socket {
    const struct auth *auth;
    struct console *console; /* never has a process */
    struct timer *timer;     /* authentication, then the pings */
    bool known;
};

static void socket_close(struct dt_socket *s, int code, const char *reason)
{
    timer_stop(s->timer);
    console_close(s->console, code, reason);
}

static void send_text(struct dt_socket *s, const char *text)
{
    ws_send_text(console_ws(s->console), text, strlen(text));
}

static void on_timer(struct timer *t, void *arg)
{
    struct dt_socket *s = arg;

    if (!s->known) {
        socket_close(s, 1008, "no token was sent");
        return;
    }
    send_text(s, "2");
    timer_start(t, DT_PING_MS);
}

/* "44" refuses a connect. */
static void connect(struct dt_socket *s, const char *token)
{
    struct ws *ws = console_ws(s->console);
    enum role role = auth_token_role(s->auth, token, strlen(token), NULL);

    ws_set_trusted(ws, role);
    s->known = s->known || role != ROLE_NONE;
    if (s->known) {
        send_text(s, "40{\"sid\":\"" DT_SANDBOX "\"}");
        timer_start(s->timer, DT_PING_MS);
        return;
    }
    send_text(s, "44{\"message\":\"Unauthorized\"}");
    socket_close(s, 1008, "unauthorized");
}

static void socket_text(struct console *c, const char *text, size_t len)
{
    struct dt_socket *s = console_user(c);
    char *token;

    switch (dt_decode_packet(text, len, &token)) {
    case DT_PACKET_CONNECT: connect(s, token); break;
    case DT_PACKET_PING: send_text(s, "3"); break;
    case DT_PACKET_DISCONNECT: socket_close(s, 1000, ""); break;
    case DT_PACKET_OTHER: break;
    }
    free(token);
}

static size_t socket_binary(struct console *c, const void *bytes, size_t len, bool last)
{
    (void)c, (void)bytes, (void)last;
    return len;
}

static void socket_free(struct dt_socket *s)
{
    timer_close(s->timer);
    free(s);
}

static void socket_closed(struct console *c, int code)
{
    (void)code;
    socket_free(console_user(c));
}

static const struct console_ops ops = {
    .text = socket_text,
    .binary = socket_binary,
    .closed = socket_closed,
};

void dt_socket(struct http_request *rq)
{
    struct dialect_base *b = dialect_base_of(rq);
    struct dt_socket *s = hf_xalloc(sizeof *s);
    const struct console_open o = {.ops = &ops, .user = s};
    struct hf_error err;
    char hello[160];

    s->auth = b->host.auth;
    s->known = http_role(rq) != ROLE_NONE; /* by a header, or because no token is required */
    s->timer = timer_new(b->loop, on_timer, s);
    s->console = console_open(rq, &o, &err);
    if (s->console == NULL) {
        socket_free(s);
        return;
    }
    snprintf(hello, sizeof hello,
             "0{\"sid\":\"" DT_SANDBOX
             "\",\"upgrades\":[],\"pingInterval\":%d,\"pingTimeout\":20000,\"maxPayload\":%d}",
             DT_PING_MS, LIMIT_WS_TEXT_BYTES);
    send_text(s, hello);
    timer_start(s->timer, DT_HELLO_MS);
}

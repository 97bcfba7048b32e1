/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ws_site.h - an echo by WebSocket, and what is expected of it
 */
#ifndef HF_WS_SITE_H
#define HF_WS_SITE_H

#include "http_rig.h"

static inline void echo_drain(void *arg);

/* Echoes; text "close" closes, "abort" cuts, "take N" takes little, and so on. */
static inline void echo_text(void *arg, const char *text, size_t len)
{
    struct rig *r = arg;

    EXPECT(text[len] == '\0');
    if (strcmp(text, "close") == 0) {
        ws_close(r->ws, 4404, "no such process");
    } else if (strcmp(text, "abort") == 0) {
        ws_abort(r->ws);
        r->ws = NULL;
    } else if (strcmp(text, "flood") == 0) {
        static char block[64 * 1024];

        while (ws_ready(r->ws))
            ws_send_text(r->ws, block, sizeof block);
        for (int i = 0; i < 16; i++) /* one that goes on all the same is cut */
            ws_send_text(r->ws, block, sizeof block);
    } else if (strcmp(text, "drain") == 0) {
        http_server_drain(r->server, 5000, echo_drain, r);
    } else if (strcmp(text, "pause") == 0) {
        ws_pause(r->ws);
    } else if (strcmp(text, "ping") == 0) {
        r->pings = true;
        ws_ping(r->ws);
    } else if (strcmp(text, "cut") == 0) {
        r->pong_cuts = true;
    } else if (strncmp(text, "take ", 5) == 0) {
        r->take = (size_t)atoi(text + 5);
    } else {
        ws_send_text(r->ws, text, len);
    }
}

static inline size_t echo_binary(void *arg, const void *bytes, size_t len, bool last)
{
    struct rig *r = arg;
    size_t n = r->take > 0 && len > r->take ? r->take : len;

    buf_put(&r->seen, bytes, n);
    if (n < len) {
        ws_resume(r->ws);
    } else if (last) {
        struct iovec iov = {buf_data(&r->seen), r->seen.len};

        ws_send(r->ws, WS_BINARY, &iov, 1);
        buf_fini(&r->seen);
    }
    return n;
}

static inline void echo_drain(void *arg)
{
    struct rig *r = arg;

    r->drained++;
}

static inline void echo_closed(void *arg, int code)
{
    struct rig *r = arg;

    r->closed_code = code;
    r->ws = NULL;
}

/* Only for a test that asked; the owner may cut the connection there. */
static inline void echo_pong(void *arg)
{
    struct rig *r = arg;

    if (r->pong_cuts) {
        ws_abort(r->ws);
        r->ws = NULL;
        return;
    }
    if (r->pings)
        ws_send_text(r->ws, "pong", 4);
}

static const struct ws_ops echo_ops = {
    .on_text = echo_text,
    .on_binary = echo_binary,
    .on_drain = echo_drain,
    .on_pong = echo_pong,
    .on_closed = echo_closed,
};

/* Tells of a text that was too long; cuts the connection for one who asked for that. */
static inline void echo_too_long(void *arg)
{
    struct rig *r = arg;

    if (r->pong_cuts) {
        ws_abort(r->ws);
        r->ws = NULL;
        return;
    }
    ws_send_text(r->ws, "too long", 8);
}

static inline void on_lenient(struct http_request *rq)
{
    static const struct ws_ops ops = {
        .on_text = echo_text,
        .on_text_too_long = echo_too_long,
        .on_binary = echo_binary,
        .on_drain = echo_drain,
        .on_closed = echo_closed,
    };
    struct rig *r = http_context(rq);

    r->ws = ws_accept(rq, NULL, &ops, r);
}

static inline void on_ws(struct http_request *rq)
{
    struct rig *r = http_context(rq);
    const char *protocol = ws_is_offered(rq, "holdfast.v1") ? "holdfast.v1" : NULL;

    r->ws = ws_accept(rq, protocol, &echo_ops, r);
    EXPECT(ws_ready(r->ws));
    EXPECT_INT(ws_role(r->ws), ROLE_OWN);
    EXPECT(strncmp(ws_peer(r->ws), "127.0.0.1:", 10) == 0);
}

static inline void on_refuse(struct http_request *rq)
{
    ws_refuse(rq, 4404, "no such process");
}

static inline void on_closed(struct http_request *rq)
{
    struct rig *r = http_context(rq);
    char text[16];
    int n = snprintf(text, sizeof text, "%d", r->closed_code);

    http_reply(rq, 200, "text/plain", text, (size_t)n);
}

static inline void on_resume(struct http_request *rq)
{
    struct rig *r = http_context(rq);

    if (r->ws != NULL)
        ws_resume(r->ws);
    http_reply_empty(rq, 204);
}

static const struct route routes[] = {
    {HTTP_GET_M, "/ws", on_ws, ROLE_OWN, ROUTE_UPGRADE, 0, NULL},
    {HTTP_GET_M, "/lenient", on_lenient, ROLE_OWN, ROUTE_UPGRADE, 0, NULL},
    {HTTP_GET_M, "/refuse", on_refuse, ROLE_OWN, ROUTE_UPGRADE, 0, NULL},
    {HTTP_GET_M, "/shared", on_ws, ROLE_OWN, ROUTE_UPGRADE | ROUTE_SCOPED, 0, NULL},
    {HTTP_GET_M, "/resume", on_resume, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/closed", on_closed, ROLE_OWN, 0, 0, NULL},
};

#define C "Host: localhost\r\n" RIG_AUTH "Connection: close\r\n"

static inline void run(void (*client)(struct rig *r))
{
    struct rig r;

    rig_setup(&r, routes, sizeof routes / sizeof *routes);
    rig_run(&r, client);
}

static inline void expect_frame(int fd, int first, const char *text)
{
    size_t len;
    int got;
    char *payload = rig_ws_read(fd, &got, &len);

    EXPECT_INT(got, first);
    EXPECT_MEM(payload, len, text, strlen(text));
    free(payload);
}

/* The close frame of the server, then the end of the connection. */
static inline void expect_close(int fd, int code)
{
    size_t len;
    int first;
    char *payload = rig_ws_read(fd, &first, &len), *rest;

    EXPECT_INT(first, 0x88);
    EXPECT(len >= 2);
    EXPECT_INT((unsigned char)payload[0] << 8 | (unsigned char)payload[1], code);
    free(payload);
    rest = rig_read_all(fd);
    EXPECT_STR(rest, "");
    free(rest);
}

static inline void expect_closed_code(struct rig *r, int code)
{
    char want[16], *answer = NULL;

    snprintf(want, sizeof want, "\r\n\r\n%d", code);
    for (int i = 0; i < 1000; i++) {
        free(answer);
        answer = rig_ask(r, "GET /closed HTTP/1.1\r\n" C "\r\n");
        if (strstr(answer, want) != NULL)
            break;
    }
    EXPECT(strstr(answer, want) != NULL);
    free(answer);
}

#endif

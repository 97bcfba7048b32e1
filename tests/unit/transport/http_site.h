/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_site.h - what the server of the HTTP tests serves
 */
#ifndef HF_HTTP_SITE_H
#define HF_HTTP_SITE_H

#include "http_rig.h"

static inline void on_hello(struct http_request *rq)
{
    http_reply(rq, 200, "text/plain", "hello", 5);
}

static inline void on_item(struct http_request *rq)
{
    struct buf b = {0};
    const char *q = http_query(rq, "q");

    buf_printf(&b, "%s %s %s %s", http_param(rq, "id"), q == NULL ? "-" : q,
               http_role_name(http_role(rq)), http_path(rq));
    http_reply(rq, 200, "text/plain", buf_data(&b), b.len);
    buf_fini(&b);
}

static inline void on_echo(struct http_request *rq)
{
    size_t len;
    const char *body = http_body(rq, &len);

    http_reply(rq, 200, "application/octet-stream", body, len);
}

/* Answered by a later request to /release, as a handler that waits would be. */
static inline void on_disconnect(void *user)
{
    struct rig *r = user;

    r->gone++;
    r->pending = NULL;
}

static inline void on_wait(struct http_request *rq)
{
    struct rig *r = http_context(rq);

    r->pending = rq;
    http_set_user(rq, r, on_disconnect);
}

static inline void on_release(struct http_request *rq)
{
    struct rig *r = http_context(rq);

    if (r->pending != NULL)
        http_reply(r->pending, 200, "text/plain", "released", 8);
    r->pending = NULL;
    http_reply_empty(rq, 204);
}

static inline void on_gone_count(struct http_request *rq)
{
    struct rig *r = http_context(rq);
    char text[16];
    int n = snprintf(text, sizeof text, "%d", r->gone);

    http_reply(rq, 200, "text/plain", text, (size_t)n);
}

static inline void on_connections(struct http_request *rq)
{
    struct rig *r = http_context(rq);
    struct http_stats stats;
    char text[16];
    int n;

    http_server_stats(r->server, &stats);
    n = snprintf(text, sizeof text, "%d", (int)stats.connections);
    http_reply(rq, 200, "text/plain", text, (size_t)n);
}

/* Takes bytes a few at a time, to prove that the rest comes again. */
static inline size_t on_upload_bytes(struct http_request *rq, const void *bytes, size_t len,
                                     bool last)
{
    struct rig *r = http_context(rq);
    size_t n = r->take > 0 && len > r->take ? r->take : len;

    buf_put(&r->seen, bytes, n);
    if (last) {
        http_reply(rq, 200, "text/plain", buf_data(&r->seen), r->seen.len);
        buf_clear(&r->seen);
    } else if (n < len) {
        http_body_resume(rq);
    }
    return n;
}

static inline void on_upload(struct http_request *rq)
{
    http_body_stream(rq, on_upload_bytes);
}

/* Takes nothing, as a program that does not read. */
static inline size_t on_hold_bytes(struct http_request *rq, const void *bytes, size_t len,
                                   bool last)
{
    (void)bytes, (void)len;
    if (last)
        http_reply_empty(rq, 204);
    return 0;
}

static inline void on_hold(struct http_request *rq)
{
    http_set_user(rq, http_context(rq), on_disconnect);
    http_body_stream(rq, on_hold_bytes);
}

static inline void on_refuse_upload(struct http_request *rq)
{
    http_reply(rq, 409, "text/plain", "no", 2);
}

static inline void stream_drain(void *arg)
{
    (void)arg;
}

static inline void stream_gone(void *arg)
{
    struct rig *r = arg;

    r->gone++;
    r->stream = NULL;
}

static const struct http_stream_ops stream_ops = {stream_drain, stream_gone};

static inline void on_stream(struct http_request *rq)
{
    struct rig *r = http_context(rq);
    struct http_stream *st = http_stream_start(rq, 200, "text/plain", &stream_ops, r);

    EXPECT(http_stream_ready(st));
    http_stream_write(st, &(struct iovec){(void *)(uintptr_t)("one "), 4}, 1);
    http_stream_write(
        st, (struct iovec[]){{(void *)(uintptr_t)("t"), 1}, {(void *)(uintptr_t)("wo"), 2}}, 2);
    http_stream_end(st);
}

#define LONG_BYTES ((size_t)16 * 1024 * 1024) /* more than a socket holds */

/* All in one piece, and then the end, whether or not that has gone. */
static inline void on_long(struct http_request *rq)
{
    struct rig *r = http_context(rq);
    struct http_stream *st = http_stream_start(rq, 200, "text/plain", &stream_ops, r);
    char *bytes = calloc(1, LONG_BYTES);

    http_stream_write(st, &(struct iovec){bytes, LONG_BYTES}, 1);
    EXPECT(!http_stream_ready(st) || r->written_fd == 0);
    http_stream_end(st);
    free(bytes);
    if (r->written_fd > 0)
        EXPECT_INT(eventfd_write(r->written_fd, 1), 0);
}

static inline void on_endless(struct http_request *rq)
{
    struct rig *r = http_context(rq);

    r->stream = http_stream_start(rq, 200, "text/plain", &stream_ops, r);
}

static const struct route routes[] = {
    {HTTP_GET_M, "/hello", on_hello, ROLE_WATCH, 0, 0, NULL},
    {HTTP_GET_M, "/public", on_hello, ROLE_NONE, ROUTE_PUBLIC, 0, NULL},
    {HTTP_GET_M | HTTP_DELETE_M, "/items/{id}", on_item, ROLE_WATCH, 0, 0, "q limit"},
    {HTTP_POST_M, "/items/{id}", on_item, ROLE_OWN, 0, 0, NULL},
    {HTTP_POST_M | HTTP_PUT_M, "/echo", on_echo, ROLE_OWN, 0, 100, NULL},
    {HTTP_POST_M, "/big", on_echo, ROLE_OWN, 0, 8 << 20, NULL},
    {HTTP_POST_M, "/nobody", on_hello, ROLE_OWN, ROUTE_NO_BODY, 0, NULL},
    {HTTP_GET_M, "/wait", on_wait, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/release", on_release, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/gone", on_gone_count, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/connections", on_connections, ROLE_OWN, 0, 0, NULL},
    {HTTP_POST_M, "/upload", on_upload, ROLE_OWN, ROUTE_STREAM_BODY, 1 << 30, NULL},
    {HTTP_POST_M, "/hold", on_hold, ROLE_OWN, ROUTE_STREAM_BODY, 1 << 30, NULL},
    {HTTP_POST_M, "/refuse", on_refuse_upload, ROLE_OWN, ROUTE_STREAM_BODY, 1 << 30, NULL},
    {HTTP_GET_M, "/stream", on_stream, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/long", on_long, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/endless", on_endless, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/ws", on_hello, ROLE_OWN, ROUTE_UPGRADE, 0, NULL},
};

#define H "Host: localhost\r\n"
#define A H RIG_AUTH
#define C A "Connection: close\r\n"

static inline void run(void (*client)(struct rig *r))
{
    struct rig r;

    rig_setup(&r, routes, sizeof routes / sizeof *routes);
    rig_run(&r, client);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_h2.c - frames of HTTP/2 on a real connection of the server
 *
 * The first byte says how the rest is cut, and whether a preface and settings stand in front of it.
 * Whatever comes, each handler's request must end exactly once, and nothing may be left over.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "transport/h2.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct http_request *pending;
static int streams;

static void hello(struct http_request *rq)
{
    http_reply(rq, 200, "text/plain", "hello", 5);
}

static void echo(struct http_request *rq)
{
    size_t len;
    const char *body = http_body(rq, &len);

    http_reply(rq, 200, "text/plain", body, len);
}

static void on_disconnect(void *user)
{
    *(struct http_request **)user = NULL;
}

static void wait_here(struct http_request *rq)
{
    if (pending != NULL) {
        http_reply_empty(pending, 204);
        pending = NULL;
    }
    pending = rq;
    http_set_user(rq, &pending, on_disconnect);
}

/* A few bytes at a time, to prove that the rest comes again. */
static size_t on_body(struct http_request *rq, const void *bytes, size_t len, bool last)
{
    (void)bytes;
    if (last)
        http_reply_empty(rq, 204);
    else if (len > 3)
        http_body_resume(rq);
    return len > 3 ? 3 : len;
}

static void upload(struct http_request *rq)
{
    http_body_stream(rq, on_body);
}

static void on_room(void *arg)
{
    (void)arg;
}

static void on_stream_gone(void *arg)
{
    (void)arg;
    streams--;
}

static void go_on(struct http_request *rq)
{
    static const struct http_stream_ops ops = {on_room, on_stream_gone};
    static char bytes[30000];
    struct http_stream *st = http_stream_start(rq, 200, "text/plain", &ops, NULL);

    streams++;
    http_stream_write(st, &(struct iovec){bytes, sizeof bytes}, 1);
    if (streams % 3 == 0) {
        http_stream_trailer(st, "grpc-status", "0");
        http_stream_end(st);
        streams--;
    }
}

static const struct route routes[] = {
    {HTTP_GET_M, "/", hello, ROLE_NONE, 0, 0, NULL},
    {HTTP_POST_M, "/e", echo, ROLE_NONE, 0, 64, NULL},
    {HTTP_GET_M, "/w", wait_here, ROLE_NONE, 0, 0, NULL},
    {HTTP_POST_M, "/u", upload, ROLE_NONE, ROUTE_STREAM_BODY, 0, NULL},
    {HTTP_GET_M, "/s", go_on, ROLE_NONE, 0, 0, NULL},
    {HTTP_GET_M, "/x", hello, ROLE_NONE, ROUTE_UPGRADE, 0, NULL},
};

static void on_error(struct http_request *rq, const struct hf_error *err)
{
    http_reply(rq, hf_code_status(err->code), "text/plain", "error", 5);
}

static void on_idle(void *arg)
{
    loop_stop(arg);
}

static void turn(struct loop *loop)
{
    struct task idle = {.fn = on_idle, .arg = loop};

    loop_defer_idle(loop, &idle);
    loop_run(loop);
}

static void feed(struct loop *loop, int fd, const char *bytes, size_t len, size_t step)
{
    char drop[65536];

    for (size_t at = 0; at < len; at += step) {
        size_t n = len - at < step ? len - at : step;

        if (send(fd, bytes + at, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            return;
        turn(loop);
        if ((at / step) % 2 == 0)
            while (recv(fd, drop, sizeof drop, MSG_DONTWAIT) > 0) {
            }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char greeting[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
    struct route_table table = {.prefix = "", .routes = routes, .count = 6, .error = on_error};
    struct http_options o;
    struct loop *loop;
    struct http_server *s;
    struct listener l = {.kind = LISTEN_UNIX, .fd = -1};
    struct sockaddr peer = {.sa_family = AF_UNIX};
    int sv[2];

    if (size < 2 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sv) < 0)
        return 0;
    log_set_level(LOG_ERROR);
    loop = loop_new();
    http_options_default(&o);
    o.header_bytes = 2048;
    s = http_server_new(loop, &o);
    http_server_mount(s, &table);
    l.server = s;
    l.proto = &http_proto;
    conn_new(s, &l, sv[1], &peer, &http_proto);
    if (data[0] & 1)
        feed(loop, sv[0], greeting, sizeof greeting - 1, 64);
    feed(loop, sv[0], (const char *)data + 1, size - 1, data[0] / 2 * 8 + 1);
    close(sv[0]);
    turn(loop);
    turn(loop);
    http_server_free(s);
    loop_free(loop);
    if (pending != NULL || streams != 0)
        abort();
    return 0;
}

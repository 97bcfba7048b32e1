/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_rig.h - a real server on a loopback port, and a client that talks to it
 *
 * The server runs in the test's own thread; the client is a function in a second
 * one, with blocking sockets that give up after a while. When it returns, the loop
 * stops, everything is freed and the sanitizer looks for what is left.
 */
#ifndef HF_HTTP_RIG_H
#define HF_HTTP_RIG_H

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "test.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/loop.h"
#include "transport/auth.h"
#include "transport/http.h"
#include "transport/listen.h"
#include "transport/origin.h"
#include "transport/ws.h"

#define RIG_TOKEN "0123456789abcdef-own"
#define RIG_WATCH "0123456789abcdef-watch"
#define RIG_AUTH "Authorization: Bearer " RIG_TOKEN "\r\n"

struct rig {
    struct loop *loop;
    struct http_server *server;
    struct http_options options;
    struct auth *auth;
    struct origin *origin;
    struct listen_socket listener;
    struct route_table table;
    const char *address; /* NULL: a loopback port */
    struct tls_context *tls;
    int stop_fd;
    void (*client)(struct rig *rig);
    int failures;
    /* For the handlers of a test: */
    struct http_request *pending;
    struct http_stream *stream;
    struct ws *ws;
    struct raw *raw;
    int gone, closed_code, drained;
    size_t take;
    int written_fd; /* 0, or an eventfd that on_long() signals */
    bool pings, pong_cuts;
    struct buf seen;
    int open[8];
};

static struct rig *rig_now;

static inline void rig_error(struct http_request *rq, const struct hf_error *err)
{
    const char *name = hf_code_name(err->code);

    http_reply(rq, hf_code_status(err->code), "text/plain", name, strlen(name));
}

static inline void rig_setup(struct rig *r, const struct route *routes, size_t count)
{
    *r = (struct rig){0};
    rig_now = r;
    r->loop = loop_new();
    r->auth = auth_new();
    r->origin = origin_new();
    REQUIRE(auth_add_token(r->auth, RIG_TOKEN, strlen(RIG_TOKEN), ROLE_OWN) == 0);
    REQUIRE(auth_add_token(r->auth, RIG_WATCH, strlen(RIG_WATCH), ROLE_WATCH) == 0);
    REQUIRE(origin_allow_origin(r->origin, "https://friend.example") == 0);
    http_options_default(&r->options);
    r->options.auth = r->auth;
    r->options.origin = r->origin;
    r->table = (struct route_table){
        .prefix = "", .routes = routes, .count = count, .error = rig_error, .context = r};
}

static inline void rig_on_stop(struct watch *w, int events, void *arg)
{
    struct rig *r = arg;

    (void)w, (void)events;
    loop_stop(r->loop);
}

static inline void *rig_client_main(void *arg)
{
    struct rig *r = arg;
    uint64_t one = 1;

    r->client(r);
    REQUIRE(write(r->stop_fd, &one, sizeof one) == sizeof one);
    return NULL;
}

/* Runs the client against the server and frees everything. */
static inline void rig_run(struct rig *r, void (*client)(struct rig *rig))
{
    struct watch *stop;
    pthread_t thread;
    struct hf_error err;

    r->client = client;
    r->server = http_server_new(r->loop, &r->options);
    http_server_mount(r->server, &r->table);
    REQUIRE(listen_open(r->address != NULL ? r->address : "127.0.0.1:0", &r->listener, &err) == 0);
    http_server_listen(r->server, r->listener.fd, r->listener.kind, NULL, r->tls);
    r->stop_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    stop = watch_new(r->loop, r->stop_fd, rig_on_stop, r);
    watch_set(stop, LOOP_READ);
    REQUIRE(pthread_create(&thread, NULL, rig_client_main, r) == 0);
    loop_run(r->loop);
    pthread_join(thread, NULL);
    watch_close(stop);
    http_server_free(r->server);
    loop_free(r->loop);
    io_close(&r->stop_fd);
    auth_free(r->auth);
    origin_free(r->origin);
    buf_fini(&r->seen);
}

/* --- the client's side ------------------------------------------------------------------ */

static inline int rig_connect(struct rig *r)
{
    struct sockaddr_in a = {0};
    socklen_t len = sizeof a;
    struct timeval limit = {.tv_sec = 10};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

    REQUIRE(getsockname(r->listener.fd, (struct sockaddr *)&a, &len) == 0);
    REQUIRE(connect(fd, (struct sockaddr *)&a, len) == 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static inline void rig_send(int fd, const void *bytes, size_t len)
{
    const char *p = bytes;

    while (len > 0) {
        ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

        if (n <= 0)
            return; /* the answer tells what went wrong */
        p += n;
        len -= (size_t)n;
    }
}

static inline void rig_puts(int fd, const char *text)
{
    rig_send(fd, text, strlen(text));
}

/* Everything up to the server's end, or the time limit. NUL-terminated; free it. */
static inline char *rig_read_all(int fd)
{
    struct buf b = {0};
    char part[4096];
    ssize_t n;

    while ((n = recv(fd, part, sizeof part, 0)) > 0)
        buf_put(&b, part, (size_t)n);
    if (n < 0)
        buf_puts(&b, "<no end>");
    buf_cstr(&b);
    return b.mem;
}

/* Reads up to and including `mark`. */
static inline char *rig_read_until(int fd, const char *mark)
{
    struct buf b = {0};
    char c;

    while (recv(fd, &c, 1, 0) == 1) {
        buf_putc(&b, c);
        if (strstr(buf_cstr(&b), mark) != NULL)
            break;
    }
    buf_cstr(&b);
    return b.mem;
}

static inline void rig_read_exact(int fd, void *to, size_t len)
{
    char *p = to;

    while (len > 0) {
        ssize_t n = recv(fd, p, len, 0);

        REQUIRE(n > 0);
        p += n;
        len -= (size_t)n;
    }
}

/* One exchange on a connection of its own; free the answer. */
static inline char *rig_ask(struct rig *r, const char *request)
{
    int fd = rig_connect(r);
    char *answer;

    rig_puts(fd, request);
    answer = rig_read_all(fd);
    close(fd);
    return answer;
}

/* The request ends in an answer of this status with this body. */
static inline void rig_expect(struct rig *r, const char *request, int status, const char *body,
                              const char *file, int line)
{
    char *answer = rig_ask(r, request);
    const char *text = strstr(answer, "\r\n\r\n");
    int got = 0;

    sscanf(answer, "HTTP/1.1 %d", &got);
    if (got != status || text == NULL || (body != NULL && strcmp(text + 4, body) != 0)) {
        test_fail_at(file, line);
        fprintf(stderr, "expected %d \"%s\" for\n%s\ngot\n%s\n", status, body == NULL ? "" : body,
                request, answer);
    }
    free(answer);
}
#define EXPECT_ANSWER(rig, request, status, body)                                                  \
    rig_expect((rig), (request), (status), (body), __FILE__, __LINE__)

/* --- WebSocket frames of a client ------------------------------------------------------------ */

static inline void rig_ws_frame(int fd, int first, const void *payload, size_t len)
{
    static const unsigned char mask[4] = {0x12, 0x34, 0x56, 0x78};
    unsigned char head[14] = {(unsigned char)first};
    size_t n = 2;
    char *masked = malloc(len + 1);

    if (len < 126) {
        head[1] = (unsigned char)(0x80 | len);
    } else if (len <= 0xffff) {
        head[1] = 0x80 | 126;
        head[n++] = (unsigned char)(len >> 8);
        head[n++] = (unsigned char)len;
    } else {
        head[1] = 0x80 | 127;
        for (int shift = 56; shift >= 0; shift -= 8)
            head[n++] = (unsigned char)((uint64_t)len >> shift);
    }
    memcpy(head + n, mask, 4);
    n += 4;
    for (size_t i = 0; i < len; i++)
        masked[i] = (char)(((const char *)payload)[i] ^ mask[i % 4]);
    rig_send(fd, head, n);
    rig_send(fd, masked, len);
    free(masked);
}

/* The next frame; *first is its first byte. NUL-terminated; free it. */
static inline char *rig_ws_read(int fd, int *first, size_t *len)
{
    unsigned char head[8];
    char *payload;

    rig_read_exact(fd, head, 2);
    *first = head[0];
    *len = head[1] & 0x7f;
    if (*len >= 126) {
        size_t n = *len == 126 ? 2 : 8;

        rig_read_exact(fd, head, n);
        *len = 0;
        for (size_t i = 0; i < n; i++)
            *len = *len << 8 | head[i];
    }
    payload = malloc(*len + 1);
    rig_read_exact(fd, payload, *len);
    payload[*len] = '\0';
    return payload;
}

#define RIG_WS_HEAD                                                                                \
    "Host: localhost\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"                 \
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

static inline int rig_ws_connect(struct rig *r, const char *target, const char *headers)
{
    int fd = rig_connect(r);
    struct buf b = {0};
    char *answer;

    buf_printf(&b, "GET %s HTTP/1.1\r\n" RIG_WS_HEAD RIG_AUTH "%s\r\n", target, headers);
    rig_send(fd, buf_data(&b), b.len);
    buf_fini(&b);
    answer = rig_read_until(fd, "\r\n\r\n");
    EXPECT(strncmp(answer, "HTTP/1.1 101 ", 13) == 0);
    EXPECT(strstr(answer, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n") != NULL);
    free(answer);
    return fd;
}

#endif

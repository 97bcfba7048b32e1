/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_http_ws.c - WebSockets and raw upgrades over a real loopback socket
 */
#include "http_rig.h"

#include <errno.h>
#include <poll.h>
#include <zlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "transport/ws_codec.h"

static void echo_drain(void *arg);

/* Echoes; text "close" closes, "abort" cuts, "take N" takes little, and so on. */
static void echo_text(void *arg, const char *text, size_t len)
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

static size_t echo_binary(void *arg, const void *bytes, size_t len, bool last)
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

static void echo_drain(void *arg)
{
    struct rig *r = arg;

    r->drained++;
}

static void echo_closed(void *arg, int code)
{
    struct rig *r = arg;

    r->closed_code = code;
    r->ws = NULL;
}

/* Only for a test that asked; the owner may cut the connection there. */
static void echo_pong(void *arg)
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

static void on_ws(struct http_request *rq)
{
    struct rig *r = http_context(rq);
    const char *protocol = ws_is_offered(rq, "holdfast.v1") ? "holdfast.v1" : NULL;

    r->ws = ws_accept(rq, protocol, &echo_ops, r);
    EXPECT(ws_ready(r->ws));
    EXPECT_INT(ws_role(r->ws), ROLE_OWN);
    EXPECT(strncmp(ws_peer(r->ws), "127.0.0.1:", 10) == 0);
}

static void on_refuse(struct http_request *rq)
{
    ws_refuse(rq, 4404, "no such process");
}

static void on_closed(struct http_request *rq)
{
    struct rig *r = http_context(rq);
    char text[16];
    int n = snprintf(text, sizeof text, "%d", r->closed_code);

    http_reply(rq, 200, "text/plain", text, (size_t)n);
}

static void on_resume(struct http_request *rq)
{
    struct rig *r = http_context(rq);

    if (r->ws != NULL)
        ws_resume(r->ws);
    http_reply_empty(rq, 204);
}

/* --- raw --- */

static size_t raw_data(void *arg, const void *bytes, size_t len)
{
    struct rig *r = arg;
    size_t n = len > 3 ? 3 : len;

    raw_write(r->raw, &(struct iovec){(void *)(uintptr_t)bytes, n}, 1);
    if (n < len)
        raw_resume(r->raw);
    return n;
}

static void raw_eof(void *arg)
{
    struct rig *r = arg;

    raw_write(r->raw, &(struct iovec){(void *)(uintptr_t) "bye", 3}, 1);
    raw_shutdown(r->raw);
    raw_close(r->raw);
    r->raw = NULL;
}

static void raw_drain(void *arg)
{
    (void)arg;
}

static void raw_gone(void *arg)
{
    struct rig *r = arg;

    r->gone++;
    r->raw = NULL;
}

static const struct raw_ops raw_ops = {raw_data, raw_eof, raw_drain, raw_gone};

static void on_raw(struct http_request *rq)
{
    struct rig *r = http_context(rq);
    bool upgrade = http_header(rq, "Upgrade") != NULL;

    r->raw = raw_accept(rq, upgrade ? "tcp" : NULL, &raw_ops, r);
}

static const struct route routes[] = {
    {HTTP_GET_M, "/ws", on_ws, ROLE_OWN, ROUTE_UPGRADE, 0, NULL},
    {HTTP_GET_M, "/refuse", on_refuse, ROLE_OWN, ROUTE_UPGRADE, 0, NULL},
    {HTTP_GET_M, "/resume", on_resume, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/closed", on_closed, ROLE_OWN, 0, 0, NULL},
    {HTTP_POST_M, "/raw", on_raw, ROLE_OWN, 0, 0, NULL},
};

#define C "Host: localhost\r\n" RIG_AUTH "Connection: close\r\n"

static void run(void (*client)(struct rig *r))
{
    struct rig r;

    rig_setup(&r, routes, sizeof routes / sizeof *routes);
    rig_run(&r, client);
}

static void expect_frame(int fd, int first, const char *text)
{
    size_t len;
    int got;
    char *payload = rig_ws_read(fd, &got, &len);

    EXPECT_INT(got, first);
    EXPECT_MEM(payload, len, text, strlen(text));
    free(payload);
}

/* The close frame of the server, then the end of the connection. */
static void expect_close(int fd, int code)
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

static void expect_closed_code(struct rig *r, int code)
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

static void client_echo(struct rig *r)
{
    int fd = rig_ws_connect(r, "/ws", "");

    rig_ws_frame(fd, 0x81, "hello", 5);
    expect_frame(fd, 0x81, "hello");
    rig_ws_frame(fd, 0x82, "bytes", 5);
    expect_frame(fd, 0x82, "bytes");
    rig_ws_frame(fd, 0x81, "", 0);
    expect_frame(fd, 0x81, "");
    rig_ws_frame(fd, 0x82, "", 0);
    expect_frame(fd, 0x82, "");
    rig_ws_frame(fd, 0x89, "ping", 4);
    expect_frame(fd, 0x8a, "ping");
    rig_ws_frame(fd, 0x01, "h\xc3", 2); /* a character and a message over three frames */
    rig_ws_frame(fd, 0x89, "x", 1);
    rig_ws_frame(fd, 0x00, "\xa4", 1);
    rig_ws_frame(fd, 0x80, "!", 1);
    expect_frame(fd, 0x8a, "x");
    expect_frame(fd, 0x81, "h\xc3\xa4!");
    rig_ws_frame(fd, 0x88, "\x03\xe8 bye", 6);
    expect_close(fd, 1000);
    close(fd);
    expect_closed_code(r, 1000);
}

TEST(messages_are_echoed_whole)
{
    run(client_echo);
}

static void client_pong(struct rig *r)
{
    int fd = rig_ws_connect(r, "/ws", "");
    char *rest;

    rig_ws_frame(fd, 0x81, "ping", 4);
    expect_frame(fd, 0x89, "");
    rig_ws_frame(fd, 0x8a, "", 0);
    expect_frame(fd, 0x81, "pong");
    rig_ws_frame(fd, 0x81, "cut", 3);
    rig_ws_frame(fd, 0x8a, "", 0);
    rest = rig_read_all(fd);
    EXPECT_STR(rest, "");
    free(rest);
    close(fd);
}

TEST(the_owner_may_ping_and_hears_the_pong)
{
    run(client_pong);
}

/* The bytes of a client that does not wait for the 101 come with its request. */
static void client_eager(struct rig *r)
{
    static const char frame[] = "\x81\x82\x00\x00\x00\x00hi";
    int fd = rig_connect(r);
    struct buf b = {0};
    char *answer;

    buf_puts(&b, "GET /ws HTTP/1.1\r\n" RIG_WS_HEAD RIG_AUTH "\r\n");
    buf_put(&b, frame, 8);
    rig_send(fd, buf_data(&b), b.len);
    buf_fini(&b);
    answer = rig_read_until(fd, "\r\n\r\n");
    EXPECT(strncmp(answer, "HTTP/1.1 101 ", 13) == 0);
    free(answer);
    expect_frame(fd, 0x81, "hi");
    close(fd);
    expect_closed_code(r, 1006);
}

TEST(frames_right_behind_the_request_are_not_lost)
{
    run(client_eager);
}

static void client_large(struct rig *r)
{
    size_t len = 3 << 20, got;
    char *bytes = malloc(len), *back;
    int fd = rig_ws_connect(r, "/ws", ""), first;

    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)(i * 13 + i / 509);
    rig_ws_frame(fd, 0x81, "take 1009", 9); /* the owner takes it in small bites */
    rig_ws_frame(fd, 0x02, bytes, len / 2);
    rig_ws_frame(fd, 0x80, bytes + len / 2, len - len / 2);
    back = rig_ws_read(fd, &first, &got);
    EXPECT_INT(first, 0x82);
    EXPECT_U64(got, len);
    EXPECT(memcmp(bytes, back, len) == 0);
    free(back);
    free(bytes);
    close(fd);
}

TEST(a_large_message_passes_in_pieces_with_back_pressure)
{
    run(client_large);
}

/* Text comes whole, so its taker cannot leave a part: it holds back what follows. */
static void client_pause(struct rig *r)
{
    int fd = rig_ws_connect(r, "/ws", "");
    char byte;

    rig_ws_frame(fd, 0x81, "first", 5);
    expect_frame(fd, 0x81, "first");
    rig_ws_frame(fd, 0x81, "pause", 5);
    rig_ws_frame(fd, 0x81, "second", 6);
    rig_ws_frame(fd, 0x82, "third", 5);
    for (int i = 0; i < 20; i++) /* turns in which it could have come */
        free(rig_ask(r, "GET /closed HTTP/1.1\r\n" C "\r\n"));
    EXPECT(recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
    free(rig_ask(r, "GET /resume HTTP/1.1\r\n" C "\r\n"));
    expect_frame(fd, 0x81, "second");
    expect_frame(fd, 0x82, "third");
    rig_ws_frame(fd, 0x81, "pause", 5);
    rig_ws_frame(fd, 0x81, "close", 5);
    free(rig_ask(r, "GET /resume HTTP/1.1\r\n" C "\r\n"));
    expect_frame(fd, 0x88, "\x11\x34no such process");
    close(fd);
}

TEST(a_paused_websocket_brings_nothing_until_it_is_resumed)
{
    run(client_pause);
}

/* What a paused peer sends waits in its own socket. */
static void client_pause_flood(struct rig *r)
{
    static char block[64 * 1024];
    int fd = rig_ws_connect(r, "/ws", "");
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    size_t sent = 0;
    ssize_t n;

    rig_ws_frame(fd, 0x81, "pause", 5);
    rig_send(fd,
             "\x82\xff\0\0\0\0\2\0\0\0"
             "\0\0\0\0",
             14); /* 32 MiB follow */
    while (poll(&p, 1, 200) > 0 && sent < 32 << 20) {
        n = send(fd, block, sizeof block, MSG_DONTWAIT | MSG_NOSIGNAL);
        REQUIRE(n > 0);
        sent += (size_t)n;
    }
    EXPECT(sent < 32 << 20);
    close(fd);
}

TEST(a_paused_websocket_is_not_read)
{
    run(client_pause_flood);
}

static void client_closes(struct rig *r)
{
    int fd = rig_ws_connect(r, "/ws", "");

    rig_ws_frame(fd, 0x81, "close", 5);
    rig_ws_frame(fd, 0x81, "ignored", 7);
    {
        size_t len;
        int first;
        char *payload = rig_ws_read(fd, &first, &len), *rest;

        EXPECT_INT(first, 0x88);
        EXPECT_BYTES(payload, len, "\x11\x34no such process");
        free(payload);
        rig_ws_frame(fd, 0x88, "\x11\x34", 2);
        rest = rig_read_all(fd);
        EXPECT_STR(rest, "");
        free(rest);
    }
    close(fd);
    expect_closed_code(r, 4404);
    fd = rig_ws_connect(r, "/ws", "");
    rig_ws_frame(fd, 0x88, "", 0);
    expect_frame(fd, 0x88, "");
    close(fd);
    expect_closed_code(r, 1005);
    fd = rig_ws_connect(r, "/ws", "");
    rig_ws_frame(fd, 0x81, "abort", 5);
    free(rig_read_all(fd));
    close(fd);
    expect_closed_code(r, 1005); /* who cuts is not told */
    fd =
        rig_ws_connect(r, "/refuse", "Sec-WebSocket-Protocol: holdfast.bearer.eA, holdfast.v1\r\n");
    rig_ws_frame(fd, 0x88, "\x11\x34", 2);
    expect_close(fd, 4404);
    close(fd);
}

/* A peer that does not answer the close frame held a refused connection for five seconds. */
static void client_refused(struct rig *r)
{
    int fd = rig_ws_connect(r, "/refuse", "");
    uint64_t start = clock_mono_ms();

    expect_close(fd, 4404);
    EXPECT(clock_mono_ms() - start < WS_CLOSE_MS / 2);
    rig_ws_frame(fd, 0x88, "\x11\x34", 2); /* late, and not an error */
    close(fd);
}

TEST(a_refused_websocket_ends_without_waiting_for_the_peer)
{
    run(client_refused);
}

TEST(both_sides_can_close)
{
    run(client_closes);
}

static void expect_failure(struct rig *r, const char *bytes, size_t len, int code)
{
    int fd = rig_ws_connect(r, "/ws", "");

    rig_send(fd, bytes, len);
    shutdown(fd, SHUT_WR);
    expect_close(fd, code);
    close(fd);
}
#define EXPECT_FAILURE(r, bytes, code) expect_failure((r), (bytes), sizeof(bytes) - 1, (code))
#define M "\0\0\0\0" /* a mask that does nothing */

static void client_errors(struct rig *r)
{
    char long_text[14 + LIMIT_WS_TEXT_BYTES + 1];

    EXPECT_FAILURE(r, "\x81\x05hello", 1002);                /* not masked */
    EXPECT_FAILURE(r, "\xc1\x80" M, 1002);                   /* RSV1 without agreement */
    EXPECT_FAILURE(r, "\x91\x80" M, 1002);                   /* RSV3 */
    EXPECT_FAILURE(r, "\x83\x80" M, 1002);                   /* unknown opcode */
    EXPECT_FAILURE(r, "\x8b\x80" M, 1002);                   /* unknown control opcode */
    EXPECT_FAILURE(r, "\x80\x80" M, 1002);                   /* continues nothing */
    EXPECT_FAILURE(r, "\x01\x81" M "a\x81\x81" M "b", 1002); /* a message inside another */
    EXPECT_FAILURE(r, "\x09\x80" M, 1002);                   /* a fragmented ping */
    EXPECT_FAILURE(r, "\x89\xfe\x00\x7e" M, 1002);           /* a ping too long */
    EXPECT_FAILURE(r, "\x82\xfe\x00\x01" M "x", 1002);       /* a length not in its shortest form */
    EXPECT_FAILURE(r, "\x88\x81" M "x", 1002);               /* half a close code */
    EXPECT_FAILURE(r, "\x88\x82" M "\x03\xed", 1002);        /* 1005 may not be sent */
    EXPECT_FAILURE(r, "\x88\x83" M "\x03\xe8\xff", 1007);    /* a reason that is not UTF-8 */
    EXPECT_FAILURE(r, "\x81\x81" M "\xff", 1007);
    EXPECT_FAILURE(r, "\x81\x82" M "\xe2\x82", 1007); /* ends inside a character */
    EXPECT_FAILURE(r, "\x82\xff\x00\x00\x00\x00\x04\x00\x00\x01" M, 1009);
    memset(long_text, 'x', sizeof long_text);
    memcpy(long_text, "\x01\xff\0\0\0\0\0\1\0\1" M, 14);
    expect_failure(r, long_text, sizeof long_text, 1009);
}

TEST(broken_frames_end_with_their_code)
{
    run(client_errors);
}

static void client_ping(struct rig *r)
{
    int fd = rig_ws_connect(r, "/ws", ""), first;
    char *payload;
    size_t len;

    expect_frame(fd, 0x89, "");
    rig_ws_frame(fd, 0x8a, "", 0);
    expect_frame(fd, 0x89, ""); /* answered: goes on */
    do {                        /* and now silence */
        payload = NULL;
        if (recv(fd, &first, 1, MSG_PEEK) != 1)
            break;
        payload = rig_ws_read(fd, &first, &len);
        free(payload);
    } while (true);
    close(fd);
    expect_closed_code(r, 1006);
}

TEST(a_silent_peer_is_pinged_and_then_given_up)
{
    struct rig r;

    rig_setup(&r, routes, sizeof routes / sizeof *routes);
    r.options.ping_ms = 50;
    rig_run(&r, client_ping);
}

static void client_handshake(struct rig *r)
{
    char *answer;

    EXPECT_ANSWER(r, "GET /ws HTTP/1.1\r\n" C "Upgrade: tcp\r\nConnection: upgrade\r\n\r\n", 426,
                  "upgrade_required");
    EXPECT_ANSWER(r,
                  "GET /ws HTTP/1.1\r\n" RIG_AUTH "Host: localhost\r\nUpgrade: websocket\r\n"
                  "Connection: upgrade, close\r\nSec-WebSocket-Version: 13\r\n"
                  "Sec-WebSocket-Key: short\r\n\r\n",
                  400, "bad_request");
    answer = rig_ask(r, "GET /ws HTTP/1.1\r\n" RIG_AUTH "Host: localhost\r\nUpgrade: websocket\r\n"
                        "Connection: upgrade, close\r\nSec-WebSocket-Version: 8\r\n\r\n");
    EXPECT(strncmp(answer, "HTTP/1.1 426 ", 13) == 0);
    EXPECT(strstr(answer, "\r\nSec-WebSocket-Version: 13\r\n") != NULL);
    free(answer);
    EXPECT_ANSWER(r,
                  "GET /ws HTTP/1.1\r\n" RIG_WS_HEAD RIG_AUTH
                  "Origin: https://evil.example\r\nConnection: close\r\n\r\n",
                  403, "origin_refused");
    EXPECT_ANSWER(r, "GET /ws HTTP/1.1\r\n" RIG_WS_HEAD "Connection: close\r\n\r\n", 401,
                  "unauthorized");
}

/* Clients that were refused kept the connection, as HTTP lets them, and it lay there unused. */
static void client_handshake_end(struct rig *r)
{
    static const char *const requests[] = {
        "GET /ws HTTP/1.1\r\n" RIG_WS_HEAD "\r\n", /* 401 */
        "GET /ws HTTP/1.1\r\n" RIG_WS_HEAD RIG_AUTH
        "Origin: https://evil.example\r\n\r\n",                  /* 403 */
        "GET /nothing HTTP/1.1\r\n" RIG_WS_HEAD RIG_AUTH "\r\n", /* 404 */
        "GET /ws HTTP/1.1\r\nHost: localhost\r\n" RIG_AUTH
        "Connection: upgrade\r\nUpgrade: tcp\r\n\r\n", /* 426 */
    };
    static const int status[] = {401, 403, 404, 426};
    int fd;

    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        char *answer = rig_ask(r, requests[i]);

        EXPECT_INT(atoi(answer + strlen("HTTP/1.1 ")), status[i]);
        EXPECT(strstr(answer, "\r\nConnection: close\r\n") != NULL);
        EXPECT(strstr(answer, "<no end>") == NULL);
        free(answer);
    }
    /* Who did not ask for an upgrade may go on. */
    fd = rig_connect(r);
    rig_puts(fd, "GET /ws HTTP/1.1\r\nHost: localhost\r\n" RIG_AUTH "\r\n");
    free(rig_read_until(fd, "upgrade_required"));
    rig_puts(fd, "GET /closed HTTP/1.1\r\n" C "\r\n");
    free(rig_read_until(fd, "HTTP/1.1 200 OK"));
    close(fd);
}

TEST(a_refused_handshake_ends_the_connection)
{
    run(client_handshake_end);
}

TEST(a_bad_handshake_is_refused)
{
    run(client_handshake);
}

static void client_subprotocol(struct rig *r)
{
    int fd = rig_connect(r);
    char *answer;

    /* base64url of RIG_TOKEN, offered by a page that has no other way to send it. */
    rig_puts(fd,
             "GET /ws HTTP/1.1\r\n" RIG_WS_HEAD
             "Sec-WebSocket-Protocol: holdfast.bearer.MDEyMzQ1Njc4OWFiY2RlZi1vd24, holdfast.v1\r\n"
             "\r\n");
    answer = rig_read_until(fd, "\r\n\r\n");
    EXPECT(strncmp(answer, "HTTP/1.1 101 ", 13) == 0);
    EXPECT(strstr(answer, "\r\nSec-WebSocket-Protocol: holdfast.v1\r\n") != NULL);
    EXPECT(strstr(answer, "bearer") == NULL);
    free(answer);
    close(fd);
}

TEST(the_token_in_a_subprotocol_counts_and_is_not_echoed)
{
    run(client_subprotocol);
}

static void client_never_reads(struct rig *r)
{
    int fd = rig_ws_connect(r, "/ws", "");

    rig_ws_frame(fd, 0x81, "flood", 5);
    expect_closed_code(r, 1006);
    close(fd);
}

TEST(what_is_held_for_a_peer_is_bounded)
{
    run(client_never_reads);
}

static void client_drained(struct rig *r)
{
    int fd = rig_ws_connect(r, "/ws", "");

    rig_ws_frame(fd, 0x81, "drain", 5);
    rig_ws_frame(fd, 0x88, "\x03\xe9", 2);
    expect_close(fd, 1001);
    close(fd);
}

TEST(a_draining_server_closes_websockets_with_1001)
{
    struct rig r;

    rig_setup(&r, routes, sizeof routes / sizeof *routes);
    rig_run(&r, client_drained);
    EXPECT_INT(r.closed_code, 1001);
}

/* --- compression ------------------------------------------------------------------------------ */

static void send_deflated(int fd, int first, const char *bytes, size_t len, size_t frames)
{
    z_stream z = {0};
    size_t room = len + 1000, at = 0, made;
    char *out = malloc(room);

    REQUIRE(deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)bytes;
    z.avail_in = (unsigned)len;
    z.next_out = (unsigned char *)out;
    z.avail_out = (unsigned)room;
    REQUIRE(deflate(&z, Z_SYNC_FLUSH) == Z_OK);
    made = room - z.avail_out - 4;
    deflateEnd(&z);
    for (size_t i = 0; i < frames; i++) {
        size_t n = i + 1 < frames ? made / frames : made - at;
        int byte = (i == 0 ? first & 0x4f : 0) | (i + 1 == frames ? 0x80 : 0);

        rig_ws_frame(fd, byte, out + at, n);
        at += n;
    }
    free(out);
}

static char *read_inflated(int fd, size_t *len)
{
    char *payload, *out = malloc(8 << 20);
    z_stream z = {0};
    size_t packed;
    int first;

    payload = rig_ws_read(fd, &first, &packed);
    EXPECT(first & 0x40);
    payload = realloc(payload, packed + 4);
    memcpy(payload + packed, "\x00\x00\xff\xff", 4);
    REQUIRE(inflateInit2(&z, -15) == Z_OK);
    z.next_in = (unsigned char *)payload;
    z.avail_in = (unsigned)packed + 4;
    z.next_out = (unsigned char *)out;
    z.avail_out = 8 << 20;
    EXPECT(inflate(&z, Z_SYNC_FLUSH) == Z_OK);
    *len = (8 << 20) - z.avail_out;
    inflateEnd(&z);
    free(payload);
    return out;
}

static void client_deflate(struct rig *r)
{
    size_t len = 2 << 20, got;
    char *bytes = malloc(len), *back, bomb[200000];
    int fd = rig_ws_connect(r, "/ws",
                            "Sec-WebSocket-Extensions: permessage-deflate; "
                            "client_max_window_bits\r\n");

    send_deflated(fd, 0x41, "short", 5, 1);
    expect_frame(fd, 0x81, "short"); /* too short to be worth it */
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)(i / 100 * 7 + i % 3);
    rig_ws_frame(fd, 0x81, "take 1009", 9);
    for (size_t frames = 1; frames < 40; frames += 13) {
        send_deflated(fd, 0x42, bytes, len, frames);
        back = read_inflated(fd, &got);
        EXPECT_U64(got, len);
        EXPECT(memcmp(bytes, back, len) == 0);
        free(back);
    }
    send_deflated(fd, 0x41, "three frames of text", 20, 3);
    expect_frame(fd, 0x81, "three frames of text");
    memset(bomb, 'x', sizeof bomb);
    send_deflated(fd, 0x41, bomb, sizeof bomb, 1);
    shutdown(fd, SHUT_WR);
    expect_close(fd, 1009);
    close(fd);
    free(bytes);
    fd = rig_ws_connect(r, "/ws", "Sec-WebSocket-Extensions: permessage-deflate\r\n");
    rig_ws_frame(fd, 0xc2, "\xff\xff\xff\xff", 4);
    shutdown(fd, SHUT_WR);
    expect_close(fd, 1007);
    close(fd);
}

TEST(compressed_messages_pass_both_ways)
{
    struct rig r;

    rig_setup(&r, routes, sizeof routes / sizeof *routes);
    r.options.compress = true;
    rig_run(&r, client_deflate);
}

/* --- raw upgrades --------------------------------------------------------------------------------- */

static void client_raw(struct rig *r)
{
    char *answer = NULL;
    int fd = rig_connect(r);

    rig_puts(fd, "POST /raw HTTP/1.1\r\nHost: localhost\r\n" RIG_AUTH
                 "Upgrade: tcp\r\nConnection: Upgrade\r\nContent-Length: 2\r\n\r\n{}first ");
    answer = rig_read_until(fd, "\r\n\r\n");
    EXPECT(strncmp(answer, "HTTP/1.1 101 ", 13) == 0);
    EXPECT(strstr(answer, "\r\nUpgrade: tcp\r\n") != NULL);
    free(answer);
    rig_puts(fd, "second");
    shutdown(fd, SHUT_WR);
    answer = rig_read_all(fd);
    EXPECT_STR(answer, "first secondbye");
    free(answer);
    close(fd);
    fd = rig_connect(r);
    rig_puts(fd, "POST /raw HTTP/1.1\r\nHost: localhost\r\n" RIG_AUTH "\r\n");
    answer = rig_read_until(fd, "\r\n\r\n");
    EXPECT(strncmp(answer, "HTTP/1.1 200 OK", 15) == 0);
    free(answer);
    close(fd);
}

TEST(a_raw_upgrade_carries_bytes_and_half_closes)
{
    run(client_raw);
}

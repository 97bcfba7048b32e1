/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ws_conn.c - messages, pauses, pings and the end of a WebSocket over a real loopback socket
 */
#include "ws_site.h"

#include <errno.h>
#include <poll.h>
#include <zlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "transport/ws_codec.h"

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

/* A text over the limit could only end the connection, which some platforms do not do. */
static void client_too_long(struct rig *r)
{
    static char text[3 * LIMIT_WS_TEXT_BYTES];
    int fd = rig_ws_connect(r, "/lenient", "");
    char *rest;

    memset(text, 'x', sizeof text);
    rig_ws_frame(fd, 0x81, text, LIMIT_WS_TEXT_BYTES + 1);
    expect_frame(fd, 0x81, "too long");
    rig_ws_frame(fd, 0x01, text, LIMIT_WS_TEXT_BYTES); /* just not, and then it is */
    rig_ws_frame(fd, 0x89, "p", 1);
    for (int i = 0; i < 20; i++)
        rig_ws_frame(fd, 0x00, text, sizeof text);
    rig_ws_frame(fd, 0x80, "", 0);
    expect_frame(fd, 0x8a, "p");
    expect_frame(fd, 0x81, "too long"); /* once */
    rig_ws_frame(fd, 0x01, "goes ", 5);
    rig_ws_frame(fd, 0x80, "on", 2);
    expect_frame(fd, 0x81, "goes on");
    rig_ws_frame(fd, 0x01, text, sizeof text);
    rig_ws_frame(fd, 0x00, "\xff", 1); /* what is passed over is text all the same */
    expect_close(fd, 1007);
    close(fd);
    fd = rig_ws_connect(r, "/lenient", "");
    rig_ws_frame(fd, 0x81, "cut", 3);
    rig_ws_frame(fd, 0x81, text, sizeof text);
    rest = rig_read_all(fd);
    EXPECT_STR(rest, "");
    free(rest);
    close(fd);
}

TEST(a_text_that_is_too_long_is_passed_over_for_who_asks)
{
    run(client_too_long);
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

/* A few bytes that become many are inflated, and kept by nobody. */
static void client_deflate_too_long(struct rig *r)
{
    static char bomb[4 << 20];
    int fd = rig_ws_connect(r, "/lenient", "Sec-WebSocket-Extensions: permessage-deflate\r\n");

    memset(bomb, 'x', sizeof bomb);
    for (size_t frames = 1; frames < 10; frames += 4) {
        send_deflated(fd, 0x41, bomb, sizeof bomb, frames);
        expect_frame(fd, 0x81, "too long");
        send_deflated(fd, 0x41, "short", 5, frames);
        expect_frame(fd, 0x81, "short");
    }
    close(fd);
}

TEST(a_compressed_text_that_is_too_long_is_passed_over_too)
{
    struct rig r;

    rig_setup(&r, routes, sizeof routes / sizeof *routes);
    r.options.compress = true;
    rig_run(&r, client_deflate_too_long);
}

TEST(compressed_messages_pass_both_ways)
{
    struct rig r;

    rig_setup(&r, routes, sizeof routes / sizeof *routes);
    r.options.compress = true;
    rig_run(&r, client_deflate);
}

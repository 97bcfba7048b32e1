/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ws_refuse.c - broken frames, bad handshakes, deaf and silent peers of a WebSocket
 */
#include "ws_site.h"

#include "base/limits.h"
#include "transport/ws_codec.h"

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

#define LINK "Authorization: Bearer hfl_of_nobody\r\n"

/* Anybody can send this; what a WebSocket cannot be made of was taken for one, and the worker died. */
static void client_link(struct rig *r)
{
    int fd = rig_connect(r);

    rig_puts(fd, "GET /shared HTTP/1.1\r\n" RIG_WS_HEAD LINK "\r\n");
    free(rig_read_until(fd, "\r\n\r\n"));
    expect_close(fd, WS_CODE_LINK_ENDED);
    close(fd);
    EXPECT_ANSWER(r, "GET /shared HTTP/1.1\r\n" RIG_WS_HEAD LINK "Content-Length: 5\r\n\r\nhello",
                  401, "unauthorized");
    EXPECT_ANSWER(r,
                  "GET /shared HTTP/1.1\r\n" RIG_WS_HEAD LINK
                  "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
                  401, "unauthorized");
}

TEST(a_link_of_nobody_is_refused_with_or_without_a_body)
{
    run(client_link);
}

static void expect_refused_with(struct rig *r, const char *offer, const char *chosen)
{
    struct buf b = {0};
    int fd = rig_connect(r);
    const char *line;
    char *answer;

    buf_printf(&b, "GET /shared HTTP/1.1\r\n" RIG_WS_HEAD LINK "Sec-WebSocket-Protocol: %s\r\n\r\n",
               offer);
    rig_send(fd, buf_data(&b), b.len);
    buf_fini(&b);
    answer = rig_read_until(fd, "\r\n\r\n");
    EXPECT(strncmp(answer, "HTTP/1.1 101 ", 13) == 0);
    line = strstr(answer, "\r\nSec-WebSocket-Protocol: ");
    EXPECT((line != NULL) == (chosen != NULL));
    if (line != NULL && chosen != NULL)
        EXPECT(strncmp(strchr(line, ':') + 2, chosen, strlen(chosen)) == 0);
    free(answer);
    expect_close(fd, WS_CODE_LINK_ENDED);
    close(fd);
}

/* Who picked one and who looked whether it was offered split the list at different places. */
static void client_odd_offers(struct rig *r)
{
    expect_refused_with(r, "a, b", "a\r\n");
    expect_refused_with(r, "a b", NULL);
    expect_refused_with(r, "a\tb", NULL);
    expect_refused_with(r, "a b, c", "c\r\n");
    expect_refused_with(r, " ,, \t", NULL);
    expect_refused_with(r, ",\tc ,", "c\r\n");
    expect_refused_with(r, "holdfast.bearer.x y, holdfast.bearer.z", NULL);
}

TEST(a_refusal_names_a_subprotocol_only_if_there_is_one)
{
    run(client_odd_offers);
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

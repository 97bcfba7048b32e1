/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_http_server.c - requests and answers over a real loopback socket
 */
#include "http_site.h"

/* --- plain exchanges ------------------------------------------------------------------------ */

static void client_exchanges(struct rig *r)
{
    char *answer = rig_ask(r, "GET /hello HTTP/1.1\r\n" C "\r\n");

    EXPECT(strncmp(answer, "HTTP/1.1 200 OK\r\nDate: ", 23) == 0);
    EXPECT(strstr(answer, "\r\nContent-Type: text/plain\r\n") != NULL);
    EXPECT(strstr(answer, "\r\nContent-Length: 5\r\n") != NULL);
    EXPECT(strstr(answer, "\r\nX-Content-Type-Options: nosniff\r\n") != NULL);
    EXPECT(strstr(answer, "\r\nCache-Control: no-store\r\n") != NULL);
    EXPECT(strstr(answer, "\r\nConnection: close\r\n") != NULL);
    EXPECT(strstr(answer, "\r\nServer:") == NULL);
    EXPECT(strstr(answer, "\r\n\r\nhello") != NULL);
    free(answer);
    EXPECT_ANSWER(r, "GET /items/a%2Fb%20c?q=x+y%21 HTTP/1.1\r\n" C "\r\n", 200,
                  "a/b c x y! own /items/a%2Fb%20c");
    EXPECT_ANSWER(r, "POST /echo HTTP/1.1\r\n" C "Content-Length: 3\r\n\r\nabc", 200, "abc");
    EXPECT_ANSWER(r,
                  "POST /echo HTTP/1.1\r\n" C
                  "Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: u\r\n\r\n",
                  200, "abcde");
    EXPECT_ANSWER(r, "GET http://localhost/hello HTTP/1.1\r\n" C "\r\n", 200, "hello");
}

static void client_date(struct rig *r)
{
    char *answer = rig_ask(r, "GET /hello HTTP/1.1\r\n" C "\r\n"), *date = strstr(answer, "Date: ");
    time_t now = time(NULL);
    char want[64];
    bool found = false;

    REQUIRE(date != NULL);
    date[6 + 29] = '\0';
    for (time_t t = now - 2; t <= now; t++) {
        strftime(want, sizeof want, "%a, %d %b %Y %H:%M:%S GMT", gmtime(&t));
        found |= strcmp(date + 6, want) == 0;
    }
    EXPECT(found);
    free(answer);
}

TEST(an_answer_tells_the_date)
{
    run(client_date);
}

TEST(an_exchange_carries_head_and_body)
{
    run(client_exchanges);
}

static void client_head(struct rig *r)
{
    char *answer = rig_ask(r, "HEAD /hello HTTP/1.1\r\n" C "\r\n");

    EXPECT(strstr(answer, "\r\nContent-Length: 5\r\n") != NULL);
    EXPECT(strcmp(strstr(answer, "\r\n\r\n"), "\r\n\r\n") == 0);
    free(answer);
    answer = rig_ask(r, "HEAD /stream HTTP/1.1\r\n" C "\r\n");
    EXPECT(strstr(answer, "\r\nTransfer-Encoding: chunked\r\n") != NULL);
    EXPECT(strcmp(strstr(answer, "\r\n\r\n"), "\r\n\r\n") == 0);
    free(answer);
    /* A stream without end is given up by a HEAD; the next request is served. */
    answer = rig_ask(r, "HEAD /endless HTTP/1.1\r\n" A "\r\nGET /gone HTTP/1.1\r\n" C "\r\n");
    EXPECT(strstr(answer, "\r\n\r\n1") != NULL);
    free(answer);
}

TEST(head_gives_the_head_only)
{
    run(client_head);
}

/* --- keep-alive ----------------------------------------------------------------------------- */

static void client_keep_alive(struct rig *r)
{
    int fd = rig_connect(r);

    for (int i = 0; i < 100; i++) {
        char *answer;

        rig_puts(fd, "POST /echo HTTP/1.1\r\n" A "Content-Length: 4\r\n\r\nabc\n");
        answer = rig_read_until(fd, "abc\n");
        EXPECT(strstr(answer, "200 OK") != NULL && strstr(answer, "Connection:") == NULL);
        free(answer);
    }
    close(fd);
}

TEST(a_connection_serves_one_request_after_the_other)
{
    run(client_keep_alive);
}

static void client_old(struct rig *r)
{
    char *answer = rig_ask(r, "GET /hello HTTP/1.0\r\n" RIG_AUTH "\r\n");

    EXPECT(strstr(answer, "Connection: close\r\n") != NULL && strstr(answer, "hello") != NULL);
    free(answer);
    answer = rig_ask(r, "GET /stream HTTP/1.0\r\n" RIG_AUTH "Connection: keep-alive\r\n\r\n");
    EXPECT(strstr(answer, "Transfer-Encoding") == NULL);
    EXPECT(strstr(answer, "\r\n\r\none two") != NULL);
    free(answer);
    answer = rig_ask(r, "GET /hello HTTP/1.0\r\n" RIG_AUTH "Connection: keep-alive\r\n\r\n"
                        "GET /hello HTTP/1.0\r\n" RIG_AUTH "\r\n");
    EXPECT(strstr(answer, "Connection: keep-alive\r\n") != NULL);
    EXPECT(strstr(answer, "Connection: close\r\n") != NULL);
    free(answer);
    EXPECT_ANSWER(r, "POST /echo HTTP/1.0\r\n" RIG_AUTH "\r\n", 411, "length_required");
    EXPECT_ANSWER(r,
                  "POST /echo HTTP/1.0\r\n" RIG_AUTH "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                  400, "bad_request");
}

TEST(http_1_0_is_served_until_close_or_kept_when_asked)
{
    run(client_old);
}

/* The first answer waits for the third request of all, so order is by asking, not by luck. */
static void client_pipeline(struct rig *r)
{
    int fd = rig_connect(r);
    char *answer;
    const char *first, *second, *third;

    rig_puts(fd, "GET /wait HTTP/1.1\r\n" A "\r\nPOST /echo HTTP/1.1\r\n" A
                 "Content-Length: 6\r\n\r\nsecondGET /items/third HTTP/1.1\r\n" C "\r\n");
    EXPECT_ANSWER(r, "GET /release HTTP/1.1\r\n" C "\r\n", 204, "");
    answer = rig_read_all(fd);
    close(fd);
    first = strstr(answer, "released");
    second = strstr(answer, "\r\n\r\nsecond");
    third = strstr(answer, "third - own");
    EXPECT(first != NULL && second != NULL && third != NULL && first < second && second < third);
    free(answer);
}

TEST(pipelined_requests_are_answered_in_order)
{
    run(client_pipeline);
}

/* Far more than is held for a busy connection: reading stops, nothing is lost. */
static void client_long_pipeline(struct rig *r)
{
    int fd = rig_connect(r), count = 0;
    struct buf b = {0};
    char *answer;

    buf_puts(&b, "GET /wait HTTP/1.1\r\n" A "\r\n");
    for (int i = 0; i < 2000; i++)
        buf_puts(&b, "GET /hello HTTP/1.1\r\n" A "\r\n");
    buf_puts(&b, "GET /hello HTTP/1.1\r\n" C "\r\n");
    rig_send(fd, buf_data(&b), b.len);
    EXPECT_ANSWER(r, "GET /release HTTP/1.1\r\n" C "\r\n", 204, "");
    answer = rig_read_all(fd);
    for (const char *p = answer; (p = strstr(p, "hello")) != NULL; p++)
        count++;
    EXPECT_INT(count, 2001);
    free(answer);
    buf_fini(&b);
    close(fd);
}

TEST(a_long_pipeline_is_held_back_and_complete)
{
    run(client_long_pipeline);
}

static void client_byte_by_byte(struct rig *r)
{
    static const char text[] =
        "POST /echo HTTP/1.1\r\n" A "Content-Length: 3\r\n\r\nabc"
        "POST /echo HTTP/1.1\r\n" C "Transfer-Encoding: chunked\r\n\r\n4\r\nwxyz\r\n0\r\n\r\n";
    int fd = rig_connect(r);
    char *answer;

    for (size_t i = 0; i < sizeof text - 1; i++)
        rig_send(fd, text + i, 1);
    answer = rig_read_all(fd);
    EXPECT(strstr(answer, "\r\n\r\nabcHTTP/1.1 200 OK") != NULL);
    EXPECT(strstr(answer, "\r\n\r\nwxyz") != NULL);
    free(answer);
    close(fd);
}

TEST(requests_may_come_byte_by_byte)
{
    run(client_byte_by_byte);
}

/* --- bodies --------------------------------------------------------------------------------- */

static void client_big(struct rig *r)
{
    size_t len = 6 << 20, got = 0;
    char *body = malloc(len), *head, *back = malloc(len);
    int fd = rig_connect(r);

    for (size_t i = 0; i < len; i++)
        body[i] = (char)(i * 7 + i / 251);
    rig_puts(fd, "POST /big HTTP/1.1\r\n" A "Content-Length: 6291456\r\n\r\n");
    rig_send(fd, body, len);
    head = rig_read_until(fd, "\r\n\r\n");
    EXPECT(strstr(head, "Content-Length: 6291456\r\n") != NULL);
    free(head);
    while (got < len) { /* slowly at first, so that the server has to hold the rest */
        ssize_t n = recv(fd, back + got, got < 100000 ? 1000 : len - got, 0);

        REQUIRE(n > 0);
        got += (size_t)n;
    }
    EXPECT(memcmp(body, back, len) == 0);
    rig_puts(fd, "GET /hello HTTP/1.1\r\n" C "\r\n"); /* the connection is as good as new */
    head = rig_read_all(fd);
    EXPECT(strstr(head, "\r\n\r\nhello") != NULL);
    free(head);
    free(body);
    free(back);
    close(fd);
}

TEST(a_large_answer_is_held_and_arrives_whole)
{
    run(client_big);
}

static void client_upload(struct rig *r)
{
    char *answer;
    int fd;

    r->take = 3;
    EXPECT_ANSWER(r, "POST /upload HTTP/1.1\r\n" C "Content-Length: 11\r\n\r\nhello world", 200,
                  "hello world");
    EXPECT_ANSWER(r,
                  "POST /upload HTTP/1.1\r\n" C
                  "Transfer-Encoding: chunked\r\n\r\n6\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n",
                  200, "hello world");
    EXPECT_ANSWER(r, "POST /upload HTTP/1.1\r\n" C "Content-Length: 0\r\n\r\n", 200, "");
    fd = rig_connect(r);
    rig_puts(fd, "POST /upload HTTP/1.1\r\n" A
                 "Content-Length: 5\r\n\r\nhelloPOST /upload HTTP/1.1\r\n" C
                 "Content-Length: 6\r\n\r\n wo");
    rig_puts(fd, "rld");
    answer = rig_read_all(fd);
    EXPECT(strstr(answer, "\r\n\r\nhelloHTTP/1.1 200") != NULL);
    EXPECT(strstr(answer, "\r\n\r\n world") != NULL);
    free(answer);
    close(fd);
}

TEST(a_streamed_body_comes_again_until_it_is_taken)
{
    run(client_upload);
}

static void client_unread(struct rig *r)
{
    static char zeros[300000];
    int fd = rig_connect(r);
    char *answer;

    /* A short rest is read and dropped, and the connection stays. */
    rig_puts(fd, "POST /refuse HTTP/1.1\r\n" A "Content-Length: 1000\r\n\r\n");
    rig_send(fd, zeros, 1000);
    rig_puts(fd, "GET /hello HTTP/1.1\r\n" C "\r\n");
    answer = rig_read_all(fd);
    EXPECT(strstr(answer, "409 Conflict") != NULL && strstr(answer, "\r\n\r\nhello") != NULL);
    free(answer);
    close(fd);
    /* A long one is not waited for, but the answer is not lost either. */
    fd = rig_connect(r);
    rig_puts(fd, "POST /refuse HTTP/1.1\r\n" A "Content-Length: 300000\r\n\r\n");
    rig_send(fd, zeros, 300000);
    rig_puts(fd, "GET /hello HTTP/1.1\r\n" C "\r\n");
    answer = rig_read_all(fd);
    EXPECT(strstr(answer, "409 Conflict") != NULL && strstr(answer, "Connection: close") != NULL);
    EXPECT(strstr(answer, "hello") == NULL);
    free(answer);
    close(fd);
}

TEST(a_body_nobody_reads_does_not_become_a_request)
{
    run(client_unread);
}

static void client_continue(struct rig *r)
{
    int fd = rig_connect(r);
    char *answer;

    rig_puts(fd, "POST /echo HTTP/1.1\r\n" C "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    answer = rig_read_until(fd, "\r\n\r\n");
    EXPECT_STR(answer, "HTTP/1.1 100 Continue\r\n\r\n");
    free(answer);
    rig_puts(fd, "abc");
    answer = rig_read_all(fd);
    EXPECT(strstr(answer, "HTTP/1.1 200 OK") == answer && strstr(answer, "\r\n\r\nabc") != NULL);
    free(answer);
    close(fd);
    fd = rig_connect(r);
    rig_puts(fd, "POST /upload HTTP/1.1\r\n" C "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    answer = rig_read_until(fd, "\r\n\r\n");
    EXPECT_STR(answer, "HTTP/1.1 100 Continue\r\n\r\n");
    free(answer);
    close(fd);
    /* Refused before the body is asked for. */
    EXPECT_ANSWER(r,
                  "POST /echo HTTP/1.1\r\n" A "Expect: 100-continue\r\nContent-Length: 101\r\n\r\n",
                  413, "body_too_large");
    EXPECT_ANSWER(r,
                  "POST /echo HTTP/1.1\r\n" H "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n",
                  401, "unauthorized");
    EXPECT_ANSWER(r, "POST /echo HTTP/1.1\r\n" C "Expect: cake\r\nContent-Length: 3\r\n\r\nabc",
                  417, "expectation_failed");
}

TEST(a_body_is_asked_for_only_when_it_is_wanted)
{
    run(client_continue);
}

/* --- streams -------------------------------------------------------------------------------- */

static void client_stream(struct rig *r)
{
    char *answer = rig_ask(r, "GET /stream HTTP/1.1\r\n" A "\r\nGET /hello HTTP/1.1\r\n" C "\r\n");

    EXPECT(strstr(answer, "\r\n\r\n4\r\none \r\n3\r\ntwo\r\n0\r\n\r\nHTTP/1.1 200 OK") != NULL);
    EXPECT(strstr(answer, "\r\n\r\nhello") != NULL);
    free(answer);
}

TEST(a_stream_is_chunked_and_gives_the_connection_back)
{
    run(client_stream);
}

/* The peer reads, only not as fast as we write: that is no reason to cut it. */
static void client_long(struct rig *r)
{
    int fd = rig_connect(r);
    char *body, room[4096], last[5];
    eventfd_t written;
    size_t n = 0;

    /* A peer that read meanwhile might make room for all of it. */
    r->written_fd = eventfd(0, EFD_CLOEXEC);
    rig_puts(fd, "GET /long HTTP/1.1\r\n" A "\r\n");
    EXPECT_INT(eventfd_read(r->written_fd, &written), 0);
    close(r->written_fd);
    r->written_fd = 0;
    body = rig_read_until(fd, "\r\n\r\n1000000\r\n");
    free(body);
    for (; n < LONG_BYTES; n += sizeof room)
        rig_read_exact(fd, room, sizeof room);
    rig_read_exact(fd, room, 2);
    rig_read_exact(fd, last, sizeof last);
    EXPECT_MEM(last, sizeof last, "0\r\n\r\n", 5);
    close(fd);
}

TEST(the_end_of_a_stream_finds_room_behind_a_long_piece)
{
    run(client_long);
}

static void client_gone(struct rig *r)
{
    char *answer = NULL;
    int fd = rig_connect(r);

    rig_puts(fd, "GET /wait HTTP/1.1\r\n" A "\r\n");
    EXPECT_ANSWER(r, "GET /gone HTTP/1.1\r\n" C "\r\n", 200, "0");
    close(fd);
    fd = rig_connect(r);
    rig_puts(fd, "GET /endless HTTP/1.1\r\n" A "\r\n");
    free(rig_read_until(fd, "\r\n\r\n"));
    close(fd);
    for (int i = 0; i < 1000; i++) { /* both are noticed, sooner or later */
        free(answer);
        answer = rig_ask(r, "GET /gone HTTP/1.1\r\n" C "\r\n");
        if (strstr(answer, "\r\n\r\n2") != NULL)
            break;
    }
    EXPECT(strstr(answer, "\r\n\r\n2") != NULL);
    free(answer);
}

TEST(handlers_learn_that_the_peer_has_gone)
{
    run(client_gone);
}

static bool is_gone_count(struct rig *r, int want)
{
    char *answer = rig_ask(r, "GET /gone HTTP/1.1\r\n" C "\r\n"), text[32];
    bool is;

    snprintf(text, sizeof text, "\r\n\r\n%d", want);
    is = strstr(answer, text) != NULL;
    free(answer);
    return is;
}

static void expect_gone(struct rig *r, int want)
{
    for (int i = 0; i < 1000 && !is_gone_count(r, want); i++)
        usleep(2000);
    EXPECT(is_gone_count(r, want));
}

static void reset(int fd)
{
    struct linger at_once = {.l_onoff = 1};

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(fd);
}

/* More than is held for a request that has to wait: the rest stays in the socket. */
static int ask_with_rest(struct rig *r, const char *head, size_t rest)
{
    char *bytes = calloc(1, rest);
    int fd = rig_connect(r);

    memset(bytes, '\n', rest);
    rig_puts(fd, head);
    rig_send(fd, bytes, rest);
    free(bytes);
    usleep(20000);
    return fd;
}

#define HOLD "POST /hold HTTP/1.1\r\n" A

/*
 * A connection that was not read heard neither an end nor a reset. Nobody else woke it either, so
 * that clients which gave up took a place each for good.
 */
static void client_leaves_unread(struct rig *r)
{
    reset(ask_with_rest(r, "GET /wait HTTP/1.1\r\n" A "\r\n", 40000));
    expect_gone(r, 1);
    close(ask_with_rest(r, "GET /wait HTTP/1.1\r\n" A "\r\n", 40000));
    expect_gone(r, 2);
    reset(ask_with_rest(r, "GET /endless HTTP/1.1\r\n" A "\r\n", 40000));
    expect_gone(r, 3);
    close(ask_with_rest(r, "GET /endless HTTP/1.1\r\n" A "\r\n", 40000));
    expect_gone(r, 4);
    reset(ask_with_rest(r, HOLD "Content-Length: 30000\r\n\r\n", 30000));
    expect_gone(r, 5);
    close(ask_with_rest(r, HOLD "Content-Length: 30001\r\n\r\n", 30000)); /* never whole */
    expect_gone(r, 6);
}

TEST(a_peer_that_is_not_read_is_missed_when_it_leaves)
{
    run(client_leaves_unread);
}

/* The whole body is here, so its end may be all that the peer meant; but not for ever. */
static void client_half_closes_unread(struct rig *r)
{
    int fd = ask_with_rest(r, HOLD "Content-Length: 30000\r\n\r\n", 30000);

    shutdown(fd, SHUT_WR);
    usleep(100000);
    EXPECT(is_gone_count(r, 0));
    expect_gone(r, 1);
    close(fd);
}

TEST(a_body_that_is_whole_waits_for_its_handler_but_not_for_ever)
{
    struct rig r;

    rig_setup(&r, routes, sizeof routes / sizeof *routes);
    r.options.body_ms = 400;
    rig_run(&r, client_half_closes_unread);
}

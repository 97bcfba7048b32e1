/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_http_server.c - requests and answers over a real loopback socket
 */
#include "http_rig.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <time.h>

#include "base/limits.h"

static void on_hello(struct http_request *rq)
{
    http_reply(rq, 200, "text/plain", "hello", 5);
}

static void on_item(struct http_request *rq)
{
    struct buf b = {0};
    const char *q = http_query(rq, "q");

    buf_printf(&b, "%s %s %s %s", http_param(rq, "id"), q == NULL ? "-" : q,
               role_name(http_role(rq)), http_path(rq));
    http_reply(rq, 200, "text/plain", buf_data(&b), b.len);
    buf_fini(&b);
}

static void on_echo(struct http_request *rq)
{
    size_t len;
    const char *body = http_body(rq, &len);

    http_reply(rq, 200, "application/octet-stream", body, len);
}

/* Answered by a later request to /release, as a handler that waits would be. */
static void on_gone(void *user)
{
    struct rig *r = user;

    r->gone++;
    r->pending = NULL;
}

static void on_wait(struct http_request *rq)
{
    struct rig *r = http_context(rq);

    r->pending = rq;
    http_set_user(rq, r, on_gone);
}

static void on_release(struct http_request *rq)
{
    struct rig *r = http_context(rq);

    if (r->pending != NULL)
        http_reply(r->pending, 200, "text/plain", "released", 8);
    r->pending = NULL;
    http_reply_empty(rq, 204);
}

static void on_gone_count(struct http_request *rq)
{
    struct rig *r = http_context(rq);
    char text[16];
    int n = snprintf(text, sizeof text, "%d", r->gone);

    http_reply(rq, 200, "text/plain", text, (size_t)n);
}

static void on_connections(struct http_request *rq)
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
static size_t on_upload_bytes(struct http_request *rq, const void *bytes, size_t len, bool last)
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

static void on_upload(struct http_request *rq)
{
    http_body_stream(rq, on_upload_bytes);
}

static void on_refuse_upload(struct http_request *rq)
{
    http_reply(rq, 409, "text/plain", "no", 2);
}

static void stream_drain(void *arg)
{
    (void)arg;
}

static void stream_gone(void *arg)
{
    struct rig *r = arg;

    r->gone++;
    r->stream = NULL;
}

static const struct http_stream_ops stream_ops = {stream_drain, stream_gone};

static void on_stream(struct http_request *rq)
{
    struct rig *r = http_context(rq);
    struct http_stream *st = http_stream_start(rq, 200, "text/plain", &stream_ops, r);

    EXPECT(http_stream_ready(st));
    http_stream_write(st, &(struct iovec){(void *)(uintptr_t) "one ", 4}, 1);
    http_stream_write(
        st, (struct iovec[]){{(void *)(uintptr_t) "t", 1}, {(void *)(uintptr_t) "wo", 2}}, 2);
    http_stream_end(st);
}

static void on_endless(struct http_request *rq)
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
    {HTTP_POST_M, "/refuse", on_refuse_upload, ROLE_OWN, ROUTE_STREAM_BODY, 1 << 30, NULL},
    {HTTP_GET_M, "/stream", on_stream, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/endless", on_endless, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/ws", on_hello, ROLE_OWN, ROUTE_UPGRADE, 0, NULL},
};

#define H "Host: localhost\r\n"
#define A H RIG_AUTH
#define C A "Connection: close\r\n"

static void run(void (*client)(struct rig *r))
{
    struct rig r;

    rig_setup(&r, routes, sizeof routes / sizeof *routes);
    rig_run(&r, client);
}

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

/* --- refusals --------------------------------------------------------------------------------- */

static void client_refusals(struct rig *r)
{
    char *answer;

    EXPECT_ANSWER(r, "GET /nothing HTTP/1.1\r\n" C "\r\n", 404, "not_found");
    EXPECT_ANSWER(r, "GET /nothing HTTP/1.1\r\n" H "Connection: close\r\n\r\n", 401,
                  "unauthorized");
    EXPECT_ANSWER(r, "GET /hello HTTP/1.1\r\n" H "Connection: close\r\n\r\n", 401, "unauthorized");
    EXPECT_ANSWER(r, "GET /public HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 200,
                  "hello");
    EXPECT_ANSWER(
        r, "GET /hello HTTP/1.1\r\nHost: evil.example\r\n" RIG_AUTH "Connection: close\r\n\r\n",
        403, "host_refused");
    EXPECT_ANSWER(
        r, "POST /echo HTTP/1.1\r\n" C "Origin: https://evil.example\r\nContent-Length: 0\r\n\r\n",
        403, "origin_refused");
    EXPECT_ANSWER(r,
                  "POST /items/a HTTP/1.1\r\n" H "Authorization: Bearer " RIG_WATCH
                  "\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
                  403, "forbidden");
    EXPECT_ANSWER(r, "GET /items/a?nope=1 HTTP/1.1\r\n" C "\r\n", 400, "bad_query");
    EXPECT_ANSWER(r, "GET /items/a?q=1&q=2 HTTP/1.1\r\n" C "\r\n", 400, "bad_query");
    EXPECT_ANSWER(r, "GET /items/a?q=%zz HTTP/1.1\r\n" C "\r\n", 400, "bad_query");
    EXPECT_ANSWER(r, "GET /items/%00 HTTP/1.1\r\n" C "\r\n", 400, "bad_path");
    EXPECT_ANSWER(r, "GET /items/.. HTTP/1.1\r\n" C "\r\n", 400, "bad_path");
    EXPECT_ANSWER(r, "GET /items/%2e%2e HTTP/1.1\r\n" C "\r\n", 400, "bad_path");
    EXPECT_ANSWER(r, "GET /items//a HTTP/1.1\r\n" C "\r\n", 404, "not_found");
    EXPECT_ANSWER(r, "GET /ws HTTP/1.1\r\n" C "\r\n", 426, "upgrade_required");
    EXPECT_ANSWER(r, "POST /nobody HTTP/1.1\r\n" C "Content-Length: 1\r\n\r\nx", 400,
                  "bad_request");
    EXPECT_ANSWER(r, "POST /echo HTTP/1.1\r\n" C "Content-Length: 101\r\n\r\n", 413,
                  "body_too_large");
    EXPECT_ANSWER(r, "GET /hello HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "bad_request");
    EXPECT_ANSWER(r, "GET /hello HTTP/1.1\r\n\r\n", 400, "bad_request");
    EXPECT_ANSWER(r, "GET /hello HTTP/2.0\r\n\r\n", 505, "http_version_not_supported");
    EXPECT_ANSWER(r, "CONNECT a:1 HTTP/1.1\r\n" A "\r\n", 501, "not_implemented");
    EXPECT_ANSWER(r, "POST /echo HTTP/1.1\r\n" A "Transfer-Encoding: gzip, chunked\r\n\r\n", 501,
                  "not_implemented");
    answer = rig_ask(r, "PATCH /items/a HTTP/1.1\r\n" C "\r\n");
    EXPECT(strncmp(answer, "HTTP/1.1 405 ", 13) == 0);
    EXPECT(strstr(answer, "\r\nAllow: GET, HEAD, POST, DELETE, OPTIONS\r\n") != NULL);
    free(answer);
    answer = rig_ask(r, "OPTIONS /items/a HTTP/1.1\r\n" C "\r\n");
    EXPECT(strncmp(answer, "HTTP/1.1 204 ", 13) == 0);
    EXPECT(strstr(answer, "\r\nAllow: GET, HEAD, POST, DELETE, OPTIONS\r\n") != NULL);
    free(answer);
    answer = rig_ask(r, "GET /hello HTTP/1.1\r\n" H "Connection: close\r\n\r\n");
    EXPECT(strstr(answer, "\r\nWWW-Authenticate: Bearer\r\n") != NULL);
    free(answer);
}

TEST(what_is_not_allowed_has_its_own_answer)
{
    run(client_refusals);
}

static void client_limits(struct rig *r)
{
    struct buf b = {0};

    buf_puts(&b, "GET /");
    for (int i = 0; i < 17000; i++)
        buf_putc(&b, 'a');
    buf_puts(&b, " HTTP/1.1\r\n" C "\r\n");
    EXPECT_ANSWER(r, buf_cstr(&b), 414, "uri_too_long");
    buf_clear(&b);
    buf_puts(&b, "GET /hello HTTP/1.1\r\n" C);
    for (int i = 0; i < 100; i++)
        buf_printf(&b, "X-%d: y\r\n", i);
    buf_puts(&b, "\r\n");
    EXPECT_ANSWER(r, buf_cstr(&b), 431, "headers_too_large");
    buf_clear(&b);
    buf_puts(&b, "GET /hello HTTP/1.1\r\n" C "X: ");
    for (int i = 0; i < 40000; i++)
        buf_putc(&b, 'a');
    buf_puts(&b, "\r\n\r\n");
    EXPECT_ANSWER(r, buf_cstr(&b), 431, "headers_too_large");
    buf_clear(&b);
    buf_puts(&b, "POST /echo HTTP/1.1\r\n" C "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 101; i++)
        buf_puts(&b, "1\r\nx\r\n");
    EXPECT_ANSWER(r, buf_cstr(&b), 413, "body_too_large");
    buf_fini(&b);
}

TEST(what_a_peer_may_make_us_hold_is_bounded)
{
    run(client_limits);
}

static void client_cors(struct rig *r)
{
    char *answer =
        rig_ask(r, "OPTIONS /echo HTTP/1.1\r\n" H "Connection: close\r\n"
                   "Origin: https://friend.example\r\nAccess-Control-Request-Method: PUT\r\n"
                   "Access-Control-Request-Headers: authorization\r\n\r\n");

    EXPECT(strncmp(answer, "HTTP/1.1 204 ", 13) == 0);
    EXPECT(strstr(answer, "\r\nAccess-Control-Allow-Origin: https://friend.example\r\n") != NULL);
    EXPECT(strstr(answer, "\r\nAccess-Control-Allow-Methods: POST, PUT\r\n") != NULL);
    EXPECT(strstr(answer, "\r\nAccess-Control-Allow-Headers: authorization\r\n") != NULL);
    free(answer);
    EXPECT_ANSWER(r,
                  "OPTIONS /echo HTTP/1.1\r\n" H "Connection: close\r\n"
                  "Origin: https://evil.example\r\nAccess-Control-Request-Method: PUT\r\n\r\n",
                  403, "origin_refused");
    answer = rig_ask(r, "GET /hello HTTP/1.1\r\n" C "Origin: https://friend.example\r\n\r\n");
    EXPECT(strstr(answer, "\r\nAccess-Control-Allow-Origin: https://friend.example\r\n") != NULL);
    free(answer);
    answer = rig_ask(r, "GET /hello HTTP/1.1\r\n" C "Origin: https://evil.example\r\n\r\n");
    EXPECT(strncmp(answer, "HTTP/1.1 200 ", 13) == 0);
    EXPECT(strstr(answer, "Access-Control") == NULL);
    free(answer);
}

TEST(only_listed_origins_get_cors)
{
    run(client_cors);
}

/* --- time and numbers --------------------------------------------------------------------------- */

static void client_slow(struct rig *r)
{
    int fd = rig_connect(r);
    char *answer;

    rig_puts(fd, "GET /hello HT");
    answer = rig_read_all(fd);
    EXPECT(strncmp(answer, "HTTP/1.1 408 ", 13) == 0);
    free(answer);
    close(fd);
    fd = rig_connect(r);
    rig_puts(fd, "POST /echo HTTP/1.1\r\n" A "Content-Length: 5\r\n\r\nab");
    answer = rig_read_all(fd);
    EXPECT(strncmp(answer, "HTTP/1.1 408 ", 13) == 0);
    free(answer);
    close(fd);
    fd = rig_connect(r);
    answer = rig_read_all(fd);
    EXPECT_STR(answer, "");
    free(answer);
    close(fd);
}

TEST(slow_requests_are_given_up)
{
    struct rig r;

    rig_setup(&r, routes, sizeof routes / sizeof *routes);
    r.options.head_ms = r.options.body_ms = r.options.keepalive_ms = 50;
    rig_run(&r, client_slow);
}

/* Asked again until the server has so many connections, the asker's own included. */
static void expect_connections(struct rig *r, int count)
{
    char want[16], *answer = NULL;

    snprintf(want, sizeof want, "\r\n\r\n%d", count);
    for (int i = 0; i < 5000; i++) {
        free(answer);
        answer = rig_ask(r, "GET /connections HTTP/1.1\r\n" C "\r\n");
        if (strstr(answer, want) != NULL)
            break;
        usleep(1000);
    }
    EXPECT(strstr(answer, want) != NULL);
    free(answer);
}

/* What one peer does not read may not be held for ever. */
static void client_stall(struct rig *r)
{
    size_t len = 6 << 20, got = 0;
    char *bytes = calloc(1, len);
    int fd = rig_connect(r);
    ssize_t n;

    rig_puts(fd, "POST /big HTTP/1.1\r\n" A "Content-Length: 6291456\r\n\r\n");
    rig_send(fd, bytes, len);
    free(rig_read_until(fd, "\r\n\r\n")); /* the answer is on its way, and stays there */
    expect_connections(r, 1);
    while ((n = recv(fd, bytes, len, 0)) > 0)
        got += (size_t)n;
    EXPECT(n == 0 || errno == ECONNRESET);
    EXPECT(got < len);
    free(bytes);
    close(fd);
}

TEST(a_peer_that_does_not_take_its_answer_is_cut)
{
    struct rig r;

    rig_setup(&r, routes, sizeof routes / sizeof *routes);
    EXPECT_U64(r.options.stall_ms, LIMIT_STALL_MS);
    r.options.stall_ms = 50;
    rig_run(&r, client_stall);
}

static void client_crowd(struct rig *r)
{
    int first = rig_connect(r), second = rig_connect(r);

    rig_puts(first, "GET /hello HTTP/1.1\r\n" A "\r\n");
    free(rig_read_until(first, "hello"));
    rig_puts(second, "GET /hello HTTP/1.1\r\n" A "\r\n");
    free(rig_read_until(second, "hello"));
    EXPECT_ANSWER(r, "GET /hello HTTP/1.1\r\n" A "\r\n", 429, "too_many_connections");
    close(second);
    for (int i = 0; i < 1000; i++) {
        char *answer = rig_ask(r, "GET /hello HTTP/1.1\r\n" C "\r\n");
        bool ok = strstr(answer, "\r\n\r\nhello") != NULL;

        free(answer);
        if (ok) {
            close(first);
            return;
        }
    }
    EXPECT(!"room again");
}

TEST(connections_beyond_the_limit_are_told_so)
{
    struct rig r;

    rig_setup(&r, routes, sizeof routes / sizeof *routes);
    r.options.max_connections = 2;
    rig_run(&r, client_crowd);
}

/*
 * Out of descriptors, the server must neither spin nor forget: the connection in the
 * backlog is served as soon as there is room.
 */
static void client_starved(struct rig *r)
{
    int fillers[64], n = 0, fd;
    char *answer;

    while (n < 64 && (fillers[n] = dup(r->listener.fd)) >= 0)
        n++;
    REQUIRE(n > 1 && n < 64);
    close(fillers[--n]);
    fd = rig_connect(r); /* takes the last one: the server gets none */
    rig_puts(fd, "GET /hello HTTP/1.1\r\n" A "\r\n");
    EXPECT_INT(poll(&(struct pollfd){fd, POLLIN, 0}, 1, 150), 0);
    while (n > 0)
        close(fillers[--n]);
    answer = rig_read_until(fd, "hello");
    EXPECT(strstr(answer, "hello") != NULL);
    free(answer);
    close(fd);
}

TEST(a_server_out_of_descriptors_recovers)
{
    struct rlimit limit;
    struct rig r;

    rig_setup(&r, routes, sizeof routes / sizeof *routes);
    REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = (rlim_t)test_count_fds() + 20;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    rig_run(&r, client_starved);
}

/* --- the end ---------------------------------------------------------------------------------------- */

static void client_nothing(struct rig *r)
{
    (void)r;
}

TEST(a_server_without_connections_frees_cleanly)
{
    run(client_nothing);
}

static void client_leaves_open(struct rig *r)
{
    static const char *const requests[] = {
        "",
        "GET /hel",
        "POST /echo HTTP/1.1\r\n" A "Content-Length: 9\r\n\r\nab",
        "POST /upload HTTP/1.1\r\n" A "Content-Length: 9\r\n\r\nab",
        "GET /wait HTTP/1.1\r\n" A "\r\nGET /hello HTTP/1.1\r\n",
        "GET /endless HTTP/1.1\r\n" A "\r\n",
    };

    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        rig_puts(r->open[i] = rig_connect(r), requests[i]);
    EXPECT_ANSWER(r, "GET /gone HTTP/1.1\r\n" C "\r\n", 200, "0");
}

/* Whatever state the connections are in, nothing is left and every owner is told. */
TEST(freeing_the_server_ends_everything)
{
    struct rig r;

    rig_setup(&r, routes, sizeof routes / sizeof *routes);
    rig_run(&r, client_leaves_open);
    EXPECT_INT(r.gone, 2);
    for (int i = 0; i < 6; i++)
        close(r.open[i]);
}

/* --- draining ---------------------------------------------------------------------------------------- */

static void drained(void *arg)
{
    struct rig *r = arg;

    r->drained++;
}

static void on_drain(struct http_request *rq)
{
    struct rig *r = http_context(rq);

    http_server_drain(r->server, 5000, drained, r);
    http_reply(rq, 200, "text/plain", "draining", 8);
}

static void client_drain(struct rig *r)
{
    int idle = rig_connect(r), busy = rig_connect(r);
    char *answer;

    rig_puts(idle, "GET /hello HTTP/1.1\r\n" A "\r\n");
    free(rig_read_until(idle, "hello"));
    rig_puts(busy, "GET /wait HTTP/1.1\r\n" A "\r\n");
    EXPECT_ANSWER(r, "GET /gone HTTP/1.1\r\n" C "\r\n", 200, "0");
    EXPECT_ANSWER(r, "GET /drain HTTP/1.1\r\n" A "\r\n", 200, "draining");
    answer = rig_read_all(idle);
    EXPECT_STR(answer, "");
    free(answer);
    close(idle);
    close(busy);
}

TEST(draining_closes_idle_connections_and_waits_for_busy_ones)
{
    struct route with_drain[sizeof routes / sizeof *routes + 1];
    struct rig r;

    memcpy(with_drain, routes, sizeof routes);
    with_drain[sizeof routes / sizeof *routes] =
        (struct route){HTTP_GET_M, "/drain", on_drain, ROLE_OWN, 0, 0, NULL};
    rig_setup(&r, with_drain, sizeof with_drain / sizeof *with_drain);
    rig_run(&r, client_drain);
}

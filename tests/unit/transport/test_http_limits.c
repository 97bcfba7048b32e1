/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_http_limits.c - what a server refuses, gives up and ends, over a real loopback socket
 */
#include "http_site.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <time.h>

#include "base/limits.h"

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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_next_turn.c - handlers that take long, many of them in one turn, and those that are called again
 */
#include <stdatomic.h>

#include "base/clock.h"
#include "base/limits.h"
#include "http_rig.h"

#define A "Host: 127.0.0.1\r\n" RIG_AUTH
#define SLOW_NS 2000000
#define MANY 30

static atomic_bool asked;     /* the probe is in the socket */
static atomic_bool gate_shut; /* the loop waits for it */
static uint64_t came_by_gate; /* requests, that to the gate among them */
static int slow_count;
static bool is_cut;       /* everything that the token of the tests let in was cut */
static int run_after_cut; /* handlers that were called nevertheless */

static void on_slow(struct http_request *rq)
{
    uint64_t end = clock_mono_ns() + SLOW_NS;

    while (clock_mono_ns() < end)
        ;
    slow_count++;
    http_reply(rq, 200, "text/plain", "slow", 4);
}

static uint64_t count_requests(void)
{
    struct http_stats stats;

    http_server_stats(rig_now->server, &stats);
    return stats.requests_total;
}

/* Keeps the loop busy until somebody else has sent a request. */
static void on_gate(struct http_request *rq)
{
    came_by_gate = count_requests();
    atomic_store(&gate_shut, true);
    while (!atomic_load(&asked))
        ;
    http_reply(rq, 200, "text/plain", "gate", 4);
}

static void on_probe(struct http_request *rq)
{
    char text[16];
    int n = snprintf(text, sizeof text, "<%d>", slow_count);

    http_reply(rq, 200, "text/plain", text, (size_t)n);
}

/* Comes to its end at the third call. */
static void on_again(struct http_request *rq)
{
    int *calls = http_keep(rq, sizeof *calls);

    if (++*calls < 3)
        http_call_again(rq);
    else
        http_reply(rq, 200, "text/plain", "third", 5);
}

static void on_endless(struct http_request *rq)
{
    http_keep(rq, 1);
    http_call_again(rq);
}

/* Whoever asks after it is behind a turn that has taken too long. */
static void on_late(struct http_request *rq)
{
    uint64_t end = clock_mono_ns() + (TURN_LONG_MS + 1) * 1000000ULL;

    while (clock_mono_ns() < end)
        ;
    http_reply(rq, 200, "text/plain", "late", 4);
}

/* When all three of client_cut() have come: one that comes later is not cut. */
static void on_cut(struct http_request *rq)
{
    if (count_requests() < came_by_gate + 3) {
        http_call_again(rq);
        return;
    }
    is_cut = true;
    http_server_cut_token(rig_now->server, http_token(rq));
    http_reply(rq, 200, "text/plain", "cut", 3);
}

static void on_run(struct http_request *rq)
{
    run_after_cut += is_cut;
    http_reply(rq, 200, "text/plain", "run", 3);
}

/* What is held for those with a credential; whoever asks has none. */
static void on_held(struct http_request *rq)
{
    struct http_stats stats;
    char text[32];
    int n;

    http_server_stats(rig_now->server, &stats);
    n = snprintf(text, sizeof text, "<%llu>", (unsigned long long)stats.held_own);
    http_reply(rq, 200, "text/plain", text, (size_t)n);
}

static const struct route routes[] = {
    {HTTP_GET_M, "/late", on_late, ROLE_WATCH, 0, 0, NULL},
    {HTTP_GET_M, "/cut", on_cut, ROLE_WATCH, 0, 0, NULL},
    {HTTP_GET_M, "/run", on_run, ROLE_WATCH, 0, 0, NULL},
    {HTTP_GET_M, "/held", on_held, ROLE_NONE, ROUTE_PUBLIC, 0, NULL},
    {HTTP_GET_M, "/slow", on_slow, ROLE_WATCH, 0, 0, NULL},
    {HTTP_GET_M, "/gate", on_gate, ROLE_WATCH, 0, 0, NULL},
    {HTTP_GET_M, "/again", on_again, ROLE_WATCH, 0, 0, NULL},
    {HTTP_GET_M, "/endless", on_endless, ROLE_WATCH, 0, 0, NULL},
    {HTTP_GET_M, "/probe", on_probe, ROLE_NONE, ROUTE_PUBLIC, 0, NULL},
};

static void run(void (*client)(struct rig *r))
{
    struct rig r;

    slow_count = run_after_cut = 0;
    is_cut = false;
    atomic_store(&asked, false);
    atomic_store(&gate_shut, false);
    rig_setup(&r, routes, sizeof routes / sizeof *routes);
    rig_run(&r, client);
}

/* A gate, and then more than a turn may take. */
static int send_many(struct rig *r)
{
    int fd = rig_connect(r);
    struct buf b = {0};

    buf_puts(&b, "GET /gate HTTP/1.1\r\n" A "\r\n");
    for (int i = 0; i < MANY - 1; i++)
        buf_puts(&b, "GET /slow HTTP/1.1\r\n" A "\r\n");
    buf_puts(&b, "GET /slow HTTP/1.1\r\n" A "Connection: close\r\n\r\n");
    rig_send(fd, buf_data(&b), b.len);
    buf_fini(&b);
    return fd;
}

static int connect_prober(struct rig *r)
{
    int fd = rig_connect(r);

    rig_puts(fd, "GET /probe HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    free(rig_read_until(fd, "<0>"));
    return fd;
}

/* The number of slow ones that were served before the probe. */
static int ask_probe(int fd)
{
    char *answer;
    int count;

    rig_puts(fd, "GET /probe HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    atomic_store(&asked, true);
    answer = rig_read_until(fd, ">");
    count = atoi(strchr(answer, '<') != NULL ? strchr(answer, '<') + 1 : "99");
    free(answer);
    return count;
}

static void client_many(struct rig *r)
{
    int prober = connect_prober(r), many = send_many(r), count = 0;
    char *answer;

    EXPECT(ask_probe(prober) < MANY);
    answer = rig_read_all(many);
    for (const char *p = answer; (p = strstr(p, "\r\n\r\nslow")) != NULL; p++)
        count++;
    EXPECT_INT(count, MANY);
    free(answer);
    close(many);
    close(prober);
}

TEST(a_probe_is_answered_before_all_that_one_client_asks_for)
{
    run(client_many);
}

static void client_leaves(struct rig *r)
{
    int prober = connect_prober(r), many = send_many(r), other = send_many(r);

    ask_probe(prober);
    close(many);
    close(other);
    EXPECT(ask_probe(prober) < 2 * MANY);
    close(prober);
}

TEST(requests_in_line_go_with_their_client)
{
    run(client_leaves);
}

static void client_again(struct rig *r)
{
    EXPECT_ANSWER(r, "GET /again HTTP/1.1\r\n" A "Connection: close\r\n\r\n", 200, "third");
}

TEST(a_handler_may_be_called_again)
{
    run(client_again);
}

static void client_endless(struct rig *r)
{
    int fd = rig_connect(r), other = rig_connect(r), prober = connect_prober(r);

    rig_puts(fd, "GET /endless HTTP/1.1\r\n" A "\r\n");
    rig_puts(other, "GET /endless HTTP/1.1\r\n" A "\r\n");
    ask_probe(prober);
    close(fd); /* the other one goes with the server */
    ask_probe(prober);
    close(prober);
    close(other);
}

TEST(and_is_not_any_more_when_its_client_is_gone)
{
    run(client_endless);
}

/* --- what is held of them ------------------------------------------------------------- */

static bool holds_something(int prober)
{
    char *answer;
    bool some;

    rig_puts(prober, "GET /held HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    answer = rig_read_until(prober, ">");
    some = strstr(answer, "<0>") == NULL;
    free(answer);
    return some;
}

static void wait_until_held(int prober, bool something)
{
    uint64_t end = clock_mono_ms() + 10000;

    while (holds_something(prober) != something && clock_mono_ms() < end)
        ;
    EXPECT_INT(holds_something(prober), something);
}

static void client_endless_held(struct rig *r)
{
    int prober = connect_prober(r), fd = rig_connect(r);

    rig_puts(fd, "GET /endless HTTP/1.1\r\n" A "\r\n");
    wait_until_held(prober, true);
    close(fd);
    wait_until_held(prober, false);
    close(prober);
}

TEST(and_nothing_is_held_of_it_then)
{
    run(client_endless_held);
}

/* All of it in one turn, as the loop is busy until it is sent: two are in line when the first of them
 * ends the other's connection. */
static void client_cut(struct rig *r)
{
    int prober = connect_prober(r), gate = rig_connect(r), late = rig_connect(r);
    int endless = rig_connect(r), cut = rig_connect(r), cut_off = rig_connect(r);

    rig_puts(endless, "GET /endless HTTP/1.1\r\n" A "\r\n");
    wait_until_held(prober, true);
    rig_puts(gate, "GET /gate HTTP/1.1\r\n" A "\r\n");
    while (!atomic_load(&gate_shut))
        ;
    rig_puts(late, "GET /late HTTP/1.1\r\n" A "\r\n");
    rig_puts(cut, "GET /cut HTTP/1.1\r\n" A "\r\n");
    rig_puts(cut_off, "GET /run HTTP/1.1\r\n" A "Connection: close\r\n\r\n");
    atomic_store(&asked, true);
    free(rig_read_all(cut_off));
    wait_until_held(prober, false);
    EXPECT(is_cut);
    EXPECT_INT(run_after_cut, 0);
    for (size_t i = 0; i < 6; i++)
        close((int[]){prober, gate, late, endless, cut, cut_off}[i]);
}

TEST(a_request_in_line_is_not_handled_when_its_connection_was_cut)
{
    run(client_cut);
}

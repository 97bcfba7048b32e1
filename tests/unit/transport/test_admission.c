/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_admission.c - which peers stay when connections or memory run short
 */
#include "http_site.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>

#include "base/limits.h"

#define TYPE_TOKEN "0123456789abcdef-type"
#define WATCH H "Authorization: Bearer " RIG_WATCH "\r\n"
#define TYPE H "Authorization: Bearer " TYPE_TOKEN "\r\n"

/* "CONNECTIONS EVICTED HELD_NONE HELD_WEAK HELD_OWN OVERLOADED", with the request's own head. */
static void on_stats(struct http_request *rq)
{
    struct rig *r = http_context(rq);
    struct http_stats s;
    char text[128];
    int n;

    http_server_stats(r->server, &s);
    n = snprintf(text, sizeof text, "%d %d %d %d %d %d end", (int)s.connections,
                 (int)s.connections_evicted_total, (int)s.held_untrusted, (int)s.held_weak,
                 (int)s.held_own, (int)s.overloaded_total);
    http_reply(rq, 200, "text/plain", text, (size_t)n);
}

static void on_length(struct http_request *rq)
{
    char text[16];
    size_t len;
    int n;

    http_body(rq, &len);
    n = snprintf(text, sizeof text, "%zu", len);
    http_reply(rq, 200, "text/plain", text, (size_t)n);
}

static const struct route places[] = {
    {HTTP_GET_M, "/hello", on_hello, ROLE_WATCH, 0, 0, NULL},
    {HTTP_GET_M, "/endless", on_endless, ROLE_WATCH, 0, 0, NULL},
    {HTTP_GET_M, "/long", on_long, ROLE_WATCH, 0, 0, NULL},
    {HTTP_GET_M, "/health", on_hello, ROLE_NONE, ROUTE_PUBLIC | ROUTE_PROBE, 0, NULL},
    {HTTP_GET_M, "/page", on_hello, ROLE_NONE, ROUTE_PUBLIC, 0, NULL},
    {HTTP_GET_M, "/page/long", on_long, ROLE_NONE, ROUTE_PUBLIC, 0, NULL},
    {HTTP_GET_M, "/stats", on_stats, ROLE_OWN, 0, 0, NULL},
    {HTTP_POST_M, "/public", on_length, ROLE_NONE, ROUTE_PUBLIC, 0, NULL},
    {HTTP_POST_M, "/watch", on_length, ROLE_WATCH, 0, 4 << 20, NULL},
    {HTTP_POST_M, "/upload", on_upload, ROLE_WATCH, ROUTE_STREAM_BODY, 1 << 30, NULL},
};

static void setup(struct rig *r)
{
    rig_setup(r, places, sizeof places / sizeof *places);
    REQUIRE(auth_add_token(r->auth, TYPE_TOKEN, strlen(TYPE_TOKEN), ROLE_TYPE) == 0);
}

struct numbers {
    int connections, evicted, held_none, held_weak, held_own, overloaded;
};

static struct numbers read_numbers(int fd)
{
    struct numbers n = {0};
    char *answer = rig_read_until(fd, "end");
    const char *text = strstr(answer, "\r\n\r\n");

    REQUIRE(text != NULL);
    EXPECT_INT(sscanf(text, "%d %d %d %d %d %d", &n.connections, &n.evicted, &n.held_none,
                      &n.held_weak, &n.held_own, &n.overloaded),
               6);
    free(answer);
    return n;
}

static struct numbers ask_numbers(struct rig *r)
{
    int fd = rig_connect(r);
    struct numbers n;

    rig_puts(fd, "GET /stats HTTP/1.1\r\n" C "\r\n");
    n = read_numbers(fd);
    close(fd);
    return n;
}

/* Until there are so many connections; asked on one of them, as a new one could displace others. */
static void wait_connections(int fd, int count)
{
    do
        rig_puts(fd, "GET /stats HTTP/1.1\r\n" A "\r\n");
    while (read_numbers(fd).connections != count);
}

/* Served, and still open. */
static int served(struct rig *r, const char *request)
{
    int fd = rig_connect(r);

    rig_puts(fd, request);
    free(rig_read_until(fd, "hello"));
    return fd;
}

static bool is_open(int fd)
{
    char c;
    ssize_t n = recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT);

    return n < 0 && errno == EAGAIN;
}

static void expect_end(int fd)
{
    char *rest = rig_read_all(fd);

    EXPECT(strstr(rest, "<no end>") == NULL || errno == ECONNRESET);
    free(rest);
    close(fd);
}

/* --- time --------------------------------------------------------------------------------- */

static void client_silent(struct rig *r)
{
    int silent = rig_connect(r), kept = served(r, "GET /hello HTTP/1.1\r\n" A "\r\n");

    expect_end(silent);
    EXPECT(is_open(kept)); /* between two requests there is more time */
    close(kept);
}

TEST(a_peer_that_says_nothing_has_the_time_of_a_head_from_its_accept)
{
    struct rig r;

    setup(&r);
    r.options.head_ms = 50;
    rig_run(&r, client_silent);
}

/* --- connections -------------------------------------------------------------------------- */

/* With a limit of 8, one place is for the role own: 7 for all. */
static void client_flood(struct rig *r)
{
    int known = served(r, "GET /hello HTTP/1.1\r\n" WATCH "\r\n");
    int known_by_page = served(r, "GET /page HTTP/1.1\r\n" WATCH "\r\n");
    int unknown = served(r, "GET /page HTTP/1.1\r\n" H "\r\n");
    int viewer = rig_connect(r), silent[20];

    rig_puts(viewer, "GET /endless HTTP/1.1\r\n" WATCH "\r\n");
    free(rig_read_until(viewer, "\r\n\r\n"));
    for (int i = 0; i < 20; i++)
        silent[i] = rig_connect(r);
    EXPECT_ANSWER(r, "GET /health HTTP/1.1\r\n" H "Connection: close\r\n\r\n", 200, "hello");
    EXPECT_ANSWER(r, "GET /hello HTTP/1.1\r\n" WATCH "Connection: close\r\n\r\n", 200, "hello");
    EXPECT(is_open(known) && is_open(known_by_page));
    expect_end(unknown);
    for (int i = 0; i < 14; i++)
        expect_end(silent[i]); /* the oldest go */
    EXPECT(ask_numbers(r).evicted >= 15);
    rig_puts(known, "GET /hello HTTP/1.1\r\n" A "\r\n");
    free(rig_read_until(known, "hello"));
    for (int i = 14; i < 20; i++)
        close(silent[i]);
    EXPECT(is_open(viewer));
    close(viewer);
    close(known);
    close(known_by_page);
}

TEST(silent_peers_make_room_for_others_and_known_ones_stay)
{
    struct rig r;

    setup(&r);
    r.options.max_connections = 8;
    rig_run(&r, client_flood);
}

static void client_watchers(struct rig *r)
{
    int watchers[7], owner;

    for (int i = 0; i < 7; i++)
        watchers[i] = served(r, "GET /hello HTTP/1.1\r\n" WATCH "\r\n");
    EXPECT_ANSWER(r, "GET /hello HTTP/1.1\r\n" WATCH "\r\n", 429, "too_many_connections");
    EXPECT_ANSWER(r, "GET /page HTTP/1.1\r\n" H "\r\n", 429, "too_many_connections");
    EXPECT_ANSWER(r, "GET /health HTTP/1.1\r\n" H "\r\n", 200, "hello"); /* and closed */
    owner = served(r, "GET /hello HTTP/1.1\r\n" A "\r\n");
    EXPECT_ANSWER(r, "GET /hello HTTP/1.1\r\n" A "\r\n", 429, "too_many_connections");
    EXPECT_ANSWER(r, "GET /health HTTP/1.1\r\n" H "\r\n", 200, "hello");
    close(owner);
    for (int i = 0; i < 7; i++) {
        EXPECT(is_open(watchers[i]));
        close(watchers[i]);
    }
}

TEST(weak_roles_cannot_lock_out_the_owner_nor_a_probe)
{
    struct rig r;

    setup(&r);
    r.options.max_connections = 8;
    rig_run(&r, client_watchers);
}

/* Room that has come meanwhile counts. */
static void client_patient(struct rig *r)
{
    int owner = served(r, "GET /hello HTTP/1.1\r\n" A "\r\n"), watchers[6], late;

    for (int i = 0; i < 6; i++)
        watchers[i] = served(r, "GET /hello HTTP/1.1\r\n" WATCH "\r\n");
    late = rig_connect(r);
    wait_connections(owner, 8); /* it was accepted, but there is no room for its role */
    for (int i = 0; i < 6; i++)
        close(watchers[i]);
    wait_connections(owner, 2);
    close(owner);
    rig_puts(late, "GET /hello HTTP/1.1\r\n" WATCH "Connection: close\r\n\r\n");
    free(rig_read_until(late, "hello"));
    expect_end(late);
}

TEST(one_that_came_too_early_is_served_when_there_is_room)
{
    struct rig r;

    setup(&r);
    r.options.max_connections = 8;
    rig_run(&r, client_patient);
}

static int connect_from(struct rig *r, uint32_t address)
{
    struct sockaddr_in to = {0}, from = {.sin_family = AF_INET, .sin_addr = {htonl(address)}};
    struct timeval limit = {.tv_sec = 10};
    socklen_t len = sizeof to;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    REQUIRE(getsockname(r->listener.fd, (struct sockaddr *)&to, &len) == 0);
    REQUIRE(bind(fd, (struct sockaddr *)&from, sizeof from) == 0);
    REQUIRE(connect(fd, (struct sockaddr *)&to, len) == 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return fd;
}

static void client_neighbours(struct rig *r)
{
    int quiet = connect_from(r, 0x7f000002), flood[20];

    for (int i = 0; i < 20; i++)
        flood[i] = connect_from(r, 0x7f000003);
    for (int i = 0; i < 14; i++)
        expect_end(flood[i]);
    EXPECT(is_open(quiet)); /* though it is the oldest of all */
    close(quiet);
    for (int i = 14; i < 20; i++)
        close(flood[i]);
}

TEST(a_flood_from_one_address_closes_its_own_connections)
{
    struct rig r;

    setup(&r);
    r.options.max_connections = 8;
    rig_run(&r, client_neighbours);
}

/* --- descriptors -------------------------------------------------------------------------- */

/* The server has no descriptor left; the silent one's is used for the next. */
static void client_starved(struct rig *r)
{
    int silent = rig_connect(r), fillers[64], n = 0, fd;

    while (ask_numbers(r).connections < 2)
        usleep(1000);
    while (n < 64 && (fillers[n] = dup(r->listener.fd)) >= 0)
        n++;
    REQUIRE(n > 1 && n < 64);
    close(fillers[--n]);
    fd = rig_connect(r);
    rig_puts(fd, "GET /hello HTTP/1.1\r\n" A "\r\n");
    free(rig_read_until(fd, "hello"));
    expect_end(silent);
    close(fd);
    while (n > 0)
        close(fillers[--n]);
}

TEST(out_of_descriptors_a_silent_peer_makes_room)
{
    struct rlimit limit;
    struct rig r;

    setup(&r);
    REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = (rlim_t)test_count_fds() + 20;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    rig_run(&r, client_starved);
}

TEST(the_limit_of_connections_fits_the_limit_of_descriptors)
{
    struct rlimit limit = {.rlim_cur = 200};
    struct rlimit before;
    struct http_options o;

    http_options_default(&o);
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    limit.rlim_max = before.rlim_max;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    http_options_fit(&o);
    EXPECT_U64(o.max_connections, 200 / LIMIT_DESCRIPTOR_PART);
    o.max_connections = 10;
    http_options_fit(&o);
    EXPECT_U64(o.max_connections, 10);
}

/* --- memory ------------------------------------------------------------------------------- */

static void put_padding(int fd, size_t len)
{
    struct buf b = {0};

    while (b.len < len)
        buf_puts(&b, "0123456789abcdef0123456789abcdef");
    rig_send(fd, buf_data(&b), len);
    buf_fini(&b);
}

/* Heads that never end: the first is the largest and goes, most of the others stay. */
static void client_heads(struct rig *r)
{
    int large = rig_connect(r), small[6], answered = 0;

    rig_puts(large, "GET /page HTTP/1.1\r\nX: ");
    put_padding(large, 20000);
    while (ask_numbers(r).held_none < 20000)
        usleep(1000);
    for (int i = 0; i < 6; i++) {
        small[i] = rig_connect(r);
        rig_puts(small[i], "GET /page HTTP/1.1\r\nX: ");
        put_padding(small[i], 10000);
    }
    expect_end(large);
    for (int i = 0; i < 6; i++)
        rig_puts(small[i], "\r\n" H "Connection: close\r\n\r\n");
    for (int i = 0; i < 6; i++) {
        char *answer = rig_read_all(small[i]);

        answered += strstr(answer, "hello") != NULL;
        free(answer);
        close(small[i]);
    }
    EXPECT(answered >= 4);
    EXPECT(ask_numbers(r).overloaded >= 1);
    EXPECT_INT(ask_numbers(r).held_none, 0);
}

TEST(heads_without_end_are_bounded_for_all_together)
{
    struct rig r;

    setup(&r);
    r.options.held_untrusted_bytes = 100000;
    rig_run(&r, client_heads);
}

/* Replies that nobody reads. */
static void client_unread(struct rig *r)
{
    int unread = rig_connect(r);

    rig_puts(unread, "GET /page/long HTTP/1.1\r\n" H "\r\n");
    while (ask_numbers(r).overloaded == 0)
        usleep(1000);
    EXPECT_INT(ask_numbers(r).held_none, 0);
    close(unread);
    unread = rig_connect(r);
    rig_puts(unread, "GET /long HTTP/1.1\r\n" WATCH "\r\n");
    while (ask_numbers(r).overloaded == 1)
        usleep(1000);
    EXPECT_INT(ask_numbers(r).held_weak, 0);
    close(unread);
}

TEST(unread_replies_are_bounded_for_all_together)
{
    struct rig r;

    setup(&r);
    r.options.held_untrusted_bytes = r.options.held_weak_bytes = 1 << 20;
    rig_run(&r, client_unread);
}

/* The owner is told to come again, and nobody is closed. */
static void client_bodies(struct rig *r)
{
    int first = rig_connect(r), second = rig_connect(r);
    char *answer;

    rig_puts(first, "POST /watch HTTP/1.1\r\n" C "Content-Length: 200000\r\n\r\n");
    put_padding(first, 199999);
    while (ask_numbers(r).held_own < 199999)
        usleep(1000);
    rig_puts(second, "POST /watch HTTP/1.1\r\n" C "Content-Length: 200000\r\n\r\n");
    put_padding(second, 200000);
    answer = rig_read_all(second);
    EXPECT(strncmp(answer, "HTTP/1.1 503 ", 13) == 0);
    EXPECT(strstr(answer, "overloaded") != NULL);
    free(answer);
    rig_puts(first, "x");
    answer = rig_read_all(first);
    EXPECT(strstr(answer, "\r\n\r\n200000") != NULL);
    free(answer);
    close(first);
    close(second);
    first = rig_connect(r);
    rig_puts(first, "POST /watch HTTP/1.1\r\n" C "Content-Length: 200000\r\n\r\n");
    put_padding(first, 200000);
    answer = rig_read_all(first);
    EXPECT(strstr(answer, "\r\n\r\n200000") != NULL);
    free(answer);
    close(first);
}

TEST(the_owners_bodies_are_refused_while_too_much_is_held)
{
    struct rig r;

    setup(&r);
    EXPECT_U64(r.options.held_bytes, LIMIT_HELD_BYTES);
    EXPECT_U64(r.options.held_weak_bytes, LIMIT_HELD_WEAK_BYTES);
    EXPECT_U64(r.options.held_untrusted_bytes, LIMIT_HELD_UNTRUSTED_BYTES);
    r.options.held_bytes = 300000;
    rig_run(&r, client_bodies);
}

/* One more byte than `max`, announced and then in chunks; and `max` itself. */
static void expect_body_max(struct rig *r, const char *path, const char *who, size_t max)
{
    char head[512], *answer;
    int fd;

    snprintf(head, sizeof head,
             "POST %s HTTP/1.1\r\n%sConnection: close\r\nContent-Length: %zu\r\n\r\n", path, who,
             max + 1);
    EXPECT_ANSWER(r, head, 413, "body_too_large");
    fd = rig_connect(r);
    snprintf(head, sizeof head, "POST %s HTTP/1.1\r\n%sTransfer-Encoding: chunked\r\n\r\n%zx\r\n",
             path, who, max + 1);
    rig_puts(fd, head);
    put_padding(fd, max + 1);
    answer = rig_read_until(fd, "body_too_large");
    EXPECT(strncmp(answer, "HTTP/1.1 413 ", 13) == 0);
    free(answer);
    close(fd);
    fd = rig_connect(r);
    snprintf(head, sizeof head,
             "POST %s HTTP/1.1\r\n%sConnection: close\r\nContent-Length: %zu\r\n\r\n", path, who,
             max);
    rig_puts(fd, head);
    put_padding(fd, max);
    answer = rig_read_all(fd);
    EXPECT(strncmp(answer, "HTTP/1.1 200 ", 13) == 0);
    free(answer);
    close(fd);
}

static void client_roles(struct rig *r)
{
    expect_body_max(r, "/public", H, LIMIT_PUBLIC_BODY_BYTES);
    expect_body_max(r, "/public", A, LIMIT_JSON_BODY_BYTES);
    expect_body_max(r, "/watch", WATCH, LIMIT_WATCH_BODY_BYTES);
    expect_body_max(r, "/watch", TYPE, LIMIT_TYPE_BODY_BYTES);
    expect_body_max(r, "/watch", A, 4 << 20);
    EXPECT_ANSWER(r, /* no token: refused without waiting for the body */
                  "POST /watch HTTP/1.1\r\n" H "Connection: close\r\nContent-Length: 9\r\n\r\n",
                  401, "unauthorized");
    EXPECT_ANSWER(
        r, "POST /upload HTTP/1.1\r\n" WATCH "Connection: close\r\nContent-Length: 5\r\n\r\nabcde",
        200, "abcde");
}

TEST(who_may_do_little_may_send_little)
{
    struct rig r;

    setup(&r);
    rig_run(&r, client_roles);
}

/* --- messages ----------------------------------------------------------------------------- */

static void long_on_text(void *arg, const char *text, size_t len)
{
    struct rig *r = arg;

    (void)text;
    EXPECT(len > LIMIT_WS_TEXT_BYTES);
    ws_send_text(r->ws, "whole", 5);
}

static size_t long_on_binary(void *arg, const void *bytes, size_t len, bool last)
{
    (void)arg, (void)bytes, (void)last;
    return len;
}

static void long_on_drain(void *arg)
{
    (void)arg;
}

static void long_on_closed(void *arg, int code)
{
    (void)arg, (void)code;
}

/* Messages of up to 4 MiB, as dialects allow them for what is pasted. */
static void on_long_texts(struct http_request *rq)
{
    static const struct ws_ops ops = {
        .on_text = long_on_text,
        .on_binary = long_on_binary,
        .on_drain = long_on_drain,
        .on_closed = long_on_closed,
    };
    struct rig *r = http_context(rq);

    r->ws = ws_accept(rq, NULL, &ops, r);
    ws_allow_text(r->ws, 4 << 20);
}

static int connect_ws(struct rig *r, const char *token)
{
    int fd = rig_connect(r);
    char head[512], *answer;

    snprintf(head, sizeof head,
             "GET /ws HTTP/1.1\r\n" RIG_WS_HEAD "Authorization: Bearer %s\r\n\r\n", token);
    rig_puts(fd, head);
    answer = rig_read_until(fd, "\r\n\r\n");
    EXPECT(strncmp(answer, "HTTP/1.1 101 ", 13) == 0);
    free(answer);
    return fd;
}

/* The first part of a text, and so many more. */
static void send_parts(int fd, int count)
{
    static char part[32 * 1024];

    memset(part, 'a', sizeof part);
    for (int i = 0; i < count; i++)
        rig_ws_frame(fd, i == 0 ? 0x01 : 0x00, part, sizeof part);
}

static void client_texts(struct rig *r)
{
    int watcher = connect_ws(r, RIG_WATCH), typist = connect_ws(r, TYPE_TOKEN), first;
    size_t len;
    char *payload;

    send_parts(watcher, 3);
    payload = rig_ws_read(watcher, &first, &len);
    EXPECT_INT(first, 0x88);
    EXPECT_INT((unsigned char)payload[0] << 8 | (unsigned char)payload[1], 1009);
    free(payload);
    close(watcher);
    send_parts(typist, 4);
    rig_ws_frame(typist, 0x80, "end", 3);
    payload = rig_ws_read(typist, &first, &len);
    EXPECT_STR(payload, "whole");
    free(payload);
    send_parts(typist, 40);
    expect_end(typist);
    EXPECT_INT(ask_numbers(r).overloaded, 1);
    EXPECT_INT(ask_numbers(r).held_weak, 0);
}

TEST(messages_in_parts_are_bounded_by_role_and_for_all_together)
{
    struct route with_ws[sizeof places / sizeof *places + 1];
    struct rig r;

    memcpy(with_ws, places, sizeof places);
    with_ws[sizeof places / sizeof *places] =
        (struct route){HTTP_GET_M, "/ws", on_long_texts, ROLE_WATCH, ROUTE_UPGRADE, 0, NULL};
    rig_setup(&r, with_ws, sizeof with_ws / sizeof *with_ws);
    REQUIRE(auth_add_token(r.auth, TYPE_TOKEN, strlen(TYPE_TOKEN), ROLE_TYPE) == 0);
    r.options.held_weak_bytes = 1 << 20;
    rig_run(&r, client_texts);
}

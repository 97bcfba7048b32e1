/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_http_stream.c - answers that go on: signs of life, and events
 */
#include "transport/sse.h"

#include "http_rig.h"

#define ALIVE_MS 20

static void on_room(void *arg)
{
    (void)arg;
}

static void on_disconnect(void *arg)
{
    ((struct rig *)arg)->stream = NULL;
}

static const struct http_stream_ops ops = {on_room, on_disconnect};

static void say(struct http_stream *st, const char *text)
{
    http_stream_write(st, &(struct iovec){(void *)(uintptr_t)text, strlen(text)}, 1);
}

static void on_alive(struct http_request *rq)
{
    struct rig *r = http_context(rq);

    r->stream = http_stream_start(rq, 200, "text/plain", &ops, r);
    http_stream_keep_alive(r->stream, ".", ALIVE_MS);
}

static void on_say(struct http_request *rq)
{
    struct rig *r = http_context(rq);

    if (r->stream != NULL)
        say(r->stream, "word");
    http_reply_empty(rq, 204);
}

/* What comes now may be one thing in several pieces. */
static void on_last(struct http_request *rq)
{
    struct rig *r = http_context(rq);

    if (r->stream != NULL) {
        http_stream_keep_alive(r->stream, NULL, 0);
        say(r->stream, "last");
    }
    http_reply_empty(rq, 204);
}

static void on_end(struct http_request *rq)
{
    struct rig *r = http_context(rq);

    if (r->stream != NULL)
        http_stream_end(r->stream);
    r->stream = NULL;
    http_reply_empty(rq, 204);
}

static const char *const events[][3] = {
    {"exit", "42", "{}"},
    {NULL, NULL, "x"},
    {NULL, "7", ""},
    {NULL, NULL, "a\nb\r\nc"},
    {"x\ndata: evil", "1\r\n\r\ndata: evil", "y"},
    {"a name that is longer than what is set aside for a head, which no event of ours has, but this "
     "is no reason to cut it off",
     "8", "z"},
};

static void on_events(struct http_request *rq)
{
    struct rig *r = http_context(rq);
    struct http_stream *st = sse_start(rq, &ops, r);

    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        sse_send(st, events[i][0], events[i][1], events[i][2], strlen(events[i][2]));
    http_stream_end(st);
}

static const struct route routes[] = {
    {HTTP_GET_M, "/alive", on_alive, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/say", on_say, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/last", on_last, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/end", on_end, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/events", on_events, ROLE_OWN, 0, 0, NULL},
};

static void run(void (*client)(struct rig *r))
{
    struct rig r;

    rig_setup(&r, routes, sizeof routes / sizeof *routes);
    rig_run(&r, client);
}

#define A "Host: localhost\r\n" RIG_AUTH
#define C A "Connection: close\r\n"

static void client_alive(struct rig *r)
{
    int fd = rig_connect(r);
    char *rest;

    rig_puts(fd, "GET /alive HTTP/1.1\r\n" C "\r\n");
    free(rig_read_until(fd, "\r\n\r\n1\r\n.\r\n1\r\n.\r\n"));
    EXPECT_ANSWER(r, "GET /say HTTP/1.1\r\n" C "\r\n", 204, "");
    free(rig_read_until(fd, "4\r\nword\r\n1\r\n.\r\n")); /* it goes on after what was said */
    EXPECT_ANSWER(r, "GET /last HTTP/1.1\r\n" C "\r\n", 204, "");
    free(rig_read_until(fd, "4\r\nlast\r\n"));
    usleep(3 * ALIVE_MS * 1000);
    EXPECT_ANSWER(r, "GET /end HTTP/1.1\r\n" C "\r\n", 204, "");
    rest = rig_read_all(fd);
    EXPECT_STR(rest, "0\r\n\r\n");
    free(rest);
    close(fd);
}

TEST(a_silent_stream_shows_signs_of_life_until_it_is_told_not_to)
{
    run(client_alive);
}

/* Whoever goes, or is freed with the server, takes the timer along: the sanitizer looks. */
static void client_leaves(struct rig *r)
{
    int fd = rig_connect(r), other;

    rig_puts(fd, "GET /alive HTTP/1.1\r\n" A "\r\n");
    free(rig_read_until(fd, "1\r\n.\r\n"));
    close(fd);
    other = rig_connect(r);
    rig_puts(other, "GET /alive HTTP/1.1\r\n" A "\r\n");
    free(rig_read_until(other, "1\r\n.\r\n"));
    close(other);
}

TEST(a_stream_that_is_left_has_no_timer_any_more)
{
    run(client_leaves);
}

/* HTTP/1.0: there are no chunks, so the body is what was written. */
static void client_events(struct rig *r)
{
    char *answer = rig_ask(r, "GET /events HTTP/1.0\r\n" RIG_AUTH "\r\n");
    const char *body = strstr(answer, "\r\n\r\n");
    struct buf want = {0};

    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        sse_event(&want, events[i][0], events[i][1], events[i][2], strlen(events[i][2]));
    REQUIRE(body != NULL);
    EXPECT_STR(body + 4, buf_cstr(&want));
    EXPECT(strstr(answer, "Content-Type: text/event-stream\r\n") != NULL);
    buf_fini(&want);
    free(answer);
}

TEST(events_that_are_sent_are_those_that_would_be_written)
{
    run(client_events);
}

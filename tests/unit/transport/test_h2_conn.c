/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_h2_conn.c - HTTP/2 over a real loopback socket, frame by frame: answers, trailers,
 * streams that stall, peers that go
 */
#include <stdatomic.h>

#include "base/clock.h"
#include "base/limits.h"
#include "http_site.h"

enum { F_DATA = 0, F_HEADERS = 1, F_RST = 3, F_SETTINGS = 4, F_WINDOW_UPDATE = 8 };
enum { END_STREAM = 1, END_HEADERS = 4 };

static void put_frame(struct buf *out, int type, int flags, int id, const void *bytes, size_t len)
{
    const unsigned char head[9] = {
        (unsigned char)(len >> 16),
        (unsigned char)(len >> 8),
        (unsigned char)len,
        (unsigned char)type,
        (unsigned char)flags,
        0,
        0,
        (unsigned char)(id >> 8),
        (unsigned char)id,
    };

    buf_put(out, head, sizeof head);
    buf_put(out, bytes, len);
}

/* A literal, never indexed, without Huffman codes. */
static void put_field(struct buf *out, const char *name, const char *value)
{
    buf_putc(out, 0x10);
    buf_putc(out, (char)strlen(name));
    buf_puts(out, name);
    buf_putc(out, (char)strlen(value));
    buf_puts(out, value);
}

static void put_request(struct buf *out, int id, const char *method, const char *path, bool last)
{
    struct buf block = {0};

    put_field(&block, ":method", method);
    put_field(&block, ":scheme", "http");
    put_field(&block, ":path", path);
    put_field(&block, ":authority", "localhost");
    put_field(&block, "authorization", "Bearer " RIG_TOKEN);
    put_frame(out, F_HEADERS, END_HEADERS | (last ? END_STREAM : 0), id, buf_data(&block),
              block.len);
    buf_fini(&block);
}

static void send_request(int fd, int id, const char *method, const char *path, bool last)
{
    struct buf out = {0};

    put_request(&out, id, method, path, last);
    rig_send(fd, buf_data(&out), out.len);
    buf_fini(&out);
}

static void send_data(int fd, int id, const void *bytes, size_t len, bool last)
{
    struct buf out = {0};

    put_frame(&out, F_DATA, last ? END_STREAM : 0, id, bytes, len);
    rig_send(fd, buf_data(&out), out.len);
    buf_fini(&out);
}

/* `window`: of each stream, for what the server sends; < 0: the usual. */
static int h2_connect(struct rig *r, int window)
{
    const unsigned char setting[6] = {
        0, 4, 0, 0, (unsigned char)(window >> 8), (unsigned char)window};
    int fd = rig_connect(r);
    struct buf out = {0};

    buf_puts(&out, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    put_frame(&out, F_SETTINGS, 0, 0, setting, window >= 0 ? sizeof setting : 0);
    rig_send(fd, buf_data(&out), out.len);
    buf_fini(&out);
    return fd;
}

struct frame {
    int type, flags, id;
    size_t len;
    char bytes[16384 + 1];
};

/* The next frame of this stream. */
static void next_frame(int fd, int id, struct frame *f)
{
    unsigned char head[9];

    do {
        rig_read_exact(fd, head, sizeof head);
        f->len = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
        f->type = head[3];
        f->flags = head[4];
        f->id = head[7] << 8 | head[8];
        REQUIRE(f->len < sizeof f->bytes);
        rig_read_exact(fd, f->bytes, f->len);
        f->bytes[f->len] = '\0';
    } while (f->id != id);
}

static void client_exchange(struct rig *r)
{
    int fd = h2_connect(r, -1);
    struct frame f;

    send_request(fd, 1, "GET", "/hello", true);
    next_frame(fd, 1, &f);
    EXPECT(f.type == F_HEADERS && f.bytes[0] == (char)0x88); /* :status 200 */
    next_frame(fd, 1, &f);
    EXPECT(f.type == F_DATA && (f.flags & END_STREAM));
    EXPECT_STR(f.bytes, "hello");
    send_request(fd, 3, "POST", "/echo", false);
    send_data(fd, 3, "abc", 3, false);
    send_data(fd, 3, "def", 3, true);
    next_frame(fd, 3, &f);
    next_frame(fd, 3, &f);
    EXPECT_STR(f.bytes, "abcdef");
    close(fd);
}

TEST(an_exchange_carries_head_and_body)
{
    run(client_exchange);
}

/* A waiting request holds up no other, and its handler learns that the peer has gone. */
static void client_many(struct rig *r)
{
    int fd = h2_connect(r, -1);
    struct frame f;

    send_request(fd, 1, "GET", "/wait", true);
    send_request(fd, 3, "GET", "/hello", true);
    next_frame(fd, 3, &f);
    EXPECT(f.type == F_HEADERS);
    send_request(fd, 5, "GET", "/release", true);
    next_frame(fd, 1, &f);
    EXPECT(f.type == F_HEADERS);
    send_request(fd, 7, "GET", "/wait", true);
    send_request(fd, 9, "GET", "/endless", true);
    next_frame(fd, 9, &f);
    close(fd);
    for (int i = 0; i < 500; i++) {
        char *answer = rig_ask(r, "GET /gone HTTP/1.1\r\n" C "\r\n");
        bool both = strstr(answer, "\r\n\r\n2") != NULL;

        free(answer);
        if (both)
            return;
        usleep(10000);
    }
    EXPECT(!"both handlers are told");
}

TEST(requests_of_one_connection_are_handled_at_once)
{
    run(client_many);
}

/* The reader of the body takes three bytes at a time: the rest comes again. */
static void client_upload(struct rig *r)
{
    int fd = h2_connect(r, -1);
    struct frame f;

    r->take = 3;
    send_request(fd, 1, "POST", "/upload", false);
    send_data(fd, 1, "0123456789", 10, false);
    send_data(fd, 1, "abcdefgh", 8, true);
    next_frame(fd, 1, &f);
    EXPECT(f.type == F_HEADERS);
    next_frame(fd, 1, &f);
    EXPECT_STR(f.bytes, "0123456789abcdefgh");
    close(fd);
}

TEST(a_streamed_body_is_given_in_pieces)
{
    run(client_upload);
}

static void client_early(struct rig *r)
{
    int fd = h2_connect(r, -1);
    struct frame f;

    send_request(fd, 1, "POST", "/refuse", false);
    next_frame(fd, 1, &f);
    EXPECT(f.type == F_HEADERS);
    next_frame(fd, 1, &f);
    EXPECT_STR(f.bytes, "no");
    next_frame(fd, 1, &f);
    EXPECT(f.type == F_RST && memcmp(f.bytes, "\0\0\0\0", 4) == 0); /* NO_ERROR */
    close(fd);
}

TEST(an_answer_before_the_end_of_the_body_asks_for_no_more)
{
    run(client_early);
}

/* A peer whose window is shut takes nothing: the stream ends, the connection goes on. */
static void client_stall(struct rig *r)
{
    int fd = h2_connect(r, 0);
    struct frame f;

    send_request(fd, 1, "GET", "/hello", true);
    next_frame(fd, 1, &f);
    EXPECT(f.type == F_HEADERS);
    next_frame(fd, 1, &f);
    EXPECT(f.type == F_RST);
    send_request(fd, 3, "GET", "/release", true);
    next_frame(fd, 3, &f);
    EXPECT(f.type == F_HEADERS && f.bytes[0] == (char)0x89); /* :status 204 */
    close(fd);
}

TEST(an_answer_that_nobody_takes_ends_in_time)
{
    struct rig r;

    rig_setup(&r, routes, sizeof routes / sizeof *routes);
    r.options.stall_ms = 100;
    rig_run(&r, client_stall);
}

/* --- trailers -------------------------------------------------------------------------------- */

static void on_trail(struct http_request *rq)
{
    struct rig *r = http_context(rq);
    struct http_stream *st = http_stream_start(rq, 200, "text/plain", &stream_ops, r);

    http_stream_write(st, &(struct iovec){(void *)(uintptr_t)("body"), 4}, 1);
    http_stream_trailer(st, "grpc-status", "0");
    http_stream_trailer(st, "X-Sum", "1");
    http_stream_end(st);
}

static const struct route trail_routes[] = {
    {HTTP_GET_M, "/trail", on_trail, ROLE_OWN, 0, 0, NULL},
};

static void client_trailers(struct rig *r)
{
    int fd = h2_connect(r, -1);
    struct frame f;
    char *answer;

    send_request(fd, 1, "GET", "/trail", true);
    next_frame(fd, 1, &f);
    next_frame(fd, 1, &f);
    EXPECT(f.type == F_DATA);
    EXPECT_STR(f.bytes, "body");
    do
        next_frame(fd, 1, &f);
    while (f.type == F_DATA); /* an empty one may come between */
    EXPECT(f.type == F_HEADERS && (f.flags & END_STREAM));
    close(fd);
    answer = rig_ask(r, "GET /trail HTTP/1.1\r\n" C "\r\n");
    EXPECT(strstr(answer, "\r\n4\r\nbody\r\n0\r\ngrpc-status: 0\r\nX-Sum: 1\r\n\r\n") != NULL);
    free(answer);
    answer = rig_ask(r, "GET /trail HTTP/1.0\r\n" RIG_AUTH "\r\n");
    EXPECT(strstr(answer, "\r\n\r\nbody") != NULL && strstr(answer, "grpc-status") == NULL);
    free(answer);
}

TEST(trailers_follow_the_body)
{
    struct rig r;

    rig_setup(&r, trail_routes, 1);
    rig_run(&r, client_trailers);
}

/* --- shares of a turn ------------------------------------------------------------------------ */

#define PAGE_BYTES ((size_t)8 << 20)

static char page[PAGE_BYTES]; /* never freed: it may be lent */
static int turn_pipe[2];
static atomic_bool blocked;    /* the loop waits for turn_pipe */
static int marks_before_b;     /* requests of A that were begun before B's */
static uint64_t sent_before_b; /* bytes that the server had sent by then */
static bool b_came;
static bool is_cut;       /* everything that the token of the tests let in was cut */
static int run_after_cut; /* handlers that were called nevertheless */

static uint64_t bytes_out(struct rig *r)
{
    struct http_stats stats;

    http_server_stats(r->server, &stats);
    return stats.bytes_out;
}

/* Holds the loop until the client has written all that the next turn is to find. */
static void on_block(struct http_request *rq)
{
    char c;

    atomic_store(&blocked, true);
    REQUIRE(read(turn_pipe[0], &c, 1) == 1);
    http_reply_empty(rq, 204);
}

static void on_mark(struct http_request *rq)
{
    struct rig *r = http_context(rq);
    bool is_b = strcmp(http_param(rq, "who"), "b") == 0;

    if (is_b)
        sent_before_b = bytes_out(r);
    b_came |= is_b;
    marks_before_b += !b_came;
    http_reply_empty(rq, 204);
}

static void on_page(struct http_request *rq)
{
    http_reply_lent(rq, 200, "text/plain", page, sizeof page);
}

/* Whoever asks after it is behind a turn that has taken too long, and stands in line. */
static void on_late(struct http_request *rq)
{
    uint64_t end = clock_mono_ns() + (TURN_LONG_MS + 1) * 1000000ULL;

    while (clock_mono_ns() < end)
        ;
    http_reply_empty(rq, 204);
}

static void on_cut(struct http_request *rq)
{
    is_cut = true;
    http_server_cut_token(rig_now->server, http_token(rq));
    http_reply_empty(rq, 204);
}

static void on_run(struct http_request *rq)
{
    run_after_cut += is_cut;
    http_reply_empty(rq, 204);
}

static const struct route turn_routes[] = {
    {HTTP_GET_M, "/late", on_late, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/cut", on_cut, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/run", on_run, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/block", on_block, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/mark/{who}", on_mark, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/page", on_page, ROLE_OWN, 0, 0, NULL},
};

/* Windows so wide that only the socket bounds what the server sends. */
static int h2_connect_wide(struct rig *r)
{
    static const unsigned char setting[6] = {0, 4, 0x7f, 0xff, 0xff, 0xff};
    static const unsigned char more[4] = {0x7f, 0, 0, 0};
    int fd = h2_connect(r, -1);
    struct buf out = {0};

    put_frame(&out, F_SETTINGS, 0, 0, setting, sizeof setting);
    put_frame(&out, F_WINDOW_UPDATE, 0, 0, more, sizeof more);
    rig_send(fd, buf_data(&out), out.len);
    buf_fini(&out);
    return fd;
}

/* A's requests and B's one are there when the turn begins. */
static void ask_in_one_turn(struct rig *r, int a, const char *path, int count)
{
    int b = h2_connect(r, -1), c = h2_connect(r, -1);
    struct frame f;

    send_request(a, 1, "GET", "/mark/a", true);
    next_frame(a, 1, &f);
    send_request(b, 1, "GET", "/mark/a", true);
    next_frame(b, 1, &f);
    marks_before_b = 0;
    b_came = false;
    atomic_store(&blocked, false);
    send_request(c, 1, "GET", "/block", true);
    while (!atomic_load(&blocked))
        ;
    for (int i = 0; i < count; i++)
        send_request(a, 3 + 2 * i, "GET", path, true);
    send_request(b, 3, "GET", "/mark/b", true);
    REQUIRE(write(turn_pipe[1], "x", 1) == 1);
    next_frame(c, 1, &f);
    next_frame(b, 3, &f);
    EXPECT(b_came);
    close(b);
    close(c);
}

/* A hundred requests of one connection let another connection's one in between. */
static void client_turns(struct rig *r)
{
    int a = h2_connect(r, -1);
    struct frame f;

    ask_in_one_turn(r, a, "/mark/a", 100);
    EXPECT(marks_before_b <= LIMIT_H2_TURN_REQUESTS);
    next_frame(a, 3 + 2 * 99, &f); /* all are answered in the end */
    close(a);
}

TEST(requests_of_one_connection_do_not_keep_the_loop)
{
    struct rig r;

    REQUIRE(pipe(turn_pipe) == 0);
    rig_setup(&r, turn_routes, sizeof turn_routes / sizeof *turn_routes);
    rig_run(&r, client_turns);
    close(turn_pipe[0]);
    close(turn_pipe[1]);
}

/* They come in one read: the last two are in line when the first of these resets the other. */
static void client_cut(struct rig *r)
{
    int a = h2_connect(r, -1);
    struct buf out = {0};
    struct frame f;

    send_request(a, 1, "GET", "/mark/a", true);
    next_frame(a, 1, &f);
    put_request(&out, 3, "GET", "/late", true);
    put_request(&out, 5, "GET", "/cut", true);
    put_request(&out, 7, "GET", "/run", true);
    rig_send(a, buf_data(&out), out.len);
    buf_fini(&out);
    next_frame(a, 7, &f);
    EXPECT_INT(f.type, F_RST);
    EXPECT_INT(run_after_cut, 0);
    send_request(a, 9, "GET", "/mark/a", true);
    next_frame(a, 9, &f); /* the connection goes on */
    EXPECT_INT(f.type, F_HEADERS);
    close(a);
}

TEST(a_request_in_line_is_not_handled_when_its_stream_was_reset)
{
    struct rig r;

    is_cut = false;
    run_after_cut = 0;
    rig_setup(&r, turn_routes, sizeof turn_routes / sizeof *turn_routes);
    rig_run(&r, client_cut);
}

/* The same for bytes: a large body goes out in pieces, and arrives whole. */
static void client_large(struct rig *r)
{
    int a = h2_connect_wide(r);
    uint64_t before;
    size_t got = 0;
    struct frame f = {0};

    before = bytes_out(r);
    ask_in_one_turn(r, a, "/page", 1);
    /* The turn that was blocked is a long one, so B's handler may have its turn in the next. */
    EXPECT(sent_before_b - before <= 2 * LIMIT_TURN_BYTES + LIMIT_H2_OUT_BYTES);
    while (!(f.flags & END_STREAM) || f.type != F_DATA) {
        next_frame(a, 3, &f);
        if (f.type != F_DATA)
            continue;
        EXPECT(memcmp(f.bytes, page + got, f.len) == 0);
        got += f.len;
    }
    EXPECT(got == sizeof page);
    close(a);
}

TEST(a_large_answer_does_not_keep_the_loop)
{
    struct rig r;

    for (size_t i = 0; i < sizeof page; i++)
        page[i] = (char)(i * 7 + i / 251);
    REQUIRE(pipe(turn_pipe) == 0);
    rig_setup(&r, turn_routes, sizeof turn_routes / sizeof *turn_routes);
    rig_run(&r, client_large);
    close(turn_pipe[0]);
    close(turn_pipe[1]);
}

/* By HTTP/1.1: pipelined pages arrive whole, also at a peer that begins to read late. */
static void client_pipelined(struct rig *r)
{
    int fd = rig_connect(r);
    char *got = malloc(sizeof page);

    for (int i = 0; i < 3; i++)
        rig_puts(fd, i < 2 ? "GET /page HTTP/1.1\r\n" A "\r\n" : "GET /page HTTP/1.1\r\n" C "\r\n");
    for (int i = 0; i < 3; i++) {
        char *head = rig_read_until(fd, "\r\n\r\n");

        EXPECT(strstr(head, "Content-Length: 8388608\r\n") != NULL);
        free(head);
        rig_read_exact(fd, got, sizeof page);
        EXPECT(memcmp(got, page, sizeof page) == 0);
    }
    EXPECT(recv(fd, got, 1, 0) == 0);
    free(got);
    close(fd);
}

TEST(lent_bodies_arrive_whole_by_http1)
{
    struct rig r;

    memset(page, 'p', sizeof page);
    page[PAGE_BYTES / 2] = 'q';
    rig_setup(&r, turn_routes, sizeof turn_routes / sizeof *turn_routes);
    rig_run(&r, client_pipelined);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_output_tail.c - The last bytes and lines of an output, of all of it and of one stream.
 */
#include "dialects/common/output_tail.h"
#include "test.h"

#include <fcntl.h>

#include "engine/journal/journal_own.h"

struct fixture {
    struct record rec;
    struct journal j;
    struct slip slip;
    int pipe[2];
};

static void setup(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    REQUIRE(record_create(&f->rec, journal_ring_bytes(65536, true), 0) == 0);
    journal_init(&f->j, &f->rec, &f->slip, true);
    REQUIRE(pipe2(f->pipe, O_CLOEXEC | O_NONBLOCK) == 0);
}

static void teardown(struct fixture *f)
{
    record_fini(&f->rec);
    close(f->pipe[0]);
    close(f->pipe[1]);
}

static void feed(struct fixture *f, const char *text, enum stream s)
{
    REQUIRE(write(f->pipe[1], text, strlen(text)) == (ssize_t)strlen(text));
    REQUIRE(journal_read(&f->j, f->pipe[0], s, 65536) == (ssize_t)strlen(text));
}

/* The result, and how many steps it took. */
static size_t steps;

static uint64_t tail_of(const struct journal *j, enum tail_unit unit, uint64_t n, int stream)
{
    struct tail t;

    tail_begin(&t, j, unit, n, stream);
    for (steps = 1; !tail_step(&t); steps++)
        REQUIRE(steps < 1000000);
    return t.found;
}

static uint64_t tail_bytes(const struct journal *j, uint64_t n, int stream)
{
    return tail_of(j, TAIL_BYTES, n, stream);
}

static uint64_t tail_lines(const struct journal *j, uint64_t n, int stream)
{
    return tail_of(j, TAIL_LINES, n, stream);
}

TEST(tail_bytes_are_exact)
{
    struct fixture f;

    setup(&f);
    EXPECT_U64(tail_bytes(&f.j, 5, -1), 0);
    feed(&f, "0123456789", STREAM_STDOUT);
    EXPECT_U64(tail_bytes(&f.j, 3, -1), 7);
    EXPECT_U64(tail_bytes(&f.j, 10, -1), 0);
    EXPECT_U64(tail_bytes(&f.j, 99, -1), 0);
    EXPECT_U64(tail_bytes(&f.j, 0, -1), 10);
    teardown(&f);
}

TEST(tail_bytes_of_one_stream_do_not_count_the_other)
{
    struct fixture f;

    setup(&f);
    feed(&f, "out1", STREAM_STDOUT); /* 0 */
    feed(&f, "err1", STREAM_STDERR); /* 4 */
    feed(&f, "out2", STREAM_STDOUT); /* 8 */
    feed(&f, "err2", STREAM_STDERR); /* 12 */
    EXPECT_U64(tail_bytes(&f.j, 2, STREAM_STDOUT), 10);
    EXPECT_U64(tail_bytes(&f.j, 5, STREAM_STDOUT), 3);
    EXPECT_U64(tail_bytes(&f.j, 8, STREAM_STDERR), 4);
    EXPECT_U64(tail_bytes(&f.j, 0, STREAM_STDERR), 16);
    EXPECT_U64(tail_bytes(&f.j, 1, STREAM_TTY), 16);
    teardown(&f);
}

TEST(tail_lines_of_one_stream_do_not_count_the_other)
{
    struct fixture f;

    setup(&f);
    feed(&f, "a\nb\n", STREAM_STDOUT); /* 0 */
    feed(&f, "x\ny\n", STREAM_STDERR); /* 4 */
    feed(&f, "c\nd", STREAM_STDOUT);   /* 8 */
    EXPECT_U64(tail_lines(&f.j, 1, STREAM_STDOUT), 10);
    EXPECT_U64(tail_lines(&f.j, 2, STREAM_STDOUT), 8);
    EXPECT_U64(tail_lines(&f.j, 3, STREAM_STDOUT), 2);
    EXPECT_U64(tail_lines(&f.j, 9, STREAM_STDOUT), 0);
    EXPECT_U64(tail_lines(&f.j, 1, STREAM_STDERR), 6);
    EXPECT_U64(tail_lines(&f.j, 9, STREAM_STDERR), 4);
    EXPECT_U64(tail_lines(&f.j, 0, STREAM_STDERR), 11);
    EXPECT_U64(tail_lines(&f.j, 1, -1), 10);
    teardown(&f);
}

TEST(tail_lines_of_all_streams)
{
    struct fixture f;

    setup(&f);
    EXPECT_U64(tail_lines(&f.j, 1, -1), 0);
    feed(&f, "\n", STREAM_STDOUT);
    EXPECT_U64(tail_lines(&f.j, 1, -1), 0);
    feed(&f, "a\n\nb\n", STREAM_STDOUT); /* 1 */
    EXPECT_U64(tail_lines(&f.j, 0, -1), 6);
    EXPECT_U64(tail_lines(&f.j, 1, -1), 4);
    EXPECT_U64(tail_lines(&f.j, 2, -1), 3);
    EXPECT_U64(tail_lines(&f.j, 3, -1), 1);
    EXPECT_U64(tail_lines(&f.j, 4, -1), 0);
    EXPECT_U64(tail_lines(&f.j, 99, -1), 0);
    teardown(&f);
}

/* How it was: counted from the front, byte by byte. */
static uint64_t lines_by_counting(const char *text, const char *streams, char stream, uint64_t n)
{
    uint64_t starts[64], count = 0;
    char last = '\n';

    for (uint64_t i = 0; text[i] != '\0'; i++) {
        if (stream != 0 && streams[i] != stream)
            continue;
        if (last == '\n')
            starts[count++] = i;
        last = text[i];
    }
    if (n == 0 || count == 0)
        return strlen(text);
    return starts[count > n ? count - n : 0];
}

TEST(tail_lines_are_those_found_by_counting)
{
    uint32_t seed = 1;

    for (int round = 0; round < 500; round++) {
        char text[41] = "", streams[41] = "";
        struct fixture f;

        setup(&f);
        for (size_t len = 0; len < 40;) {
            char piece[6] = "", who;
            size_t n;

            seed = seed * 1664525 + 1013904223;
            n = 1 + (seed >> 8) % 5;
            n = len + n > 40 ? 40 - len : n;
            who = (seed >> 12) % 2 ? 'o' : 'e';
            for (size_t i = 0; i < n; i++) {
                piece[i] = (seed >> (16 + i)) % 2 ? '\n' : 'x';
                streams[len + i] = who;
            }
            memcpy(text + len, piece, n);
            len += n;
            feed(&f, piece, who == 'o' ? STREAM_STDOUT : STREAM_STDERR);
        }
        for (uint64_t n = 0; n < 12; n++) {
            EXPECT_U64(tail_lines(&f.j, n, -1), lines_by_counting(text, streams, 0, n));
            EXPECT_U64(tail_lines(&f.j, n, STREAM_STDOUT),
                       lines_by_counting(text, streams, 'o', n));
            EXPECT_U64(tail_lines(&f.j, n, STREAM_STDERR),
                       lines_by_counting(text, streams, 'e', n));
        }
        teardown(&f);
    }
}

TEST(a_long_search_has_many_steps_and_a_short_one_has_one)
{
    struct fixture f;

    memset(&f, 0, sizeof f);
    REQUIRE(record_create(&f.rec, journal_ring_bytes(1 << 20, true), 0) == 0);
    journal_init(&f.j, &f.rec, &f.slip, true);
    REQUIRE(pipe2(f.pipe, O_CLOEXEC | O_NONBLOCK) == 0);
    for (int i = 0; i < 4096; i++) {
        char text[250];

        memset(text, 'x', sizeof text - 2);
        strcpy(text + sizeof text - 2, "\n");
        feed(&f, text, i % 2 ? STREAM_STDOUT : STREAM_STDERR);
    }
    tail_lines(&f.j, 10, -1);
    EXPECT_INT(steps, 1);
    EXPECT_U64(tail_lines(&f.j, 1 << 20, -1), 0);
    EXPECT(steps > 10);
    tail_lines(&f.j, 10, STREAM_STDOUT);
    EXPECT_INT(steps, 1);
    EXPECT_U64(tail_lines(&f.j, 1 << 20, STREAM_STDERR), 0);
    EXPECT(steps > 4);
    tail_bytes(&f.j, 1 << 20, -1);
    EXPECT_INT(steps, 1);
    tail_bytes(&f.j, 1, STREAM_TTY);
    EXPECT(steps > 3);
    teardown(&f);
}

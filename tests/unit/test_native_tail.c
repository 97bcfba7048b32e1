/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last bytes and lines of an output, of all of it and of one stream.
 */
#include "dialects/native/tail.h"
#include "test.h"

#include <fcntl.h>

#include "engine/journal_own.h"

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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_log.c - one line per event on standard error
 */
#include "base/log.h"

#include <fcntl.h>

#include "base/io.h"
#include "test.h"

/* Standard error goes into a pipe and back again, so that failures can be seen. */
struct capture {
    int pipe[2], saved;
    char text[100000];
    size_t len;
};

static void capture_begin(struct capture *c)
{
    REQUIRE(pipe2(c->pipe, O_CLOEXEC) == 0);
    REQUIRE(io_set_nonblocking(c->pipe[0], true) == 0);
    c->len = 0;
    c->saved = dup(STDERR_FILENO);
    dup2(c->pipe[1], STDERR_FILENO);
}

static void capture_read(struct capture *c)
{
    ssize_t n;

    while ((n = read(c->pipe[0], c->text + c->len, sizeof c->text - 1 - c->len)) > 0)
        c->len += (size_t)n;
    c->text[c->len] = '\0';
}

static void capture_end(struct capture *c)
{
    dup2(c->saved, STDERR_FILENO);
    capture_read(c);
    io_close(&c->saved);
    io_close(&c->pipe[0]);
    io_close(&c->pipe[1]);
}

TEST(a_line_has_time_level_part_and_message)
{
    static struct capture c;
    struct io_count before = io_counted();

    log_set_part("worker");
    capture_begin(&c);
    log_warn("%d of %s", 3, "four");
    capture_end(&c);
    REQUIRE(c.len > 25);
    EXPECT_INT(c.text[10], 'T');
    EXPECT_INT(c.text[23], 'Z');
    EXPECT_STR(c.text + 24, " warn worker: 3 of four\n");
    EXPECT_U64(io_counted().written_bytes - before.written_bytes, c.len);
}

TEST(levels_are_left_out_as_told)
{
    static struct capture c;

    capture_begin(&c);
    log_debug("not by default");
    log_set_level(LOG_ERROR);
    log_warn("not now");
    capture_end(&c);
    EXPECT_STR(c.text, "");
}

/* A name with a newline in it once looked like a second, forged line. */
TEST(a_message_cannot_begin_a_line_or_move_the_cursor)
{
    static struct capture c;

    capture_begin(&c);
    log_info("%s", "a\nb\x1b[2Jc\r\x7f");
    capture_end(&c);
    EXPECT_STR(c.text + 24, " info holdfast: a?b?[2Jc??\n");
}

TEST(a_long_line_is_cut_and_says_so)
{
    static struct capture c;
    char text[3000];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    capture_begin(&c);
    log_info("%s", text);
    capture_end(&c);
    EXPECT(c.len < 1100);
    EXPECT_STR(c.text + c.len - 5, "x...\n");
}

/* The supervisor's pipe is full and nobody reads: the daemon must go on. */
TEST(a_reader_that_does_not_read_holds_nobody)
{
    static struct capture c;

    capture_begin(&c);
    for (int i = 0; i < 20000; i++)
        log_info("line %d of many", i);
    capture_read(&c);
    EXPECT(c.len > 10000);
    c.len = 0;
    log_info("after all");
    capture_end(&c);
    EXPECT(strstr(c.text, "log lines: nothing was reading them\n") != NULL);
    EXPECT(strstr(c.text, "after all\n") != NULL);
}

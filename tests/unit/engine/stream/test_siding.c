/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_siding.c - The siding: what is moved through it arrives, and what cannot be moved is read.
 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/io.h"
#include "base/log.h"
#include "engine/process_own.h"
#include "engine/stream/siding.h"

struct fixture {
    struct engine engine;
    struct shared_head state;
    struct process process;
    struct slip slip;
    int pipe[2];
};

static struct fixture *setup(void)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct process *p = &f->process;

    log_set_level(LOG_ERROR);
    REQUIRE(record_create(&p->rec, journal_ring_bytes(1 << 20, true), 0) == 0);
    journal_init(&p->journal, &p->rec, &f->slip, true);
    p->engine = &f->engine;
    f->engine.state.head = &f->state;
    REQUIRE(pipe2(f->engine.siding, O_CLOEXEC | O_NONBLOCK) == 0);
    REQUIRE(pipe2(f->pipe, O_CLOEXEC | O_NONBLOCK) == 0);
    return f;
}

static void teardown(struct fixture *f)
{
    record_fini(&f->process.rec);
    io_close(&f->engine.siding[0]);
    io_close(&f->engine.siding[1]);
    io_close(&f->pipe[0]);
    io_close(&f->pipe[1]);
    free(f);
}

static ssize_t take(struct fixture *f)
{
    return siding_read(&f->process, f->pipe[0], STREAM_STDOUT, SIDING_BYTES);
}

static void feed(struct fixture *f, const char *text)
{
    EXPECT_INT(write(f->pipe[1], text, strlen(text)), (ssize_t)strlen(text));
    EXPECT_INT(take(f), (ssize_t)strlen(text));
}

TEST(what_is_moved_through_the_siding_is_in_the_journal)
{
    struct fixture *f = setup();
    struct slice s;

    feed(f, "one ");
    feed(f, "two");
    s = journal_slice(&f->process.journal, 0, 100);
    EXPECT_BYTES(s.bytes, s.len, "one two");
    EXPECT_INT(take(f), -EAGAIN);
    EXPECT(f->engine.siding[0] >= 0);
    io_close(&f->pipe[1]);
    EXPECT_INT(take(f), 0);
    teardown(f);
}

/*
 * An error of splice(2), here because it does not write to files that are only appended to, was
 * taken for the end of the pipe, and the rest of the output was lost.
 */
TEST(what_cannot_be_moved_is_read_and_no_more_is_tried)
{
    struct fixture *f = setup();
    char path[] = "/tmp/holdfast-siding-XXXXXX";
    struct slice s;

    io_close(&f->engine.siding[1]);
    f->engine.siding[1] = mkostemp(path, O_APPEND | O_CLOEXEC);
    REQUIRE(f->engine.siding[1] >= 0);
    unlink(path);
    feed(f, "one ");
    EXPECT_INT(f->engine.siding[0], -1);
    EXPECT_INT(f->engine.siding[1], -1);
    EXPECT_U64(f->state.siding.on, 0);
    feed(f, "two");
    s = journal_slice(&f->process.journal, 0, 100);
    EXPECT_BYTES(s.bytes, s.len, "one two");
    EXPECT_INT(take(f), -EAGAIN);
    io_close(&f->pipe[1]);
    EXPECT_INT(take(f), 0);
    teardown(f);
}

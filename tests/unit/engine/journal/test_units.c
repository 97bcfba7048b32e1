/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_units.c - Places of a journal in UTF-16 units: exact for any bytes, however they were cut into
 * reads, after the ring has turned over and after a worker died.
 */
#include "engine/journal/units.h"
#include "test.h"

#include <fcntl.h>

#include "base/utf16.h"
#include "engine/journal/journal_own.h"

#define RING (64 * 1024)

struct fixture {
    struct record rec;
    struct journal j;
    struct slip slip;
    int pipe[2];
};

static void setup(struct fixture *f, bool exact, bool pty)
{
    memset(f, 0, sizeof *f);
    EXPECT_INT(record_create(&f->rec, journal_ring_bytes(RING, exact), 0), 0);
    f->rec.head->pty = pty;
    journal_init(&f->j, &f->rec, &f->slip, exact);
    EXPECT_INT(pipe2(f->pipe, O_CLOEXEC | O_NONBLOCK), 0);
}

static void teardown(struct fixture *f)
{
    record_fini(&f->rec);
    close(f->pipe[0]);
    close(f->pipe[1]);
}

static void feed(struct fixture *f, const char *bytes, size_t len)
{
    EXPECT_INT(write(f->pipe[1], bytes, len), (ssize_t)len);
    while (len > 0) {
        ssize_t n = journal_read(&f->j, f->pipe[0], STREAM_TTY, 1 << 20);

        EXPECT(n > 0);
        len -= (size_t)n;
    }
}

static void feed_text(struct fixture *f, const char *s)
{
    feed(f, s, strlen(s));
}

static void expect_point(struct units_point p, uint64_t at, uint64_t units)
{
    EXPECT_U64(p.at, at);
    EXPECT_U64(p.units, units);
}

TEST(units_count_as_javascript_does)
{
    struct fixture f;

    setup(&f, true, true);
    feed_text(&f, "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"); /* a, é, €, a smiley, z */
    expect_point(units_end(&f.j), 11, 6);
    expect_point(units_find(&f.j, 0, 100), 0, 0);
    expect_point(units_find(&f.j, 2, 100), 3, 2);
    expect_point(units_find(&f.j, 3, 100), 6, 3);
    expect_point(units_find(&f.j, 4, 100), 6, 3); /* inside the pair: not cut */
    expect_point(units_find(&f.j, 5, 100), 10, 5);
    expect_point(units_find(&f.j, 99, 100), 11, 6);
    expect_point(units_find(&f.j, 0, 1), 10, 5);
    expect_point(units_from(&f.j, 7), 10, 5);
    expect_point(units_from(&f.j, 1), 1, 1);
    teardown(&f);
}

TEST(units_wait_for_the_rest_of_a_character)
{
    struct fixture f;

    setup(&f, true, true);
    feed_text(&f, "A\xf0\x9f");
    expect_point(units_end(&f.j), 1, 1);
    feed_text(&f, "\x98");
    expect_point(units_end(&f.j), 1, 1);
    feed_text(&f, "\x80!");
    expect_point(units_end(&f.j), 6, 4);
    feed_text(&f, "\xe2\x82");
    feed_text(&f, "B"); /* broken off: one U+FFFD */
    expect_point(units_end(&f.j), 9, 6);
    feed_text(&f, "\xff\x80");
    expect_point(units_end(&f.j), 11, 8);
    expect_point(units_find(&f.j, 4, 100), 6, 4);
    expect_point(units_find(&f.j, 5, 100), 8, 5);
    teardown(&f);
}

/* Any bytes, written in odd pieces; what is held is compared with all that ever was. */
static void check_turns(struct fixture *f, unsigned seed)
{
    static char all[5 * RING];
    uint64_t next = 0, units, x = seed;
    struct units_point got;

    EXPECT_U64(units_end(&f->j).units, 0); /* asked, so it is counted */
    while (next + 9000 < sizeof all) {
        size_t n = 1 + (x >> 33) % 8000;

        for (size_t i = 0; i < n; i++) {
            static const char some[] = "ab\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xff";

            x = x * 6364136223846793005u + 1442695040888963407u;
            all[next + i] = (x >> 60) == 0 ? (char)(x >> 40) : some[(next + i) % (sizeof some - 1)];
        }
        feed(f, all + next, n);
        next += n;
        if ((x >> 50) % 3 == 0)
            journal_init(&f->j, &f->rec, &f->slip, f->j.exact); /* another worker */
    }
    EXPECT_U64(utf16_count(all, next, false, &units), units_end(&f->j).at);
    EXPECT_U64(units_end(&f->j).units, units);
    for (uint64_t at = journal_first(&f->j) + 4; at < next - 4; at += 613) {
        got = units_from(&f->j, at);
        EXPECT_U64(utf16_count(all, got.at, true, &units), got.at);
        EXPECT_U64(got.units, units);
        EXPECT(got.at >= at && got.at - at <= UTF8_OPEN_MAX);
        EXPECT_U64(units_find(&f->j, got.units, UINT64_MAX).at, got.at);
    }
    got = units_find(&f->j, 0, UINT64_MAX);
    EXPECT(got.at - journal_first(&f->j) <= UTF8_OPEN_MAX);
    utf16_count(all, got.at, true, &units);
    EXPECT_U64(got.units, units);
}

TEST(units_stay_exact_when_the_ring_turns_over)
{
    for (unsigned seed = 1; seed <= 6; seed++) {
        struct fixture f;

        setup(&f, seed % 2 == 0, true);
        check_turns(&f, seed);
        teardown(&f);
    }
}

/* Pipes are counted when somebody asks; what was gone by then is taken as one unit a byte. */
TEST(units_of_a_pipe_begin_with_the_first_question)
{
    static char bytes[30000];
    struct fixture f;
    uint64_t end;

    memset(bytes, 'x', sizeof bytes);
    setup(&f, true, false);
    for (int i = 0; i < 4; i++)
        feed(&f, bytes, sizeof bytes);
    EXPECT_U64(atomic_load(&f.rec.head->units.which), 0);
    feed_text(&f, "\xc3\xa9");
    end = units_end(&f.j).units;
    EXPECT_U64(end, 4 * sizeof bytes + 1);
    for (int i = 0; i < 4; i++)
        feed(&f, bytes, sizeof bytes);
    EXPECT_U64(units_end(&f.j).units, end + 4 * sizeof bytes);
    teardown(&f);
}

/* A binary that does not know of them may have served meanwhile. */
TEST(units_begin_anew_when_the_point_fell_out_of_the_ring)
{
    struct fixture f;

    setup(&f, true, true);
    feed_text(&f, "\xc3\xa9");
    expect_point(units_end(&f.j), 2, 1);
    atomic_store(&f.rec.head->next, 2 + 3 * RING);
    /* One unit, then two rings of bytes at one each; what is held has the é once more. */
    expect_point(units_end(&f.j), 2 + 3 * RING, 1 + 2 * RING + RING - 1);
    teardown(&f);
}

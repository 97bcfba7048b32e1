/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_journal.c - The journal: offsets, marks, and what a kill in the middle of read(2) leaves.
 */
#include "engine/journal/journal_own.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>

#include "base/io.h"

struct fixture {
    struct record rec;
    struct journal j;
    struct slip slip;
    int pipe[2];
};

static void setup(struct fixture *f, size_t cap, bool exact)
{
    memset(f, 0, sizeof *f);
    EXPECT_INT(record_create(&f->rec, journal_ring_bytes(cap, exact), 0), 0);
    journal_init(&f->j, &f->rec, &f->slip, exact);
    EXPECT_INT(pipe2(f->pipe, O_CLOEXEC | O_NONBLOCK), 0);
}

static void teardown(struct fixture *f)
{
    record_fini(&f->rec);
    close(f->pipe[0]);
    close(f->pipe[1]);
}

static void feed(struct fixture *f, const char *bytes, size_t len, enum stream s)
{
    EXPECT_INT(write(f->pipe[1], bytes, len), (ssize_t)len);
    EXPECT_INT(journal_read(&f->j, f->pipe[0], s, 65536), (ssize_t)len);
}

TEST(journal_gives_every_byte_an_address)
{
    struct fixture f;
    struct slice s;

    setup(&f, 4096, true);
    feed(&f, "hello ", 6, STREAM_STDOUT);
    feed(&f, "world", 5, STREAM_STDOUT);
    EXPECT_U64(journal_first(&f.j), 0);
    EXPECT_U64(journal_next(&f.j), 11);
    s = journal_slice(&f.j, 3, 100);
    EXPECT_BYTES(s.bytes, s.len, "lo world");
    EXPECT_INT(s.stream, STREAM_STDOUT);
    teardown(&f);
}

TEST(journal_slices_end_where_the_stream_changes)
{
    struct fixture f;
    struct slice s;

    setup(&f, 4096, true);
    feed(&f, "out", 3, STREAM_STDOUT);
    feed(&f, "ERR", 3, STREAM_STDERR);
    feed(&f, "out", 3, STREAM_STDOUT);
    s = journal_slice(&f.j, 0, 100);
    EXPECT_BYTES(s.bytes, s.len, "out");
    s = journal_slice(&f.j, 4, 100);
    EXPECT_BYTES(s.bytes, s.len, "RR");
    EXPECT_INT(s.stream, STREAM_STDERR);
    s = journal_slice(&f.j, 9, 100);
    EXPECT_U64(s.len, 0);
    s = journal_slice(&f.j, 1, SIZE_MAX); /* "as much as there is" once went over the change */
    EXPECT_BYTES(s.bytes, s.len, "ut");
    teardown(&f);
}

/* The ring turns over several times; what is held is always the last `cap` bytes, in order. */
TEST(journal_holds_the_last_bytes_after_many_turns)
{
    struct fixture f;
    char chunk[1000];
    uint64_t at, total = 0;
    size_t i;

    setup(&f, 4096, true);
    while (total < 50000) {
        for (i = 0; i < sizeof chunk; i++)
            chunk[i] = (char)((total + i) * 31 >> 3);
        feed(&f, chunk, sizeof chunk, STREAM_TTY);
        total += sizeof chunk;
    }
    EXPECT_U64(journal_next(&f.j), total);
    EXPECT_U64(journal_first(&f.j), total - 4096);
    for (at = journal_first(&f.j); at < total; at++)
        if (*journal_bytes(&f.j, at) != (char)(at * 31 >> 3))
            break;
    EXPECT_U64(at, total);
    teardown(&f);
}

/* More changes of stream than there are marks: bytes whose stream is forgotten are not held. */
TEST(journal_forgets_bytes_whose_stream_is_forgotten)
{
    struct fixture f;
    uint64_t i, first;

    setup(&f, 1 << 20, true);
    for (i = 0; i < RECORD_MARKS + 100; i++)
        feed(&f, "x", 1, i % 2 ? STREAM_STDERR : STREAM_STDOUT);
    first = journal_first(&f.j);
    EXPECT_U64(first, 100);
    EXPECT_INT(journal_slice(&f.j, first, 10).stream, STREAM_STDOUT);
    EXPECT_INT(journal_slice(&f.j, first + 1, 10).stream, STREAM_STDERR);
    teardown(&f);
}

/* Exact mode: the kernel's count says what an interrupted read brought. */
TEST(journal_recovers_what_the_kernel_counted)
{
    struct fixture f;

    setup(&f, 4096, true);
    feed(&f, "abc", 3, STREAM_STDOUT);
    memcpy(f.rec.ring + 3, "defgh", 5); /* the kernel wrote, nobody counted */
    EXPECT_U64(journal_recover(&f.j, 5), 5);
    EXPECT_U64(journal_next(&f.j), 8);
    EXPECT_BYTES(journal_bytes(&f.j, 0), 8, "abcdefgh");
    EXPECT_U64(journal_recover(&f.j, 0), 0);
    teardown(&f);
}

/* Pattern mode: no count to be had, the bytes themselves tell. Text of every length, also around the edge. */
TEST(journal_finds_an_interrupted_read_by_the_pattern)
{
    struct fixture f;
    char text[2000];
    size_t len;

    memset(text, 'a', sizeof text);
    setup(&f, 65536, false);
    for (len = 0; len < 300; len++) {
        uint64_t next;
        feed(&f, text, 7 + 600 * (len % 3), STREAM_TTY);
        next = journal_next(&f.j);
        EXPECT_INT(journal_read(&f.j, f.pipe[0], STREAM_TTY, 4096), -EAGAIN);
        memcpy(f.rec.ring + next % f.rec.head->ring_bytes, text, len);
        EXPECT_U64(journal_recover(&f.j, -1), len);
        EXPECT_U64(journal_next(&f.j), next + len);
    }
    teardown(&f);
}

TEST(journal_pattern_mode_never_shows_the_pattern)
{
    struct fixture f;
    char chunk[3000];
    uint64_t at;
    int i;

    memset(chunk, 'z', sizeof chunk);
    setup(&f, 65536, false);
    for (i = 0; i < 200; i++)
        feed(&f, chunk, sizeof chunk, STREAM_TTY);
    EXPECT(journal_next(&f.j) - journal_first(&f.j) >= 65536);
    for (at = journal_first(&f.j); at < journal_next(&f.j); at++)
        if (*journal_bytes(&f.j, at) != 'z')
            break;
    EXPECT_U64(at, journal_next(&f.j));
    teardown(&f);
}

TEST(journal_survives_in_its_descriptor)
{
    struct fixture f;
    struct record again;
    struct journal j;

    setup(&f, 4096, true);
    feed(&f, "kept", 4, STREAM_STDERR);
    EXPECT_INT(record_adopt(&again, dup(f.rec.fd)), 0);
    journal_init(&j, &again, &f.slip, true);
    EXPECT_U64(journal_next(&j), 4);
    EXPECT_BYTES(journal_bytes(&j, 0), 4, "kept");
    EXPECT_INT(journal_slice(&j, 0, 10).stream, STREAM_STDERR);
    record_fini(&again);
    teardown(&f);
}

/* A history in a file is the same record: it is adopted by its descriptor, and has more marks. */
TEST(journal_in_a_file_is_the_same_and_has_no_name)
{
    char dir[] = "/tmp/hf-journal-XXXXXX";
    struct record r, again;
    struct journal j;
    struct slip slip = {0};
    int fds[2];

    REQUIRE(mkdtemp(dir) != NULL);
    REQUIRE(pipe2(fds, O_CLOEXEC) == 0);
    EXPECT_INT(record_create_file(&r, 8 << 20, dir), 0);
    EXPECT_INT(rmdir(dir), 0); /* nothing is in it */
    EXPECT(r.mark_slots == (8 << 20) / RECORD_BYTES_PER_MARK);
    EXPECT(r.head->on_disk && !record_recycle(&r));
    journal_init(&j, &r, &slip, true);
    for (int i = 0; i < RECORD_MARKS + 100; i++) {
        EXPECT_INT(write(fds[1], "x", 1), 1);
        EXPECT_INT(journal_read(&j, fds[0], i % 2 ? STREAM_STDERR : STREAM_STDOUT, 10), 1);
    }
    EXPECT_U64(journal_first(&j), 0); /* a ring in memory would have lost 100 */
    EXPECT_INT(record_adopt(&again, dup(r.fd)), 0);
    journal_init(&j, &again, &slip, true);
    EXPECT_U64(again.mark_slots, r.mark_slots);
    EXPECT_U64(journal_next(&j), RECORD_MARKS + 100);
    EXPECT_INT(journal_slice(&j, 1, 10).stream, STREAM_STDERR);
    again.head->mark_slots = UINT64_MAX / 2;
    record_fini(&again);
    EXPECT(record_adopt(&again, r.fd) < 0);
    record_fini(&r);
    EXPECT(record_create_file(&r, 65536, dir) == -ENOENT);
    close(fds[0]);
    close(fds[1]);
}

TEST(journal_refuses_a_descriptor_that_is_not_a_record)
{
    struct record r;
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    EXPECT(record_adopt(&r, fd) < 0);
    close(fd);
}

TEST(journal_tail_bytes_does_not_cut_a_character_or_sequence)
{
    struct fixture f;

    setup(&f, 4096, true);
    feed(&f, "ab\xc3\xa4\xc3\xb6 end", 10, STREAM_TTY);
    EXPECT_U64(journal_tail_bytes(&f.j, 7, true), 4);
    EXPECT_U64(journal_tail_bytes(&f.j, 7, false), 4);
    EXPECT_U64(journal_tail_bytes(&f.j, 100, true), 0);
    feed(&f, "\x1b[31;1mred", 10, STREAM_TTY);
    EXPECT_U64(journal_tail_bytes(&f.j, 6, true), 17);
    teardown(&f);
}

TEST(journal_knows_which_mode_was_set_last)
{
    struct fixture f;

    setup(&f, 4096, true);
    EXPECT(!journal_last_is(&f.j, "\x1b[?1h", "\x1b[?1l"));
    feed(&f, "\x1b[?1h x", 7, STREAM_TTY);
    EXPECT(journal_last_is(&f.j, "\x1b[?1h", "\x1b[?1l"));
    feed(&f, "\x1b[?1l", 5, STREAM_TTY);
    EXPECT(!journal_last_is(&f.j, "\x1b[?1h", "\x1b[?1l"));
    teardown(&f);
}

TEST(journal_room_stops_before_what_is_held)
{
    struct fixture f;

    setup(&f, 8192, true);
    EXPECT_U64(journal_room(&f.j, 0), 8192);
    feed(&f, "0123456789", 10, STREAM_TTY);
    EXPECT_U64(journal_room(&f.j, 0), 8182);
    EXPECT_U64(journal_room(&f.j, 10), 8192);
    teardown(&f);
}

/* --- used again --------------------------------------------------------------- */

/* A mark more would take the oldest, and with it the stream of bytes that somebody has yet to see. */
TEST(journal_room_stops_before_a_mark_that_is_held)
{
    struct fixture f;
    uint64_t slots, n = 0;

    setup(&f, 1 << 20, true);
    slots = f.rec.mark_slots;
    while (n < slots) {
        EXPECT(journal_room(&f.j, 0) > 0);
        feed(&f, "x", 1, n++ % 2 == 0 ? STREAM_STDOUT : STREAM_STDERR);
    }
    EXPECT_U64(journal_room(&f.j, 0), 0);
    EXPECT(journal_room(&f.j, 1) > 0);
    EXPECT_U64(journal_first(&f.j), 0);
    feed(&f, "x", 1, STREAM_STDOUT);
    EXPECT_U64(journal_first(&f.j), 1);
    teardown(&f);
}

TEST(a_recycled_record_is_as_good_as_a_fresh_one)
{
    struct record fresh;
    struct fixture f;

    setup(&f, 4096, true);
    record_name(&f.rec, "proc_old");
    feed(&f, "old bytes", 9, STREAM_STDERR);
    f.rec.head->rows = 7;
    EXPECT(record_recycle(&f.rec));
    EXPECT_INT(record_create(&fresh, f.rec.head->ring_bytes, 0), 0);
    EXPECT_INT(memcmp(f.rec.head, fresh.head, sizeof *fresh.head), 0);
    journal_init(&f.j, &f.rec, &f.slip, true);
    EXPECT_U64(journal_next(&f.j), 0);
    feed(&f, "new", 3, STREAM_STDOUT);
    EXPECT_U64(journal_next(&f.j), 3);
    EXPECT_INT(memcmp(journal_bytes(&f.j, 0), "new", 3), 0);
    record_fini(&fresh);
    teardown(&f);
}

TEST(a_record_with_much_memory_is_not_recycled)
{
    struct fixture f;

    setup(&f, 4096, true);
    record_name(&f.rec, "proc_old");
    atomic_store(&f.rec.head->next, RECORD_RECYCLE_BYTES + 1);
    EXPECT(!record_recycle(&f.rec));
    EXPECT_STR(f.rec.head->id, "proc_old");
    teardown(&f);
}

/* --- runs --------------------------------------------------------------------------- */

TEST(runs_are_numbered_densely_and_end_where_the_stream_changes)
{
    struct fixture f;

    setup(&f, 4096, true);
    EXPECT_U64(journal_run_count(&f.j), 0);
    journal_cut(&f.j); /* of nothing is nothing */
    feed(&f, "one", 3, STREAM_STDOUT);
    feed(&f, "two", 3, STREAM_STDERR);
    feed(&f, "three", 5, STREAM_STDOUT);
    EXPECT_U64(journal_run_first(&f.j), 0);
    EXPECT_U64(journal_run_count(&f.j), 3);
    EXPECT_U64(journal_run(&f.j, 1).at, 3);
    EXPECT_U64(journal_run(&f.j, 1).len, 3);
    EXPECT_INT(journal_run(&f.j, 1).stream, STREAM_STDERR);
    EXPECT_INT(memcmp(journal_run(&f.j, 2).bytes, "three", 5), 0);
    teardown(&f);
}

TEST(a_run_that_was_cut_does_not_grow)
{
    struct fixture f;

    setup(&f, 4096, true);
    feed(&f, "one", 3, STREAM_STDOUT);
    journal_cut(&f.j);
    journal_cut(&f.j);
    EXPECT_U64(journal_run_count(&f.j), 1);
    feed(&f, "two", 3, STREAM_STDOUT);
    EXPECT_U64(journal_run_count(&f.j), 2);
    EXPECT_U64(journal_run(&f.j, 0).len, 3);
    EXPECT_INT(memcmp(journal_run(&f.j, 1).bytes, "two", 3), 0);
    teardown(&f);
}

/* Platforms that number pieces of text decode each of them by itself. */
TEST(a_run_does_not_end_inside_a_character)
{
    struct fixture f;
    struct slice s;

    setup(&f, 4096, true);
    feed(&f, "a\xe2\x82", 3, STREAM_STDOUT);
    journal_cut_text(&f.j);
    journal_cut_text(&f.j);
    EXPECT_U64(journal_run_count(&f.j), 2);
    EXPECT_U64(journal_run(&f.j, 0).len, 1);
    EXPECT(journal_run_may_grow(&f.j, 1));
    feed(&f, "\xac\xf0\x9f", 3, STREAM_STDOUT);
    f.rec.marks[1].time_ms -= 5000; /* so that the next read makes a mark of its own */
    feed(&f, "\x98\x80", 2, STREAM_STDOUT);
    s = journal_run(&f.j, 1);
    EXPECT_BYTES(s.bytes, s.len, "\xe2\x82\xac");
    s = journal_run(&f.j, 2);
    EXPECT_BYTES(s.bytes, s.len, "\xf0\x9f\x98\x80");
    EXPECT_U64(s.number, 2);
    EXPECT_U64(journal_run_count(&f.j), 3);
    teardown(&f);
}

/* A look at the other stream that finds nothing ends no run. */
TEST(a_read_that_brings_nothing_leaves_no_mark)
{
    struct fixture f;

    setup(&f, 4096, true);
    feed(&f, "a\xe2\x82", 3, STREAM_STDOUT);
    EXPECT_INT(journal_read(&f.j, f.pipe[0], STREAM_STDERR, 65536), -EAGAIN);
    feed(&f, "\xac", 1, STREAM_STDOUT);
    EXPECT_U64(journal_run_count(&f.j), 1);
    EXPECT_U64(journal_run(&f.j, 0).len, 4);
    teardown(&f);
}

/* What was cut off by force or by the other stream stays as it was given. */
TEST(a_character_that_was_cut_is_not_put_together_again)
{
    struct fixture f;

    setup(&f, 4096, true);
    feed(&f, "a\xe2", 2, STREAM_STDOUT);
    journal_cut(&f.j);
    f.rec.marks[1].time_ms -= 5000;
    feed(&f, "\x82\xac\xc3", 3, STREAM_STDOUT);
    feed(&f, "err", 3, STREAM_STDERR);
    feed(&f, "\xa4", 1, STREAM_STDOUT);
    EXPECT_U64(journal_run_count(&f.j), 4);
    EXPECT_U64(journal_run(&f.j, 0).len, 2);
    EXPECT_U64(journal_run(&f.j, 1).len, 3);
    EXPECT_U64(journal_run(&f.j, 3).len, 1);
    teardown(&f);
}

static void resize(struct fixture *f, uint16_t rows, uint16_t cols)
{
    f->rec.head->rows = rows;
    f->rec.head->cols = cols;
    journal_mark_size(&f->j, rows, cols);
}

/*
 * Readers remember the number of the last mark that they have seen. A second size at the same
 * offset once took the place of the first under its number, so they never learned of it.
 */
TEST(journal_numbers_every_size_also_where_nothing_was_written)
{
    struct fixture f;
    struct journal_mark m;
    uint64_t next = 0;

    setup(&f, 4096, true);
    f.rec.head->pty = 1;
    for (uint16_t i = 1; i <= 6; i++) {
        if (i == 4)
            feed(&f, "ab", 2, STREAM_TTY);
        resize(&f, i, (uint16_t)(10 * i));
        REQUIRE(journal_mark_from(&f.j, next, &m));
        while (journal_mark_from(&f.j, next, &m))
            next = m.number + 1;
        EXPECT_U64(m.rows, i);
        EXPECT_U64(m.cols, 10 * i);
        EXPECT_U64(m.at, i < 4 ? 0 : 2);
    }
    /* Back to an earlier size is a change as well. */
    resize(&f, 5, 50);
    REQUIRE(journal_mark_from(&f.j, next, &m));
    EXPECT_U64(m.rows, 5);
    EXPECT(journal_mark_at(&f.j, 2, &m));
    EXPECT_U64(m.rows, 5);
    teardown(&f);
}

/* A size before the first output makes an empty run; readers count from it, and miss no number. */
TEST(journal_counts_runs_from_the_first_although_it_is_empty)
{
    struct fixture f;

    setup(&f, 4096, true);
    f.rec.head->pty = 1;
    resize(&f, 24, 80);
    resize(&f, 30, 100);
    EXPECT_U64(journal_run_first(&f.j), 0);
    feed(&f, "ab", 2, STREAM_TTY);
    EXPECT_U64(journal_run_first(&f.j), 0);
    EXPECT_U64(journal_run(&f.j, 0).len, 0);
    EXPECT_U64(journal_run(&f.j, journal_run_count(&f.j) - 1).len, 2);
    teardown(&f);
}

/* Without changes of size, marks under which nothing was written replace each other. */
TEST(journal_keeps_one_mark_for_many_reads_that_bring_nothing)
{
    struct fixture f;
    struct journal_mark m;

    setup(&f, 4096, true);
    for (int i = 0; i < 100; i++)
        journal_mark_size(&f.j, 24, 80);
    EXPECT(journal_mark_from(&f.j, 0, &m));
    EXPECT(!journal_mark_from(&f.j, m.number + 1, &m));
    teardown(&f);
}

/* They are a ring: sizes without end push out the oldest and cost no output. */
TEST(journal_holds_the_last_of_very_many_sizes_and_all_output)
{
    struct fixture f;
    struct journal_mark m;
    uint16_t i;

    setup(&f, 4096, true);
    f.rec.head->pty = 1;
    resize(&f, 24, 80);
    feed(&f, "ab", 2, STREAM_TTY);
    for (i = 1; i < 2 * RECORD_MARKS; i++)
        resize(&f, i, 80);
    EXPECT_U64(journal_first(&f.j), 0);
    REQUIRE(journal_mark_at(&f.j, 2, &m));
    EXPECT_U64(m.rows, i - 1);
    EXPECT(!journal_mark_from(&f.j, m.number + 1, &m));
    feed(&f, "cd", 2, STREAM_TTY);
    EXPECT_U64(journal_slice(&f.j, 0, 100).len, 4);
    teardown(&f);
}

/* A resize happened when it did, although the program wrote only later. */
TEST(journal_keeps_the_time_of_a_size_that_nothing_was_written_under)
{
    struct fixture f;
    struct journal_mark m;
    uint64_t n;

    setup(&f, 4096, true);
    f.rec.head->pty = 1;
    f.rec.head->rows = 24;
    f.rec.head->cols = 80;
    EXPECT(!journal_mark_at(&f.j, 0, &m));
    feed(&f, "ab", 2, STREAM_TTY);
    f.rec.head->rows = 50;
    f.rec.head->cols = 100;
    journal_mark_size(&f.j, 50, 100);
    f.rec.marks[1].time_ms -= 5000; /* as if some seconds had passed */
    feed(&f, "cd", 2, STREAM_TTY);
    EXPECT(journal_mark_at(&f.j, 0, &m));
    EXPECT_U64(m.rows, 24);
    EXPECT(journal_mark_from(&f.j, m.number + 1, &m));
    EXPECT_U64(m.at, 2);
    EXPECT_U64(m.rows, 50);
    n = m.number;
    EXPECT(journal_mark_from(&f.j, n + 1, &m));
    EXPECT_U64(m.at, 2);
    EXPECT(m.time_ms - f.rec.marks[1].time_ms >= 5000);
    EXPECT(!journal_mark_from(&f.j, n + 2, &m));
    teardown(&f);
}

/* A change of size may leave a run without bytes, which a client never gets: its numbers must not
 * show it. */
TEST(dense_numbers_count_runs_with_bytes_only)
{
    struct fixture f;
    uint64_t expected = 0, n;

    setup(&f, 4096, true);
    f.rec.head->pty = 1;
    for (uint16_t i = 1; i <= 9; i++) {
        resize(&f, i, 80);
        resize(&f, i, 90);
        if (i % 3 == 0)
            f.rec.marks[journal_run_count(&f.j)].time_ms -= 5000; /* output comes only later */
        feed(&f, "ab", 2, STREAM_TTY);
        f.rec.marks[journal_run_count(&f.j) - 1].time_ms -= 5000;
    }
    for (n = journal_run_first(&f.j); n < journal_run_count(&f.j); n++) {
        struct slice s = journal_run(&f.j, n);

        EXPECT(s.dense <= n);
        if (s.len > 0)
            EXPECT_U64(s.dense, expected++);
    }
    EXPECT_U64(expected, 9);
    EXPECT(journal_run_count(&f.j) > expected);
    teardown(&f);
}

/* --- edges ---------------------------------------------------------------------------- */

TEST(every_stream_has_its_name)
{
    EXPECT_STR(stream_name(STREAM_TTY), "tty");
    EXPECT_STR(stream_name(STREAM_STDOUT), "stdout");
    EXPECT_STR(stream_name(STREAM_STDERR), "stderr");
}

/* Whatever is asked for, one read in pattern mode stays inside the window that was filled. */
TEST(journal_reads_no_more_than_its_window)
{
    static char much[JOURNAL_WINDOW_BYTES + 4096];
    struct fixture f;

    setup(&f, 1 << 20, false);
    EXPECT_U64(journal_room(&f.j, 0), 1 << 20);
    EXPECT(fcntl(f.pipe[1], F_SETPIPE_SZ, 1 << 20) > 0);
    memset(much, 'x', sizeof much);
    EXPECT_INT(write(f.pipe[1], much, sizeof much), (ssize_t)sizeof much);
    EXPECT_INT(journal_read(&f.j, f.pipe[0], STREAM_STDOUT, SIZE_MAX), JOURNAL_WINDOW_BYTES);
    EXPECT_INT(journal_read(&f.j, f.pipe[0], STREAM_STDOUT, SIZE_MAX), 4096);
    /* The kernel does not say what an exact read brought: nothing is made up. */
    f.j.exact = true;
    EXPECT_U64(journal_recover(&f.j, -1), 0);
    journal_init(&f.j, &f.rec, &f.slip, false); /* the pattern is there already */
    teardown(&f);
}

TEST(a_journal_in_which_nothing_was_ever_marked_has_neither_runs_nor_slices)
{
    struct journal_mark m;
    struct fixture f;

    setup(&f, 4096, true);
    EXPECT(!journal_mark_at(&f.j, 0, &m));
    EXPECT_U64(journal_run_count(&f.j), 0);
    journal_cut(&f.j);
    journal_cut_text(&f.j);
    EXPECT_U64(journal_run_count(&f.j), 0);
    /* Bytes that a damaged record counts without a mark are not shown as any stream's. */
    atomic_store(&f.rec.head->next, 5000);
    EXPECT_U64(journal_slice(&f.j, 4990, 10).len, 0);
    EXPECT_U64(journal_run_first(&f.j), 0);
    teardown(&f);
}

TEST(a_mark_is_made_for_a_new_width_a_clock_set_back_and_much_output)
{
    struct fixture f;
    uint64_t runs;

    setup(&f, 1 << 20, true);
    feed(&f, "a", 1, STREAM_TTY);
    runs = journal_run_count(&f.j);
    f.rec.head->cols++;
    feed(&f, "b", 1, STREAM_TTY);
    EXPECT_U64(journal_run_count(&f.j), runs + 1);
    f.rec.marks[runs].time_ms += 1000000; /* the clock was set back since */
    feed(&f, "c", 1, STREAM_TTY);
    EXPECT_U64(journal_run_count(&f.j), runs + 2);
    f.rec.marks[runs + 1].time_ms += 1000; /* now, whatever the machine does meanwhile */
    f.rec.marks[runs + 1].at = 0;
    atomic_store(&f.rec.head->next, 512 * 1024);
    feed(&f, "d", 1, STREAM_TTY);
    EXPECT_U64(journal_run_count(&f.j), runs + 3);
    teardown(&f);
}

/* Marks that were pushed out are asked for by number: the oldest that is held is the answer. */
TEST(a_mark_that_is_gone_gives_the_oldest_that_is_held)
{
    struct journal_mark m;
    struct fixture f;
    uint64_t slots;

    setup(&f, 1 << 20, true);
    slots = f.rec.mark_slots;
    for (uint64_t i = 0; i < slots + 10; i++)
        feed(&f, "x", 1, i % 2 ? STREAM_STDERR : STREAM_STDOUT);
    EXPECT(journal_mark_from(&f.j, 0, &m));
    EXPECT_U64(m.number, 10);
    EXPECT(journal_mark_at(&f.j, 0, &m));
    EXPECT_U64(m.number, 10);
    /* A read that brings nothing cannot take its mark back: it has pushed one out. */
    EXPECT_INT(journal_read(&f.j, f.pipe[0], STREAM_STDOUT, 10), -EAGAIN);
    EXPECT(journal_mark_from(&f.j, 0, &m));
    EXPECT_U64(m.number, 11);
    teardown(&f);
}

TEST(journal_tail_bytes_goes_no_further_than_it_must)
{
    static char bytes[8192];
    struct fixture f;

    setup(&f, 16384, true);
    memset(bytes, 0x80, sizeof bytes); /* no character begins anywhere */
    feed(&f, bytes, sizeof bytes, STREAM_STDOUT);
    EXPECT_U64(journal_tail_bytes(&f.j, 0, false), sizeof bytes);
    EXPECT_U64(journal_tail_bytes(&f.j, 100, false), sizeof bytes - 100 + 3);
    EXPECT_U64(journal_tail_bytes(&f.j, 2, false), sizeof bytes);
    EXPECT_U64(journal_tail_bytes(&f.j, sizeof bytes, false), 0);
    teardown(&f);
}

TEST(a_mode_is_looked_for_in_the_last_part_of_a_long_history)
{
    static char bytes[65536];
    struct fixture f;

    setup(&f, 8 << 20, true);
    EXPECT(fcntl(f.pipe[1], F_SETPIPE_SZ, 1 << 20) > 0);
    feed(&f, "\x1b[?1h", 5, STREAM_TTY);
    memset(bytes, 'x', sizeof bytes);
    for (int i = 0; i < 66; i++)
        feed(&f, bytes, sizeof bytes, STREAM_TTY);
    EXPECT(!journal_last_is(&f.j, "\x1b[?1h", "\x1b[?1l"));
    feed(&f, "\x1b[?1h\x1b[?", 8, STREAM_TTY);
    EXPECT(journal_last_is(&f.j, "\x1b[?1h", "\x1b[?1l"));
    EXPECT(!journal_last_is(&f.j, "y", "z"));
    teardown(&f);
}

TEST(the_last_runs_are_those_that_together_fit)
{
    struct fixture f;
    uint64_t n;

    setup(&f, 1 << 20, false);
    feed(&f, "out", 3, STREAM_STDOUT);
    feed(&f, "error", 5, STREAM_STDERR);
    feed(&f, "more", 4, STREAM_STDOUT);
    n = journal_run_count(&f.j);
    EXPECT_U64(journal_run_last(&f.j, 0, 3), n);
    EXPECT_U64(journal_run_last(&f.j, 0, 4), n - 1);
    EXPECT_U64(journal_run_last(&f.j, 0, 11), n - 2);
    EXPECT_U64(journal_run_last(&f.j, 0, 12), n - 3);
    EXPECT_U64(journal_run_last(&f.j, n - 1, 12), n - 1);
    EXPECT_U64(journal_run_last(&f.j, n, 12), n);
    teardown(&f);
}

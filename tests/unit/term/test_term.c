/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_term.c - The screen model and its snapshots. That they agree with xterm.js is tested
 * against xterm.js (tests/clients/native/snapshot.test.mjs); these are the rules it stands on.
 */
#include "test.h"

#include "base/buf.h"
#include "base/limits.h"
#include "term/snapshot.h"

static struct term *shown(int rows, int cols, const char *bytes)
{
    struct term *t = term_new(rows, cols);

    term_feed(t, bytes, strlen(bytes));
    term_settle(t);
    return t;
}

/* A line of the screen; empty cells are dots. */
static const char *line(const struct term *t, int y)
{
    static char out[4096];
    const struct row *r = grid_row(t->now, t->now->base + (size_t)y);
    size_t n = 0;
    int col;

    for (col = 0; col < t->cols; col++) {
        char text[CELL_TEXT_MAX];
        size_t len = term_cell_text(t, row_cell(r, col), text);
        if (len == 0 && cell_width(row_cell(r, col)) == 1)
            text[0] = '.', len = 1;
        memcpy(out + n, text, len);
        n += len;
    }
    out[n] = '\0';
    return out;
}

static bool row_has_text(const struct term *t, int y, int col, const char *want)
{
    char text[CELL_TEXT_MAX];

    term_cell_text(t, row_cell(grid_row(t->now, t->now->base + (size_t)y), col), text);
    return strcmp(text, want) == 0;
}

TEST(term_shows_text_where_the_cursor_is)
{
    struct term *t = shown(3, 6, "ab\r\n\x1b[3;5Hxy");

    EXPECT_STR(line(t, 0), "ab....");
    EXPECT_STR(line(t, 2), "....xy");
    EXPECT_INT(t->now->x, 6); /* waits to wrap */
    term_free(t);
}

TEST(term_wraps_and_scrolls_into_the_scrollback)
{
    struct term *t = shown(2, 3, "abcdefgh");

    EXPECT_STR(line(t, 0), "def");
    EXPECT_STR(line(t, 1), "gh.");
    EXPECT_U64(t->now->base, 1);
    EXPECT(grid_row(t->now, 2)->wrapped);
    term_free(t);
}

TEST(term_reflows_what_was_wrapped)
{
    struct term *t = shown(3, 4, "abcdef\r\n$ ");

    term_resize(t, 3, 8);
    EXPECT_STR(line(t, 0), "abcdef..");
    term_resize(t, 3, 3);
    EXPECT_STR(line(t, 0), "abc");
    EXPECT_STR(line(t, 1), "def");
    term_free(t);
}

/* --- what it may cost ---------------------------------------------------------- */

#define REPEATED(unit, times) repeated((unit), (times), (char[(sizeof(unit) - 1) * (times) + 1]){0})

static const char *repeated(const char *unit, size_t times, char *out)
{
    size_t n = strlen(unit);

    for (size_t i = 0; i < times; i++)
        memcpy(out + i * n, unit, n);
    return out;
}

/*
 * A few kilobytes of REP behind a character with a combining mark once kept the worker from
 * everybody else for most of a second.
 */
TEST(term_repeats_no_more_than_a_screen_and_stands_where_it_would)
{
    struct term *t = shown(24, 80, "e\xcc\x81\x1b[9999b");

    EXPECT(t->work < 2 * 24 * 80 + 200 * 80);
    EXPECT_INT(t->now->x, 80); /* behind 10000 of them */
    EXPECT(row_has_text(t, 23, 79, "e\xcc\x81"));
    term_free(t);
    t = shown(24, 80, "x\x1b[2147483647b");
    EXPECT(t->work < 2 * 24 * 80 + 200 * 80);
    EXPECT_INT(t->now->x, 48); /* 2^31 modulo 80 */
    term_free(t);
    t = shown(3, 5, "漢\x1b[1000b");
    EXPECT_INT(t->now->x, 2); /* 1001 of them, two a line */
    EXPECT_STR(line(t, 2), "漢...");
    term_free(t);
    t = shown(3, 5, "ab\x1b[4h\rc\x1b[3b");
    EXPECT_STR(line(t, 0), "cccca");
    term_free(t);
}

TEST(term_repeats_what_combining_marks_have_made)
{
    struct term *t = shown(2, 8, "ae\xcc\x81\xcc\x82\x1b[3bz");

    EXPECT_STR(line(t, 0), "ae\xcc\x81\xcc\x82"
                           "e\xcc\x81\xcc\x82"
                           "e\xcc\x81\xcc\x82"
                           "e\xcc\x81\xcc\x82z..");
    term_free(t);
}

/* Three bytes that touch every cell: the feed ends behind them, not 4096 bytes later. */
TEST(term_ends_a_feed_where_enough_cells_were_touched)
{
    struct term *t = term_new(700, 700);
    const char *bytes = REPEATED("\x1b#8", 10);
    size_t at = 0;

    while (at < 30) {
        uint64_t before = t->work;

        EXPECT_U64(term_feed_some(t, bytes + at, 30 - at, 1000), 3);
        EXPECT(t->work - before < 2 * 700 * 700);
        at += 3;
    }
    EXPECT_U64(t->vt.at, 30);
    term_free(t);
}

/* Sequences that cost more than they look, each as often as it goes into 1000 bytes. */
TEST(term_does_little_more_than_it_was_asked_for_in_one_feed)
{
    static const char *const units[] = {"\x1b#8",
                                        "\x1b[41m\x1b[2J",
                                        "\x1b[?2J",
                                        "\x1b[ @",
                                        "\x1b['}",
                                        "\x1b[2;9r\n",
                                        "\x1b[2;999r\x1bM",
                                        "\x1b[999L",
                                        "\x1b[999S",
                                        "\x1b[?47h",
                                        "\x1b[?47h\x1b[?47l",
                                        "\x1b"
                                        "c",
                                        "\x1b[3g",
                                        "\x1b[4hxxxxxxxx",
                                        "x\x1b[99999999b",
                                        "\x1b[4hx\x1b[9999b",
                                        "e\xcc\x81\xcc\x82\x1b[999b",
                                        "\x1b[999I",
                                        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"};
    char bytes[1000];

    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        struct term *t = term_new(50, 40);
        size_t n = strlen(units[i]), len = sizeof bytes / n * n;

        for (size_t k = 0; k < len; k += n)
            memcpy(bytes + k, units[i], n);
        for (size_t at = 0; at < len;) {
            uint64_t before = t->work;

            at += term_feed_some(t, bytes + at, len - at, 1000);
            EXPECT(t->work - before < 1000 + 128 * 40 + 2 * 50 * (40 + 16));
        }
        EXPECT_U64(t->vt.at, len);
        term_free(t);
    }
}

TEST(term_repeats_within_bounds_on_a_huge_screen_that_moves)
{
    struct term *t = shown(128, 4096, "\x1b[41m\x1b[2J");
    uint64_t before = t->work;

    term_feed(t, "\x1b[4hx\x1b[99999999b", 16);
    EXPECT(t->work - before < 5 * LIMIT_SCREEN_CELLS);
    term_free(t);
    t = shown(4096, 128, "\x1b[2;4096r\x1b[4096H");
    before = t->work;
    term_feed(t, "x\x1b[99999999b", 12);
    EXPECT(t->work - before < 5 * LIMIT_SCREEN_CELLS);
    term_free(t);
}

/* Looking for a text among thousands is work as well. */
TEST(term_counts_the_search_for_texts_with_marks)
{
    struct term *t = term_new(4, 80);
    char text[8];
    uint64_t before;

    for (unsigned i = 0; i < 1000; i++) {
        size_t n = (size_t)snprintf(text, sizeof text, "%c%c%c", 'a' + i % 26, 0xcc, 0x80 + i / 26);
        term_feed(t, text, n);
    }
    before = t->work;
    term_feed(t, "a\xcc\x80", 3);
    EXPECT(t->work - before >= 900);
    term_free(t);
}

TEST(term_is_the_same_however_often_its_feeds_end)
{
    const char *bytes = "ab\x1b[41m漢\x1b[5b\x1b[2;4r\n\n\n\x1b[4hx\x1b[?1049hq\x1b#8\x1b[?1049l"
                        "e\xcc\x81\x1b[30b\x1b]8;;http://x/\x07link\x1b]8;;\x07";
    struct term *a = shown(5, 9, bytes), *b = term_new(5, 9);
    struct buf pa = {0}, pb = {0};
    size_t at = 0, len = strlen(bytes);

    while (at < len)
        at += term_feed_some(b, bytes + at, len - at, 1);
    term_settle(b);
    snapshot_write(&pa, a, "");
    snapshot_write(&pb, b, "");
    EXPECT_MEM(buf_data(&pb), pb.len, buf_data(&pa), pa.len);
    EXPECT_U64(a->work, b->work);
    buf_fini(&pa);
    buf_fini(&pb);
    term_free(a);
    term_free(b);
}

/* 60 bytes on a terminal of 4096 x 4096 once took some 400 MB. */
TEST(term_of_any_size_is_bounded)
{
    struct term *t = shown(4096, 4096, "\x1b[4m\x1b[58;5;1m\x1b[41m\x1b[2J\x1b[?47h\x1b[2J");

    EXPECT_INT(t->cols, 4096);
    EXPECT_INT(t->rows, LIMIT_SCREEN_CELLS / 4096);
    EXPECT(term_memory(t) <
           2 * LIMIT_SCREEN_CELLS * (sizeof(struct cell) + sizeof(struct extra)) + (1 << 20));
    term_resize(t, 4096, 100);
    EXPECT_INT(t->rows, 4096);
    term_resize(t, 4096, 4096);
    EXPECT_INT(t->rows, LIMIT_SCREEN_CELLS / 4096);
    term_free(t);
}

/* --- its rules ----------------------------------------------------------------- */

TEST(term_gives_wide_characters_two_cells_and_tears_none)
{
    struct term *t = shown(2, 4, "a漢字");

    EXPECT_STR(line(t, 0), "a漢.");
    EXPECT_STR(line(t, 1), "字..");
    term_feed(t, "\x1b[1;3Hx", 7);
    term_settle(t);
    EXPECT_STR(line(t, 0), "a.x.");
    term_free(t);
}

TEST(term_joins_combining_marks)
{
    struct term *t = shown(1, 4, "e\xcc\x81x");

    EXPECT_STR(line(t, 0), "e\xcc\x81x..");
    term_free(t);
}

TEST(term_keeps_the_main_screen_under_the_alternate_one)
{
    struct term *t = shown(2, 4, "main\x1b[?1049h\x1b[Halt");

    EXPECT_STR(line(t, 0), "alt.");
    term_feed(t, "\x1b[?1049l", 8);
    EXPECT_STR(line(t, 0), "main");
    term_free(t);
}

/* What a snapshot makes of a fresh terminal must be the terminal it was taken of. */
static void round_trip(int rows, int cols, const char *bytes, const char *later)
{
    struct term *t = shown(rows, cols, bytes), *u;
    struct buf b = {0}, c = {0}, d = {0};

    snapshot_write(&b, t, "title");
    u = term_new(rows, cols);
    term_feed(u, buf_data(&b), b.len);
    term_feed(t, later, strlen(later));
    term_feed(u, later, strlen(later));
    term_settle(t);
    term_settle(u);
    snapshot_write(&c, t, NULL);
    snapshot_write(&d, u, NULL);
    EXPECT_STR(buf_cstr(&d), buf_cstr(&c));
    buf_fini(&b);
    buf_fini(&c);
    buf_fini(&d);
    term_free(t);
    term_free(u);
}

TEST(snapshot_makes_the_same_terminal_again)
{
    round_trip(3, 10, "one\r\ntwo\r\nthree\r\nfour\r\n\x1b[1;31;48;5;20mred", "more\r\n");
    round_trip(3, 6, "abcdefghij\r\nwide 漢字漢字",
               "\xcc\x81"
               "x");
    round_trip(4, 8, "x\x1b[?1049h\x1b[2;3r\x1b[?6h\x1b[44m\x1b[2J\x1b[1;2Hmid",
               "\n\n\x1b[?1049ly");
    round_trip(4, 8, "\x1b[3g\x1b[5G\x1bH\r\x1b(0lqk\x1b(B\x0e", "\tx");
    round_trip(2, 5, "12345", "6");
    round_trip(2, 5, "12345\x1b[m", "6");
    round_trip(3, 5, "\x1b[4habc\x1b[1;2H漢", "z");
    round_trip(3, 5,
               "\x1b[1mbold\x1b"
               "7\x1b[m\r\n",
               "\x1b"
               "8x");
}

TEST(snapshot_has_no_query)
{
    struct term *t = shown(3, 10, "\x1b[c\x1b[6n\x1b]11;?\x07\x1b[?25$p\x1b[>q\x05text");
    struct buf b = {0};

    snapshot_write(&b, t, NULL);
    EXPECT(strstr(buf_cstr(&b), "[c") == NULL);
    EXPECT(strchr(buf_cstr(&b), '?') == NULL || strstr(buf_cstr(&b), "?25h") != NULL);
    buf_fini(&b);
    term_free(t);
}

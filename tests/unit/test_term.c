/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The screen model and its snapshots. That they agree with xterm.js is tested
 * against xterm.js (tests/clients/native/snapshot.test.mjs); these are the rules it stands on.
 */
#include "test.h"

#include "base/buf.h"
#include "engine/snapshot.h"

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

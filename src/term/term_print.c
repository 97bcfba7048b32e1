/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term_print.c - puts text into cells: wrapping, wide characters, combining marks, insert mode.
 * Layer: term.
 */
#include <string.h>

#include "base/limits.h"
#include "term/term_own.h"

/*
 * The work of one REP: more than a screen of ordinary text. On a huge screen where each line or
 * character moves others, REP ends early, because it is the one sequence that cannot be
 * interrupted.
 */
#define REPEAT_WORK (4ULL * LIMIT_SCREEN_CELLS)

static void put(struct term *t, struct row *r, int col, uint32_t content, unsigned width)
{
    struct cell c = {content | width << CELL_WIDTH_SHIFT, t->pen.fg, t->pen.bg};

    row_put(r, col, c, t->pen.extra);
}

/* Before the first character of a run: if the cursor is inside a wide character, clears its left
 * half. */
static void run_begin(struct term *t, struct row *r)
{
    t->in_run = true;
    if (t->now->x > 0 && row_width(r, t->now->x - 1) == 2)
        put(t, r, t->now->x - 1, 0, 1);
}

/* After the last character of a run: clears a remaining right half. */
void term_run_end(struct term *t)
{
    struct grid *g = t->now;
    struct row *r;

    if (!t->in_run)
        return;
    t->in_run = false;
    r = grid_line(g);
    if (g->x < t->cols && row_width(r, g->x) == 0 && !row_has_content(r, g->x))
        put(t, r, g->x, 0, 1);
}

void term_scroll(struct term *t, bool wrapped)
{
    const struct grid *g = t->now;
    bool shifts = g->top != 0 || g->bottom < t->rows - 1;

    t->work += (size_t)t->cols + (shifts ? (size_t)t->rows : 0);
    grid_scroll(t->now, t->cols, term_erase_cell(t), wrapped);
}

/* Moves to the start of the next line, which becomes a continuation of this one. */
static struct row *wrap(struct term *t, struct row *r)
{
    struct grid *g = t->now;
    int col = g->x;

    g->x = 0;
    g->y++;
    if (g->y == g->bottom + 1) {
        g->y--;
        term_scroll(t, true);
    } else {
        if (g->y >= t->rows)
            g->y = t->rows - 1;
        grid_line(g)->wrapped = true;
    }
    for (; col < t->cols; col++)
        put(t, r, col, 0, 1);
    return grid_line(g);
}

static void join(struct term *t, struct row *r, uint32_t cp)
{
    int col = t->now->x - (row_width(r, t->now->x - 1) > 0 ? 1 : 2);
    struct cell c = row_cell(r, col);
    uint32_t number;

    if ((c.content & CELL_HAS_CONTENT) == 0) {
        c.content = cp | (c.content & (3u << CELL_WIDTH_SHIFT));
    } else {
        number = term_text_with(t, c.content, cp);
        if (number == 0)
            return; /* too many marks: the rest is dropped */
        c.content = number | CELL_COMBINED | (c.content & (3u << CELL_WIDTH_SHIFT));
    }
    c.content = (c.content & ~(3u << CELL_WIDTH_SHIFT)) | (uint32_t)t->join << CELL_WIDTH_SHIFT;
    row_put(r, col, c, row_extra(r, col));
}

static void insert_room(struct term *t, struct row *r, unsigned width)
{
    struct cell fill = {CELL_EMPTY, t->pen.fg, t->pen.bg & ~(uint32_t)BG_EXTRA};
    bool torn = row_width(r, r->len - 1 - (int)width) == 2 && r->len - 1 - (int)width >= t->now->x;

    t->work += (size_t)t->cols;
    if (t->now->x > 0 && row_width(r, t->now->x - 1) == 2)
        put(t, r, t->now->x - 1, 0, 1);
    row_insert(r, t->now->x, (int)width, fill);
    if (torn)
        put(t, r, r->len - 1, 0, 1);
    if (row_width(r, t->cols - 1) == 2)
        put(t, r, t->cols - 1, 0, 1);
}

/* `cp` may also be the number of a text, with CELL_COMBINED. */
static struct row *print_in(struct term *t, struct row *r, uint32_t cp, unsigned width)
{
    struct grid *g = t->now;

    t->work++;
    if (width == 0 && t->join > 0 && g->x > 0) {
        join(t, r, cp);
        return r;
    }
    t->join = (uint8_t)width;
    if (g->x + (int)width > t->cols) {
        if (modes_on(&t->modes, MODE_AUTOWRAP)) {
            r = wrap(t, r);
        } else {
            g->x = t->cols - 1;
            if (width == 2)
                return r;
        }
    }
    if (modes_on(&t->modes, MODE_INSERT))
        insert_room(t, r, width);
    put(t, r, g->x++, cp, width);
    if (width == 2)
        put(t, r, g->x++, 0, 0);
    return r;
}

void term_print(struct term *t, uint32_t cp)
{
    struct row *r = grid_line(t->now);

    if (!t->in_run)
        run_begin(t, r);
    print_in(t, r, cp, term_char_width(cp));
}

void term_text(struct term *t, const char *ascii, size_t len)
{
    struct row *r = grid_line(t->now);
    uint8_t set = t->modes.charset_now;
    size_t i;

    if (!t->in_run)
        run_begin(t, r);
    for (i = 0; i < len; i++) {
        uint32_t cp = (uint8_t)ascii[i];
        r = print_in(t, r, set == 0 ? cp : term_charset_char(set, cp), 1);
    }
}

/*
 * Programs use REP to fill a line. Repeating beyond a screen (in insert mode: a line, since each
 * character moves the rest of it) changes nothing visible, if the cursor ends in the same column.
 */
static int32_t repeat_limit(const struct term *t, int32_t times)
{
    int32_t most = modes_on(&t->modes, MODE_INSERT) ? t->cols : t->rows * t->cols;
    int32_t per_line = t->cols / t->join;

    return times > most ? most + (times - most) % per_line : times;
}

/* REP: repeats the character before the cursor, if nothing came in between. */
void term_repeat(struct term *t, int32_t times)
{
    struct row *r = grid_line(t->now);
    char text[CELL_TEXT_MAX];
    struct vt vt = {0};
    uint64_t end = t->work + REPEAT_WORK;
    uint32_t content;
    uint8_t width;
    size_t n;

    if (t->join == 0 || times < 1)
        return;
    times = repeat_limit(t, times);
    n = term_cell_text(t, row_cell(r, t->now->x - t->join), text);
    for (size_t done = 0; done < n;)
        done += vt_feed(&vt, &term_ops, t, text + done, n - done);
    /* The repeats copy the first one: a text with combining marks is looked up only once. */
    width = t->join;
    r = grid_line(t->now);
    content = row_cell(r, t->now->x - width).content & CELL_HAS_CONTENT;
    while (n > 0 && --times > 0 && t->work < end)
        r = print_in(t, r, content, width);
    term_run_end(t);
}

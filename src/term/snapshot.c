/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.c - the bytes that make a fresh terminal look like this one. Layer: term.
 */
#include "term/snapshot.h"

#include <string.h>

#include "term/snapshot_own.h"

static void put_charset(struct writer *w, unsigned level, uint8_t name)
{
    buf_printf(w->out, "\x1b%c%c", "()*+"[level], name != 0 ? name : 'B');
}

/* --- per-screen state --------------------------------------------------------------- */

static void write_tabs(struct writer *w, const struct grid *g)
{
    bool same = true;
    int i;

    for (i = 0; i < w->t->cols; i++)
        same = same && grid_tab_is_set(g, i) == (i % 8 == 0);
    if (same)
        return;
    buf_puts(w->out, "\x1b[3g");
    for (i = 0; i < w->t->cols; i++)
        if (grid_tab_is_set(g, i))
            buf_printf(w->out, "\x1b[%dG\x1bH", i + 1);
}

static void write_region(struct writer *w, const struct grid *g)
{
    if (g->top != 0 || g->bottom != w->t->rows - 1)
        buf_printf(w->out, "\x1b[%d;%dr", g->top + 1, g->bottom + 1);
}

static void write_saved(struct writer *w, const struct grid *g, uint8_t charset)
{
    size_t y = g->saved_y > g->base ? g->saved_y - g->base : 0;
    struct pen p = {g->saved_fg, g->saved_bg, {0}};

    if (y >= (size_t)w->t->rows)
        y = (size_t)w->t->rows - 1;
    if (g->saved_x == 0 && y == 0 && p.fg == 0 && p.bg == 0 && charset == 0)
        return;
    if (p.bg & BG_EXTRA)
        p.extra.underline = 1u << EXTRA_STYLE_SHIFT;
    writer_pen(w, &p);
    if (charset != 0)
        put_charset(w, 0, charset);
    buf_printf(w->out,
               "\x1b[%zu;%dH\x1b"
               "7",
               y + 1, (g->saved_x < w->t->cols ? g->saved_x : w->t->cols - 1) + 1);
    if (charset != 0)
        put_charset(w, 0, 0);
    writer_plain(w);
}

static void write_keys(struct writer *w, unsigned screen)
{
    const struct modes *m = &w->t->modes;
    unsigned i;

    for (i = 0; i < m->keys_count[screen]; i++)
        buf_printf(w->out, "\x1b[>%uu", m->keys[screen][i]);
}

static void write_grid(struct writer *w, unsigned screen)
{
    const struct grid *g = &w->t->grid[screen];

    writer_lines(w, g);
    write_tabs(w, g);
    write_region(w, g);
    write_saved(w, g, w->t->modes.charset_saved[screen]);
    write_keys(w, screen);
}

/* --- modes ----------------------------------------------------------------------------- */

static void write_flags(struct writer *w)
{
    const struct modes *m = &w->t->modes;
    uint32_t flag;
    unsigned i;
    int number;

    for (i = 0; (number = modes_dec_number(i, &flag)) != 0; i++) {
        bool on = modes_on(m, flag), at_first = (MODES_AT_FIRST & flag) != 0;
        if (flag == MODE_ORIGIN)
            continue;
        if (flag == MODE_APP_KEYPAD) {
            if (on)
                buf_puts(w->out, "\x1b=");
        } else if (on != at_first || flag == MODE_CURSOR) {
            buf_printf(w->out, "\x1b[?%d%c", number, on ? 'h' : 'l');
        }
    }
}

static void write_modes(struct writer *w)
{
    static const int mice[] = {0, 9, 1000, 1002, 1003};
    const struct modes *m = &w->t->modes;

    write_flags(w);
    if (m->mouse != MOUSE_NONE)
        buf_printf(w->out, "\x1b[?%dh", mice[m->mouse]);
    if (m->mouse_coding != MOUSE_PLAIN)
        buf_printf(w->out, "\x1b[?%dh", m->mouse_coding == MOUSE_SGR ? 1006 : 1016);
    if (m->cursor_style != 0)
        buf_printf(w->out, "\x1b[%d q", m->cursor_style);
    if (m->cursor_blink != 0)
        buf_printf(w->out, "\x1b[?12%c", m->cursor_blink == 1 ? 'h' : 'l');
    if (m->other_keys != 0)
        buf_printf(w->out, "\x1b[>4;%dm", m->other_keys);
    if (modes_on(m, MODE_NEWLINE))
        buf_puts(w->out, "\x1b[20h");
    if (modes_on(m, MODE_INSERT))
        buf_puts(w->out, "\x1b[4h");
}

static void write_charsets(struct writer *w)
{
    static const char *const shifts[] = {"\x0f", "\x0e", "\x1bn", "\x1bo"};
    const struct modes *m = &w->t->modes;
    unsigned i;

    for (i = 0; i < 4; i++) {
        uint8_t name = i == m->shift ? m->charset_now : m->charset[i];
        if (name != 0)
            put_charset(w, i, name);
    }
    if (m->shift != 0)
        buf_puts(w->out, shifts[m->shift]);
}

/* --- the cursor --------------------------------------------------------------------------- */

static void to_cell(struct writer *w, int x, int y)
{
    const struct term *t = w->t;

    if (modes_on(&t->modes, MODE_ORIGIN))
        y -= t->now->top;
    buf_printf(w->out, "\x1b[%d;%dH", (y > 0 ? y : 0) + 1, x + 1);
}

/* The column of the character that ends at the cursor; -1: there is none. */
static int char_before(const struct term *t)
{
    const struct row *r = grid_line(t->now);
    int col = t->now->x - 1;

    if (t->now->x > t->cols || col < 0)
        return -1;
    if (row_width(r, col) == 0 && !row_has_content(r, col))
        col--;
    return col >= 0 && row_has_content(r, col) ? col : -1;
}

/* A cursor after the last column, waiting to wrap, and the character that a combining mark would
 * join: both can only be restored by printing that character again. */
static void write_cursor_joined(struct writer *w, int col)
{
    const struct term *t = w->t;
    char text[CELL_TEXT_MAX];
    size_t n;

    write_charsets(w);
    to_cell(w, col, t->now->y);
    if (modes_on(&t->modes, MODE_INSERT))
        buf_printf(w->out, "\x1b[%uP", row_width(grid_line(t->now), col));
    write_modes(w);
    writer_pen(w, &t->pen);
    n = term_cell_text(t, row_cell(grid_line(t->now), col), text);
    buf_put(w->out, text, n);
}

static void write_cursor(struct writer *w)
{
    const struct term *t = w->t;
    const struct grid *g = t->now;
    int col = char_before(t);
    struct cell c = row_cell(grid_line(g), col);

    if (t->join > 0 && col >= 0 && cell_width(c) == t->join && c.fg == t->pen.fg &&
        c.bg == t->pen.bg) {
        write_cursor_joined(w, col);
        return;
    }
    if (g->x >= t->cols && col >= 0) {
        to_cell(w, col, g->y);
        writer_text(w, grid_line(g), col);
    } else {
        to_cell(w, g->x < t->cols ? g->x : t->cols - 1, g->y);
        if (g->x >= t->cols && grid_line(g)->held == 0 && !grid_line(g)->wrapped)
            buf_puts(w->out, "x\x1b[2K"); /* the line was erased under such a cursor */
    }
    write_charsets(w);
    write_modes(w);
    writer_pen(w, &t->pen);
}

void snapshot_write(struct buf *out, const struct term *t, const char *title)
{
    struct writer w = {out, t, {0}};

    /* CAN ends any sequence that the terminal may be in. */
    buf_puts(out, "\x18\x1b"
                  "c\x1b[20l");
    if (title != NULL && title[0] != '\0')
        buf_printf(out, "\x1b]2;%s\x1b\\", title);
    write_grid(&w, 0);
    if (t->now == &t->grid[1]) {
        buf_printf(out, "\x1b[%d;%dH\x1b[?47h\x1b[H", t->grid[0].y + 1,
                   (t->grid[0].x < t->cols ? t->grid[0].x : t->cols - 1) + 1);
        write_grid(&w, 1);
    }
    if (modes_on(&t->modes, MODE_ORIGIN))
        buf_puts(out, "\x1b[?6h");
    write_cursor(&w);
}

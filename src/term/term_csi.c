/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term_csi.c - control and escape sequences that change the screen or move the cursor
 *
 * Their effect on the modes is in modes.c. Layer: term.
 */
#include "base/limits.h"
#include "term/term_own.h"

struct cell term_erase_cell(const struct term *t)
{
    return (struct cell){CELL_EMPTY, 0, t->pen.bg & COLOUR_ALL};
}

/* The cost of allocating or freeing a line, in cells. */
#define LINE_WORK 16

static void work_lines(struct term *t, size_t lines, size_t cells_each)
{
    t->work += lines * cells_each;
}

/* --- the cursor ------------------------------------------------------------------ */

static int between(int64_t n, int lo, int hi)
{
    return n < lo ? lo : n > hi ? hi : (int)n;
}

static void keep_inside(struct term *t, int last_col)
{
    struct grid *g = t->now;

    g->x = between(g->x, 0, last_col);
    if (modes_on(&t->modes, MODE_ORIGIN))
        g->y = between(g->y, g->top, g->bottom);
    else
        g->y = between(g->y, 0, t->rows - 1);
}

static void go(struct term *t, int64_t x, int64_t y)
{
    struct grid *g = t->now;

    if (modes_on(&t->modes, MODE_ORIGIN))
        y += g->top;
    g->x = between(x, 0, t->cols - 1);
    g->y = between(y, 0, t->rows - 1);
    keep_inside(t, t->cols - 1);
}

/* In origin mode, xterm.js adds the top of the region twice; so do we. */
static void go_by(struct term *t, int64_t x, int64_t y)
{
    keep_inside(t, t->cols - 1);
    go(t, t->now->x + x, t->now->y + y);
}

static void up(struct term *t, int32_t n)
{
    int room = t->now->y - t->now->top;

    go_by(t, 0, -(int64_t)(room >= 0 && n > room ? room : n));
}

static void down(struct term *t, int32_t n)
{
    int room = t->now->bottom - t->now->y;

    go_by(t, 0, room >= 0 && n > room ? room : n);
}

static void next_tabs(struct term *t, int32_t n)
{
    struct grid *g = t->now;

    if (g->x >= t->cols)
        return;
    work_lines(t, 1, (size_t)t->cols);
    for (n = between(n, 0, t->cols); n > 0; n--)
        g->x = grid_tab_next(g, t->cols);
}

static void previous_tabs(struct term *t, int32_t n)
{
    struct grid *g = t->now;

    if (g->x >= t->cols)
        return;
    work_lines(t, 1, (size_t)t->cols);
    for (n = between(n, 0, t->cols); n > 0; n--)
        g->x = grid_tab_previous(g, t->cols);
}

static void save(struct term *t)
{
    struct grid *g = t->now;

    g->saved_x = g->x;
    g->saved_y = g->base + (size_t)g->y;
    g->saved_fg = t->pen.fg;
    g->saved_bg = t->pen.bg;
}

static void restore(struct term *t)
{
    struct grid *g = t->now;

    g->x = g->saved_x;
    g->y = g->saved_y > g->base ? between((int64_t)(g->saved_y - g->base), 0, t->rows) : 0;
    t->pen.fg = g->saved_fg;
    t->pen.bg = g->saved_bg;
    keep_inside(t, t->cols - 1);
}

/* --- lines -------------------------------------------------------------------------- */

static void index_down(struct term *t)
{
    struct grid *g = t->now;

    g->y++;
    if (g->y == g->bottom + 1) {
        g->y--;
        term_scroll(t, false);
    } else if (g->y >= t->rows) {
        g->y = t->rows - 1;
    }
}

static void line_feed(struct term *t)
{
    struct grid *g = t->now;
    int y = g->y;

    if (modes_on(&t->modes, MODE_NEWLINE))
        g->x = 0;
    index_down(t);
    if (g->y == y + 1)
        grid_line(g)->wrapped = false;
    if (g->x >= t->cols)
        g->x--;
}

/* Within [top, bottom] of the screen. */
static void shift(struct term *t, int top, int bottom, int32_t n, bool by_up, struct cell fill)
{
    struct grid *g = t->now;
    int height = bottom - top + 1;

    work_lines(t, (size_t)height, 1);
    work_lines(t, (size_t)(n < height ? n : height), (size_t)t->cols + LINE_WORK);
    grid_shift(g, g->base + (size_t)top, g->base + (size_t)bottom, n, by_up, t->cols, fill);
}

static void reverse_index(struct term *t)
{
    struct grid *g = t->now;

    keep_inside(t, t->cols - 1);
    if (g->y == g->top) {
        shift(t, g->top, g->bottom, 1, false, term_erase_cell(t));
    } else {
        g->y--;
        keep_inside(t, t->cols - 1);
    }
}

static bool in_region(const struct grid *g)
{
    return g->y >= g->top && g->y <= g->bottom;
}

/* IL and DL. */
static void shift_lines(struct term *t, int32_t n, bool delete)
{
    struct grid *g = t->now;

    keep_inside(t, t->cols - 1);
    if (!in_region(g))
        return;
    shift(t, g->y, g->bottom, n, delete, term_erase_cell(t));
    g->x = 0;
}

/* SU and SD; the lines that SD inserts are plain. */
static void scroll_region(struct term *t, int32_t n, bool by_up)
{
    shift(t, t->now->top, t->now->bottom, n, by_up, by_up ? term_erase_cell(t) : CELL_NOTHING);
}

/* --- columns --------------------------------------------------------------------------- */

/* SL, SR, DECIC and DECDC: the same on every line of the region. */
static void shift_columns(struct term *t, int at, int32_t n, bool delete)
{
    struct grid *g = t->now;
    int y;

    if (!in_region(g))
        return;
    for (y = g->top; y <= g->bottom; y++) {
        struct row *r = grid_row(g, g->base + (size_t)y);
        work_lines(t, 1, (size_t)t->cols);
        if (delete)
            row_delete(r, at, n, term_erase_cell(t));
        else
            row_insert(r, at, n, term_erase_cell(t));
        r->wrapped = false;
    }
}

/* --- erasing ------------------------------------------------------------------------------ */

static void erase_in(struct term *t, int y, int from, int to, bool unwrap, bool keep)
{
    struct row *r = grid_row(t->now, t->now->base + (size_t)y);

    work_lines(t, 1, (size_t)t->cols);
    row_replace(r, from, to, term_erase_cell(t), keep);
    if (unwrap)
        r->wrapped = false;
}

static void erase_lines(struct term *t, int from, int to, bool keep)
{
    int y;

    for (y = from; y < to; y++) {
        struct row *r = grid_row(t->now, t->now->base + (size_t)y);
        work_lines(t, 1, (size_t)t->cols);
        row_fill(r, term_erase_cell(t), keep);
        r->wrapped = false;
    }
}

/* ED 1. Like xterm.js, it indexes the line below from the first line kept, not from the screen's
 * top. */
static void erase_above(struct term *t, bool keep)
{
    struct grid *g = t->now;
    struct row *below = grid_row(g, (size_t)g->y + 1);

    erase_in(t, g->y, 0, g->x + 1, true, keep);
    if (g->x + 1 >= t->cols && below != NULL)
        below->wrapped = false;
    erase_lines(t, 0, g->y, keep);
}

static void erase_scrollback(struct term *t)
{
    struct grid *g = t->now;
    size_t over = g->len > (size_t)t->rows ? g->len - (size_t)t->rows : 0;

    work_lines(t, over, LINE_WORK);
    grid_drop_first(g, over);
    g->base = g->base > over ? g->base - over : 0;
}

static void erase_display(struct term *t, int32_t what, bool keep)
{
    struct grid *g = t->now;

    keep_inside(t, t->cols);
    switch (what) {
    case 0:
        erase_in(t, g->y, g->x, t->cols, g->x == 0, keep);
        erase_lines(t, g->y + 1, t->rows, keep);
        break;
    case 1: erase_above(t, keep); break;
    case 2: erase_lines(t, 0, t->rows, keep); break;
    case 3: erase_scrollback(t); break;
    default: break;
    }
}

static void erase_line(struct term *t, int32_t what, bool keep)
{
    struct grid *g = t->now;

    keep_inside(t, t->cols);
    if (what == 0)
        erase_in(t, g->y, g->x, t->cols, g->x == 0, keep);
    else if (what == 1)
        erase_in(t, g->y, 0, g->x + 1, false, keep);
    else if (what == 2)
        erase_in(t, g->y, 0, t->cols, true, keep);
}

static void alignment_pattern(struct term *t)
{
    struct cell e = {CELL_EMPTY | 'E', t->pen.fg, t->pen.bg & ~(uint32_t)BG_EXTRA};
    int y;

    go(t, 0, 0);
    work_lines(t, (size_t)t->rows, (size_t)t->cols);
    for (y = t->now->has_scrollback ? t->now->y : 0; y < t->rows; y++) {
        struct row *r = grid_row(t->now, t->now->base + (size_t)y);
        row_fill(r, e, false);
        r->wrapped = false;
    }
    go(t, 0, 0);
}

static void in_line(struct term *t, int32_t n, void (*change)(struct row *, int, int, struct cell))
{
    keep_inside(t, t->cols - 1);
    work_lines(t, 1, (size_t)t->cols);
    change(grid_line(t->now), t->now->x, n, term_erase_cell(t));
}

static void erase_chars(struct row *r, int at, int n, struct cell fill)
{
    row_replace(r, at, between((int64_t)at + n, 0, r->len), fill, false);
}

/* --- modes ---------------------------------------------------------------------------------- */

static void to_alternate(struct term *t)
{
    struct grid *alt = &t->grid[1];

    if (t->now == alt)
        return;
    work_lines(t, (size_t)t->rows, (size_t)t->cols + LINE_WORK);
    grid_fill(alt, t->rows, t->cols, term_erase_cell(t));
    alt->x = t->now->x;
    alt->y = t->now->y;
    t->now = alt;
}

static void to_main(struct term *t)
{
    if (t->now == &t->grid[0])
        return;
    t->grid[0].x = t->now->x;
    t->grid[0].y = t->now->y;
    work_lines(t, t->now->len, LINE_WORK);
    grid_clear(t->now, t->rows, t->cols);
    t->now = &t->grid[0];
}

static void set_dec(struct term *t, int32_t number, bool on)
{
    switch (number) {
    case 6: go(t, 0, 0); break;
    case 47:
    case 1047:
    case 1049:
        if (on && number == 1049)
            save(t);
        on ? to_alternate(t) : to_main(t);
        if (!on && number == 1049)
            restore(t);
        break;
    case 1048: on ? save(t) : restore(t); break;
    default: break;
    }
}

/* One at a time: the effect of a mode may depend on the one before it. */
static void set_modes(struct term *t, const struct vt *v, uint32_t id, bool on)
{
    struct vt one = *v;
    unsigned i;

    one.count = 1;
    one.sub = 0;
    for (i = 0; i < v->count; i++) {
        if (v->sub >> i & 1)
            continue;
        one.params[0] = v->params[i];
        modes_csi(&t->modes, &one, id, (unsigned)t->rows);
        set_dec(t, v->params[i], on);
    }
}

static void take_region(struct term *t, bool home)
{
    unsigned s = modes_screen(&t->modes);
    struct grid *g = t->now;

    g->top = t->modes.top[s];
    g->bottom = t->modes.bottom[s] == REGION_TO_END ? t->rows - 1 : t->modes.bottom[s];
    if (home)
        go(t, 0, 0);
}

static void set_region(struct term *t, const struct vt *v)
{
    int32_t top = vt_param(v, 0, 1), bottom = vt_param_raw(v, 1);

    if (bottom <= 0 || bottom > t->rows)
        bottom = t->rows;
    take_region(t, bottom > top);
}

static void soft_reset(struct term *t)
{
    struct grid *g = t->now;

    take_region(t, false);
    t->pen = (struct pen){0};
    g->saved_x = 0;
    g->saved_y = g->base;
    g->saved_fg = g->saved_bg = 0;
}

static void full_reset(struct term *t)
{
    int i;

    work_lines(t, t->grid[0].len + t->grid[1].len + (size_t)t->rows, LINE_WORK);
    work_lines(t, t->texts.count + t->links.count, LINE_WORK);
    for (i = 0; i < 2; i++) {
        grid_fini(&t->grid[i]);
        grid_init(&t->grid[i], t->rows, t->cols, i == 0);
    }
    t->now = &t->grid[0];
    grid_fill(t->now, t->rows, t->cols, CELL_NOTHING);
    t->pen = (struct pen){0};
    texts_free(&t->texts);
    texts_free(&t->links);
}

/* --- dispatch ---------------------------------------------------------------------------- */

static void csi_move(struct term *t, const struct vt *v, uint32_t id)
{
    struct grid *g = t->now;
    int32_t n = vt_param(v, 0, 1);

    switch (id) {
    case 'A': up(t, n); break;
    case 'B': down(t, n); break;
    case 'C':
    case 'a': go_by(t, n, 0); break;
    case 'D': go_by(t, -(int64_t)n, 0); break;
    case 'E':
        down(t, n);
        g->x = 0;
        break;
    case 'F':
        up(t, n);
        g->x = 0;
        break;
    case 'G':
    case '`': go(t, (int64_t)n - 1, g->y); break;
    case 'H':
    case 'f': go(t, (int64_t)vt_param(v, 1, 1) - 1, (int64_t)n - 1); break;
    case 'I': next_tabs(t, n); break;
    case 'Z': previous_tabs(t, n); break;
    case 'd': go(t, g->x, (int64_t)n - 1); break;
    case 'e': go_by(t, 0, n); break;
    default: break;
    }
}

static void csi_change(struct term *t, const struct vt *v, uint32_t id)
{
    int32_t n = vt_param(v, 0, 1);

    switch (id) {
    case '@': in_line(t, n, row_insert); break;
    case 'P': in_line(t, n, row_delete); break;
    case 'X': in_line(t, n, erase_chars); break;
    case 'J': erase_display(t, vt_param_raw(v, 0), false); break;
    case VT_ID('?', 0, 'J'): erase_display(t, vt_param_raw(v, 0), true); break;
    case 'K': erase_line(t, vt_param_raw(v, 0), false); break;
    case VT_ID('?', 0, 'K'): erase_line(t, vt_param_raw(v, 0), true); break;
    case 'L': shift_lines(t, n, false); break;
    case 'M': shift_lines(t, n, true); break;
    case 'S': scroll_region(t, n, true); break;
    case 'T': scroll_region(t, n, false); break;
    case VT_ID(0, ' ', '@'): shift_columns(t, 0, n, true); break;
    case VT_ID(0, ' ', 'A'): shift_columns(t, 0, n, false); break;
    case VT_ID(0, '\'', '}'): shift_columns(t, t->now->x, n, false); break;
    case VT_ID(0, '\'', '~'): shift_columns(t, t->now->x, n, true); break;
    case 'b': term_repeat(t, n); break;
    default: break;
    }
}

static void clear_tabs(struct term *t, int32_t what)
{
    int i;

    work_lines(t, 1, TERMINAL_SIZE_MAX);
    if (what == 0)
        grid_tab_set(t->now, t->now->x, false);
    else if (what == 3)
        for (i = 0; i <= TERMINAL_SIZE_MAX; i++)
            grid_tab_set(t->now, i, false);
}

static void protect(struct term *t, int32_t what)
{
    if (what == 1)
        t->pen.bg |= BG_PROTECTED;
    else if (what == 0 || what == 2)
        t->pen.bg &= ~(uint32_t)BG_PROTECTED;
}

void term_csi(struct term *t, const struct vt *v, uint32_t id)
{
    bool on = (id & 0xff) == 'h';

    if (id == VT_ID('?', 0, 'h') || id == VT_ID('?', 0, 'l')) {
        set_modes(t, v, id, on);
        return;
    }
    modes_csi(&t->modes, v, id, (unsigned)t->rows);
    switch (id) {
    case 'm': term_sgr(&t->pen, v); break;
    case 'g': clear_tabs(t, vt_param_raw(v, 0)); break;
    case 'r': set_region(t, v); break;
    case 's': save(t); break;
    case 'u': restore(t); break;
    case VT_ID(0, '!', 'p'): soft_reset(t); break;
    case VT_ID(0, '"', 'q'): protect(t, vt_param_raw(v, 0)); break;
    default:
        csi_move(t, v, id);
        csi_change(t, v, id);
        break;
    }
}

void term_esc(struct term *t, uint32_t id)
{
    modes_esc(&t->modes, id);
    switch (id) {
    case '7': save(t); break;
    case '8': restore(t); break;
    case 'D':
    case 'E':
        if (id == 'E')
            t->now->x = 0;
        keep_inside(t, t->cols - 1);
        index_down(t);
        keep_inside(t, t->cols - 1);
        break;
    case 'H': grid_tab_set(t->now, t->now->x, true); break;
    case 'M': reverse_index(t); break;
    case 'c': full_reset(t); break;
    case VT_ID(0, '#', '8'): alignment_pattern(t); break;
    default: break;
    }
}

/* Moves back past the start of a line that continues the line above, in the mode that allows it. */
static void back_over_wrap(struct term *t)
{
    struct grid *g = t->now;
    struct row *r = grid_line(g);

    if (g->y <= g->top || g->y > g->bottom || !r->wrapped)
        return;
    r->wrapped = false;
    g->y--;
    g->x = t->cols - 1;
    r = grid_line(g);
    if (row_width(r, g->x) > 0 && !row_has_content(r, g->x))
        g->x--;
}

static void backspace(struct term *t)
{
    bool reverse = modes_on(&t->modes, MODE_REVERSE_WRAP);

    keep_inside(t, reverse ? t->cols : t->cols - 1);
    if (t->now->x > 0)
        t->now->x--;
    else if (reverse)
        back_over_wrap(t);
    keep_inside(t, t->cols - 1);
}

void term_control(struct term *t, uint8_t c)
{
    modes_control(&t->modes, c);
    switch (c) {
    case '\n':
    case '\v':
    case '\f': line_feed(t); break;
    case '\r': t->now->x = 0; break;
    case '\b': backspace(t); break;
    case '\t': next_tabs(t, 1); break;
    case 0x84: term_esc(t, 'D'); break;
    case 0x85: term_esc(t, 'E'); break;
    case 0x88: term_esc(t, 'H'); break;
    default: break;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term_grid.c - the lines of a screen and of its scrollback, in a ring
 *
 * In a full ring, each line added at the bottom drops one at the top. Layer: term.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "term/term_own.h"

#define TAB_BYTES (TERMINAL_SIZE_MAX / 8 + 1)
#define RING_FIRST 32

/* --- the ring ------------------------------------------------------------------- */

static struct row **slot(const struct grid *g, size_t i)
{
    return &g->ring[(g->start + i) % g->ring_size];
}

struct row *grid_row(const struct grid *g, size_t i)
{
    return i < g->len ? *slot(g, i) : NULL;
}

struct row *grid_line(const struct grid *g)
{
    return grid_row(g, g->base + (size_t)g->y);
}

static void ring_grow(struct grid *g)
{
    size_t size = g->ring_size == 0 ? RING_FIRST : g->ring_size * 2, i;
    struct row **ring = hf_xalloc(size * sizeof *ring);

    for (i = 0; i < g->len; i++)
        ring[i] = *slot(g, i);
    free(g->ring);
    g->ring = ring;
    g->ring_size = size;
    g->start = 0;
}

void grid_drop_first(struct grid *g, size_t n)
{
    for (; n > 0 && g->len > 0; n--) {
        row_free(*slot(g, 0));
        g->start = (g->start + 1) % g->ring_size;
        g->len--;
    }
}

void grid_push(struct grid *g, struct row *r)
{
    if (g->len == g->ring_size)
        ring_grow(g);
    *slot(g, g->len++) = r;
    if (g->len > g->max)
        grid_drop_first(g, g->len - g->max);
}

void grid_pop(struct grid *g)
{
    if (g->len > 0)
        row_free(*slot(g, --g->len));
}

/* If the ring is full, drops the first line. */
void grid_insert(struct grid *g, size_t at, struct row *r)
{
    size_t i;

    if (g->len == g->ring_size)
        ring_grow(g);
    if (at > g->len)
        at = g->len;
    for (i = g->len; i > at; i--)
        *slot(g, i) = *slot(g, i - 1);
    *slot(g, at) = r;
    g->len++;
    if (g->len > g->max)
        grid_drop_first(g, g->len - g->max);
}

void grid_set(struct grid *g, size_t at, struct row *r)
{
    row_free(*slot(g, at));
    *slot(g, at) = r;
}

void grid_shift(struct grid *g, size_t top, size_t bottom, int32_t n, bool up, int cols,
                struct cell fill)
{
    size_t height = bottom - top + 1, by = (size_t)n < height ? (size_t)n : height, i;

    for (i = 0; i < by; i++)
        row_free(*slot(g, up ? top + i : bottom - i));
    for (i = 0; i < height - by; i++)
        if (up)
            *slot(g, top + i) = *slot(g, top + i + by);
        else
            *slot(g, bottom - i) = *slot(g, bottom - i - by);
    for (i = 0; i < by; i++)
        *slot(g, up ? bottom - i : top + i) = row_new(fill, cols, false);
}

/* --- a screen ---------------------------------------------------------------------- */

/* A thousand lines, or as many as fit the memory limit if the screen is wide. */
size_t grid_max(const struct grid *g, int rows, int cols)
{
    size_t most = LIMIT_SCROLLBACK_BYTES / ((size_t)cols * sizeof(struct cell));

    if (!g->has_scrollback)
        return (size_t)rows;
    return (size_t)rows + (most < LIMIT_SCROLLBACK_LINES ? most : LIMIT_SCROLLBACK_LINES);
}

void grid_init(struct grid *g, int rows, int cols, bool scrollback)
{
    memset(g, 0, sizeof *g);
    g->has_scrollback = scrollback;
    g->max = grid_max(g, rows, cols);
    g->bottom = rows - 1;
    g->tabs = hf_xalloc(TAB_BYTES);
    grid_tabs_default(g, cols);
}

void grid_fini(struct grid *g)
{
    grid_drop_first(g, g->len);
    free(g->ring);
    free(g->tabs);
    memset(g, 0, sizeof *g);
}

void grid_fill(struct grid *g, int rows, int cols, struct cell fill)
{
    if (g->len > 0)
        return;
    while (g->len < (size_t)rows)
        grid_push(g, row_new(fill, cols, false));
}

void grid_clear(struct grid *g, int rows, int cols)
{
    grid_drop_first(g, g->len);
    free(g->ring);
    g->ring = NULL;
    g->ring_size = g->start = g->base = 0;
    g->x = g->y = g->top = 0;
    g->bottom = rows - 1;
    g->max = grid_max(g, rows, cols);
    grid_tabs_default(g, cols);
}

/* A full ring: its first line becomes the last. */
static void grid_recycle(struct grid *g, int cols, struct cell fill, bool wrapped)
{
    struct row *r = *slot(g, 0);

    row_resize(r, cols);
    row_fill(r, fill, false);
    r->wrapped = wrapped;
    g->start = (g->start + 1) % g->ring_size;
    *slot(g, g->len - 1) = r;
}

void grid_scroll(struct grid *g, int cols, struct cell fill, bool wrapped)
{
    size_t top = g->base + (size_t)g->top, bottom = g->base + (size_t)g->bottom;
    bool full = g->len == g->max;

    if (g->top != 0) {
        grid_shift(g, top, bottom, 1, true, cols, fill);
        grid_row(g, bottom)->wrapped = wrapped;
        return;
    }
    if (bottom + 1 < g->len)
        grid_insert(g, bottom + 1, row_new(fill, cols, wrapped));
    else if (full)
        grid_recycle(g, cols, fill, wrapped);
    else
        grid_push(g, row_new(fill, cols, wrapped));
    if (!full)
        g->base++;
    if (g->base > 0)
        row_trim(grid_row(g, g->base - 1));
}

/* --- resizing ------------------------------------------------------------------------- */

static int add_rows(struct grid *g, int old_rows, int rows, int cols)
{
    int y, back = 0;

    for (y = old_rows; y < rows; y++) {
        if (g->len >= (size_t)rows + g->base)
            continue;
        if (g->base > 0 && g->len <= g->base + (size_t)(g->y + back) + 1) {
            g->base--; /* a line returns from the scrollback */
            back++;
        } else {
            grid_push(g, row_new(CELL_NOTHING, cols, false));
        }
    }
    return back;
}

static void drop_rows(struct grid *g, int old_rows, int rows)
{
    int y;

    for (y = old_rows; y > rows; y--) {
        if (g->len <= (size_t)rows + g->base)
            continue;
        if (g->len > g->base + (size_t)g->y + 1)
            grid_pop(g);
        else
            g->base++;
    }
}

static void set_max(struct grid *g, size_t max)
{
    size_t over = g->len > max ? g->len - max : 0;

    grid_drop_first(g, over);
    g->base = g->base > over ? g->base - over : 0;
    g->saved_y = g->saved_y > over ? g->saved_y - over : 0;
    g->max = max;
}

static void resize_all(struct grid *g, int cols)
{
    size_t i;

    for (i = 0; i < g->len; i++)
        row_resize(*slot(g, i), cols);
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Ensures, after reflowing, that the screen has all its lines and the cursor is on one of them. */
static void keep_whole(struct grid *g, int rows, int cols)
{
    if (g->y >= rows)
        g->y = rows - 1;
    while (g->len < (size_t)rows)
        grid_push(g, row_new(CELL_NOTHING, cols, false));
    if (g->base + (size_t)rows > g->len)
        g->base = g->len - (size_t)rows;
}

void grid_resize(struct grid *g, int old_rows, int old_cols, int rows, int cols)
{
    size_t max = grid_max(g, rows, cols);
    int back;

    if (max > g->max)
        g->max = max;
    if (g->len > 0) {
        if (old_cols < cols)
            resize_all(g, cols);
        back = add_rows(g, old_rows, rows, cols);
        drop_rows(g, old_rows, rows);
        if (max < g->max)
            set_max(g, max);
        g->x = smaller(g->x, cols - 1);
        g->y = smaller(g->y, rows - 1) + back;
        g->saved_x = smaller(g->saved_x, cols - 1);
        g->top = 0;
    }
    g->bottom = rows - 1;
    g->max = max;
    if (g->has_scrollback && old_cols != cols) {
        grid_reflow(g, old_cols, rows, cols);
        if (old_cols > cols)
            resize_all(g, cols);
    }
    if (g->len > 0)
        keep_whole(g, rows, cols);
}

/* --- tab stops ---------------------------------------------------------------------------- */

bool grid_tab_is_set(const struct grid *g, int col)
{
    return col >= 0 && col < TAB_BYTES * 8 && (g->tabs[col / 8] >> (col % 8) & 1);
}

void grid_tab_set(struct grid *g, int col, bool on)
{
    if (col < 0 || col >= TAB_BYTES * 8)
        return;
    if (on)
        g->tabs[col / 8] |= (uint8_t)(1u << (col % 8));
    else
        g->tabs[col / 8] &= (uint8_t)(~(1u << (col % 8)));
}

void grid_tabs_default(struct grid *g, int cols)
{
    int i;

    memset(g->tabs, 0, TAB_BYTES);
    for (i = 0; i < cols; i += 8)
        grid_tab_set(g, i, true);
}

static int stop_before(const struct grid *g, int x, int cols)
{
    while (!grid_tab_is_set(g, --x) && x > 0)
        ;
    return x >= cols ? cols - 1 : x < 0 ? 0 : x;
}

void grid_tabs_extend(struct grid *g, int cols)
{
    int i = grid_tab_is_set(g, cols) ? cols : stop_before(g, cols, cols);

    for (; i < cols; i += 8)
        grid_tab_set(g, i, true);
}

int grid_tab_previous(const struct grid *g, int cols)
{
    return stop_before(g, g->x, cols);
}

int grid_tab_next(const struct grid *g, int cols)
{
    int x = g->x;

    while (!grid_tab_is_set(g, ++x) && x < cols)
        ;
    return x >= cols ? cols - 1 : x;
}

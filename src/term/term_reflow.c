/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term_reflow.c - rewraps lines when the width changes
 *
 * Follows xterm.js, which leaves the line with the cursor alone because the shell redraws it. A
 * group is a line and the wrapped lines below it. Its cells are joined into one row and split
 * again. A wide character that would be split at the right edge moves to the next line and leaves
 * an empty cell. Layer: term.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "term/term_own.h"

struct flat {
    struct cell *cells;
    struct extra *extras;
    size_t len, room;
};

struct group {
    size_t first, count; /* lines */
};

/* Also finds lines that the view no longer includes at the bottom: they exist until the end. */
static struct row *line_at(const struct grid *g, size_t i)
{
    return g->ring[(g->start + i) % g->ring_size];
}

/* The number of cells of text in a group's i-th line: all of them, except in the last line, and
 * except for the gap left by a wide character that did not fit. */
static int text_length(const struct grid *g, const struct group *p, size_t i, int cols)
{
    const struct row *r = line_at(g, p->first + i), *next;

    if (i + 1 == p->count)
        return row_length(r);
    next = line_at(g, p->first + i + 1);
    if (!row_has_content(r, cols - 1) && row_width(r, cols - 1) == 1 && row_width(next, 0) == 2)
        return cols - 1;
    return cols;
}

static void flat_put(struct flat *f, struct cell c, struct extra e)
{
    if (f->len == f->room) {
        f->room = f->room == 0 ? 256 : f->room * 2;
        f->cells = hf_xrealloc(f->cells, f->room * sizeof *f->cells);
        f->extras = hf_xrealloc(f->extras, f->room * sizeof *f->extras);
    }
    f->cells[f->len] = c;
    f->extras[f->len++] = e;
}

/* A line that was cut through a wide character still counts the character's right half. */
static const struct cell lost_half;

static void flat_take(struct flat *f, const struct grid *g, const struct group *p, int cols)
{
    size_t i;
    int col, n;

    f->len = 0;
    for (i = 0; i < p->count; i++) {
        const struct row *r = line_at(g, p->first + i);
        n = text_length(g, p, i, cols);
        for (col = 0; col < n; col++)
            flat_put(f, col < r->len ? row_cell(r, col) : lost_half, row_extra(r, col));
    }
}

/* The number of cells from `at` that fit on a line of `cols`. */
static size_t flat_fit(const struct flat *f, size_t at, int cols)
{
    size_t left = f->len - at;

    if (left < (size_t)cols)
        return left;
    return cell_width(f->cells[at + (size_t)cols - 1]) == 2 ? (size_t)cols - 1 : (size_t)cols;
}

static void flat_give(const struct flat *f, size_t at, size_t n, struct row *r)
{
    size_t i;

    for (i = 0; i < n; i++)
        row_put(r, (int)i, f->cells[at + i], f->extras[at + i]);
}

static bool has_cursor(const struct grid *g, const struct group *p)
{
    size_t y = g->base + (size_t)g->y;

    return y >= p->first && y < p->first + p->count;
}

/* --- wider -------------------------------------------------------------------------- */

/* Distributes one group; returns how many of its last lines are no longer needed. */
static size_t widen_group(struct grid *g, const struct group *p, struct flat *f, int old_cols,
                          int cols)
{
    size_t at = 0, line = 0, spare = 0, i, n;

    flat_take(f, g, p, old_cols);
    while (at < f->len && line < p->count) {
        struct row *r = grid_row(g, p->first + line);
        n = flat_fit(f, at, cols);
        flat_give(f, at, n, r);
        if (n < (size_t)cols)
            row_replace(r, (int)n, cols, CELL_NOTHING, false);
        at += n;
        line++;
    }
    for (i = p->count - 1; i > 0; i--) {
        if (i < line && row_length(grid_row(g, p->first + i)) > 0)
            break;
        spare++;
    }
    return spare;
}

static void after_removal(struct grid *g, size_t removed, int rows, int cols)
{
    size_t i;

    for (i = 0; i < removed; i++) {
        if (g->base > 0) {
            g->base--;
            continue;
        }
        if (g->y > 0)
            g->y--;
        if (g->len < (size_t)rows)
            grid_push(g, row_new(CELL_NOTHING, cols, false));
    }
    g->saved_y = g->saved_y > removed ? g->saved_y - removed : 0;
}

/* Lines to remove are marked by NULL and squeezed out at the end. */
static void squeeze(struct grid *g)
{
    size_t i, to = 0;

    for (i = 0; i < g->len; i++) {
        struct row *r = grid_row(g, i);
        if (r != NULL)
            g->ring[(g->start + to++) % g->ring_size] = r;
    }
    g->len = to;
}

static void widen(struct grid *g, int old_cols, int rows, int cols)
{
    struct flat f = {0};
    size_t y, removed = 0, spare, i;

    for (y = 0; y + 1 < g->len;) {
        struct group p = {y, 1};
        while (y + p.count < g->len && grid_row(g, y + p.count)->wrapped)
            p.count++;
        y += p.count;
        if (p.count == 1 || has_cursor(g, &p))
            continue;
        spare = widen_group(g, &p, &f, old_cols, cols);
        for (i = 0; i < spare; i++)
            grid_set(g, p.first + p.count - 1 - i, NULL);
        removed += spare;
    }
    free(f.cells);
    free(f.extras);
    if (removed == 0)
        return;
    squeeze(g);
    after_removal(g, removed, rows, cols);
}

/* --- narrower -------------------------------------------------------------------------- */

struct insert {
    size_t behind; /* index of the line that they follow, plus one */
    size_t count;
    struct row **lines;
};

struct inserts {
    struct insert *list;
    size_t len, room, lines;
};

static void inserts_add(struct inserts *in, size_t behind, struct row **lines, size_t count)
{
    if (count == 0) {
        free(lines);
        return;
    }
    if (in->len == in->room) {
        in->room = in->room == 0 ? 16 : in->room * 2;
        in->list = hf_xrealloc(in->list, in->room * sizeof *in->list);
    }
    in->list[in->len++] = (struct insert){behind, count, lines};
    in->lines += count;
}

/* The view follows its content, unless added lines push others out at the top. */
static void view_after_insert(struct grid *g, size_t added, size_t pending, int rows)
{
    size_t full = g->base == 0 && (size_t)g->y + 1 != g->len ? (size_t)g->y : g->len;
    size_t trimmed = full + added > g->max ? full + added - g->max : 0, i;
    size_t end = g->saved_y + added;

    for (i = trimmed; i < added; i++) {
        size_t len = g->len + pending < g->max ? g->len + pending : g->max;
        if (g->base == 0 && g->y < rows - 1) {
            g->y++;
            g->len -= g->len > 0;
        } else if (g->base == 0 || g->base + (size_t)rows < len) {
            g->base++;
        }
    }
    g->saved_y = end < g->base + (size_t)rows - 1 ? end : g->base + (size_t)rows - 1;
}

static void narrow_group(struct grid *g, const struct group *p, struct flat *f, int old_cols,
                         int rows, int cols, struct inserts *in)
{
    size_t at = 0, line, n, need = 0;
    struct row **more = NULL;

    flat_take(f, g, p, old_cols);
    while (at < f->len) {
        at += flat_fit(f, at, cols);
        need++;
    }
    if (need > p->count) {
        more = hf_xalloc((need - p->count) * sizeof(struct row *));
        for (line = p->count; line < need; line++)
            more[line - p->count] = row_new(CELL_NOTHING, cols, true);
    }
    for (at = 0, line = 0; line < need; line++, at += n) {
        struct row *r = line < p->count ? line_at(g, p->first + line) : more[line - p->count];
        n = flat_fit(f, at, cols);
        flat_give(f, at, n, r);
        if (n < (size_t)cols)
            row_put(r, (int)n, CELL_NOTHING, (struct extra){0});
    }
    need = need > p->count ? need - p->count : 0;
    inserts_add(in, p->first + p->count, more, need);
    view_after_insert(g, need, in->lines, rows);
}

/* Inserts the new lines at their places; excess lines are dropped at the top. */
static void inserts_apply(struct grid *g, struct inserts *in)
{
    size_t total = g->len + in->lines, i, k, to = total, from = g->len;
    struct row **all;

    if (in->len == 0)
        return;
    all = hf_xalloc(total * sizeof *all);
    for (i = 0; i < in->len; i++) {
        struct insert *x = &in->list[i]; /* from the bottom up */
        while (from > 0 && from > x->behind)
            all[--to] = grid_row(g, --from);
        for (k = x->count; k > 0; k--)
            all[--to] = x->lines[k - 1];
        free(x->lines);
    }
    while (from > 0)
        all[--to] = grid_row(g, --from);
    g->len = g->start = 0;
    for (i = 0; i < total; i++)
        grid_push(g, all[i]);
    free(all);
}

static void narrow(struct grid *g, int old_cols, int rows, int cols)
{
    struct inserts in = {0};
    struct flat f = {0};
    size_t y = g->len, had = g->len;

    while (y > 0) {
        struct group p = {--y, 1};
        if (!line_at(g, y)->wrapped && row_length(line_at(g, y)) <= cols)
            continue;
        while (line_at(g, p.first)->wrapped && p.first > 0) {
            p.first--;
            p.count++;
        }
        y = p.first;
        if (!has_cursor(g, &p))
            narrow_group(g, &p, &f, old_cols, rows, cols, &in);
    }
    for (y = g->len; y < had; y++)
        row_free(line_at(g, y));
    inserts_apply(g, &in);
    free(in.list);
    free(f.cells);
    free(f.extras);
}

void grid_reflow(struct grid *g, int old_cols, int rows, int cols)
{
    if (cols > old_cols)
        widen(g, old_cols, rows, cols);
    else if (cols < old_cols)
        narrow(g, old_cols, rows, cols);
}

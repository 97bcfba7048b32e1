/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term_row.c - one line of cells
 *
 * Treats the halves of wide characters as xterm.js does when one of them is overwritten, moved or
 * erased. Layer: term.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "term/term_own.h"

static const struct extra no_extra;

static void row_reserve(struct row *r, int n)
{
    size_t room = ((size_t)n + 7) & ~(size_t)7;

    if (n <= r->room)
        return;
    r->cells = hf_xrealloc(r->cells, room * sizeof *r->cells);
    if (r->extras != NULL)
        r->extras = hf_xrealloc(r->extras, room * sizeof *r->extras);
    r->room = (uint16_t)room;
}

/* Allocates the cells up to n. */
static void row_hold(struct row *r, int n)
{
    int i;

    if (n <= r->held)
        return;
    row_reserve(r, n);
    for (i = r->held; i < n; i++)
        r->cells[i] = CELL_NOTHING;
    if (r->extras != NULL)
        memset(r->extras + r->held, 0, (size_t)(n - r->held) * sizeof *r->extras);
    r->held = (uint16_t)n;
}

struct row *row_new(struct cell fill, int cols, bool wrapped)
{
    struct row *r = hf_xalloc(sizeof *r);

    r->len = (uint16_t)cols;
    r->wrapped = wrapped;
    if (!cell_is_plain_empty(fill))
        row_fill(r, fill, false);
    return r;
}

void row_free(struct row *r)
{
    if (r == NULL)
        return;
    free(r->cells);
    free(r->extras);
    free(r);
}

struct cell row_cell(const struct row *r, int col)
{
    return col >= 0 && col < r->held ? r->cells[col] : CELL_NOTHING;
}

struct extra row_extra(const struct row *r, int col)
{
    if (r->extras == NULL || col < 0 || col >= r->held || !(r->cells[col].bg & BG_EXTRA))
        return no_extra;
    return r->extras[col];
}

unsigned row_width(const struct row *r, int col)
{
    return cell_width(row_cell(r, col));
}

bool row_has_content(const struct row *r, int col)
{
    return (row_cell(r, col).content & CELL_HAS_CONTENT) != 0;
}

void row_put(struct row *r, int col, struct cell c, struct extra e)
{
    if (col < 0 || col >= r->len || (col >= r->held && cell_is_plain_empty(c)))
        return;
    row_hold(r, col + 1);
    r->cells[col] = c;
    if (!(c.bg & BG_EXTRA))
        return;
    if (r->extras == NULL)
        r->extras = hf_xalloc(r->room * sizeof *r->extras);
    r->extras[col] = e;
}

static void put_plain(struct row *r, int col, struct cell c)
{
    row_put(r, col, c, no_extra);
}

/* The other half of a wide character was removed: what is left of it becomes empty. */
static void put_empty(struct row *r, int col, struct cell fill)
{
    fill.content = CELL_EMPTY;
    put_plain(r, col, fill);
}

static void row_move(struct row *r, int to, int from)
{
    row_put(r, to, row_cell(r, from), row_extra(r, from));
}

void row_fill(struct row *r, struct cell fill, bool keep_protected)
{
    int i;

    if (!keep_protected) {
        r->held = 0;
        if (cell_is_plain_empty(fill))
            return;
        row_reserve(r, r->len);
    }
    for (i = 0; i < r->len; i++)
        if (!keep_protected || !(row_cell(r, i).bg & BG_PROTECTED))
            put_plain(r, i, fill);
}

void row_insert(struct row *r, int at, int n, struct cell fill)
{
    int i, cols = r->len;

    at %= cols;
    if (at > 0 && row_width(r, at - 1) == 2)
        put_empty(r, at - 1, fill);
    if (n > cols - at)
        n = cols - at;
    for (i = cols - 1; i >= at + n; i--)
        row_move(r, i, i - n);
    for (i = at; i < at + n; i++)
        put_plain(r, i, fill);
    if (row_width(r, cols - 1) == 2)
        put_empty(r, cols - 1, fill);
}

void row_delete(struct row *r, int at, int n, struct cell fill)
{
    int i, cols = r->len;

    at %= cols;
    if (n > cols - at)
        n = cols - at;
    for (i = at; i < cols - n; i++)
        row_move(r, i, i + n);
    for (i = cols - n; i < cols; i++)
        put_plain(r, i, fill);
    if (at > 0 && row_width(r, at - 1) == 2)
        put_empty(r, at - 1, fill);
    if (row_width(r, at) == 0 && !row_has_content(r, at))
        put_empty(r, at, fill);
}

static bool is_kept(const struct row *r, int col, bool keep_protected)
{
    return keep_protected && (row_cell(r, col).bg & BG_PROTECTED);
}

void row_replace(struct row *r, int from, int to, struct cell fill, bool keep_protected)
{
    int cols = r->len;

    if (from > 0 && row_width(r, from - 1) == 2 && !is_kept(r, from - 1, keep_protected))
        put_empty(r, from - 1, fill);
    if (to < cols && to > 0 && row_width(r, to - 1) == 2 && !is_kept(r, to, keep_protected))
        put_empty(r, to, fill);
    if (to >= cols && from < r->held && !keep_protected && cell_is_plain_empty(fill)) {
        r->held = (uint16_t)from; /* everything to the right is empty now */
        return;
    }
    for (; from < to && from < cols; from++)
        if (!is_kept(r, from, keep_protected))
            put_plain(r, from, fill);
}

void row_resize(struct row *r, int cols)
{
    r->len = (uint16_t)cols;
    if (r->held > cols)
        r->held = (uint16_t)cols;
}

void row_trim(struct row *r)
{
    while (r->held > 0 && cell_is_plain_empty(r->cells[r->held - 1]))
        r->held--;
    if (r->room <= ((r->held + 7) & ~7))
        return;
    r->room = (uint16_t)((r->held + 7) & ~7);
    if (r->room == 0) {
        free(r->cells);
        free(r->extras);
        r->cells = NULL;
        r->extras = NULL;
        return;
    }
    r->cells = hf_xrealloc(r->cells, r->room * sizeof *r->cells);
    if (r->extras != NULL)
        r->extras = hf_xrealloc(r->extras, r->room * sizeof *r->extras);
}

int row_length(const struct row *r)
{
    int i;

    for (i = r->held - 1; i >= 0; i--)
        if (r->cells[i].content & CELL_HAS_CONTENT)
            return i + (int)cell_width(r->cells[i]);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term.c - a terminal's screen: what the parser calls, and its lifetime. Layer: term.
 */
#include "term/term.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "term/term_own.h"

#define COLS_MIN 2 /* as in xterm.js: a wide character needs two */

/* --- parser callbacks ----------------------------------------------------------- */

static void on_text(void *arg, const char *ascii, size_t len)
{
    term_text(arg, ascii, len);
}

static void on_print(void *arg, uint32_t cp)
{
    term_print(arg, cp);
}

/* Anything but text ends a run of text, and nothing joins the character before it. */
static struct term *not_text(void *arg)
{
    struct term *t = arg;

    term_run_end(t);
    return t;
}

static void on_control(void *arg, uint8_t c)
{
    struct term *t = not_text(arg);

    if (c == 0x7f)
        return; /* not even a control: a mark may still join the last character */
    term_control(t, c);
    t->join = 0;
}

static void on_csi(void *arg, const struct vt *v, uint32_t id)
{
    struct term *t = not_text(arg);

    term_csi(t, v, id);
    t->join = 0;
}

static void on_esc(void *arg, const struct vt *v, uint32_t id)
{
    struct term *t = not_text(arg);

    (void)v;
    term_esc(t, id);
    t->join = 0;
}

static void on_string_begin(void *arg, const struct vt *v, enum vt_string kind, uint32_t id)
{
    struct term *t = not_text(arg);

    (void)v, (void)id;
    t->string_kind = (uint8_t)kind;
    t->string_len = 0;
}

/* Only links are parsed. */
static void on_string_put(void *arg, const char *bytes, size_t len)
{
    struct term *t = arg;
    size_t room = LIMIT_SCREEN_LINK_BYTES + 1 - t->string_len;

    if (t->string_kind != VT_STRING_OSC || room == 0)
        return;
    if (t->string == NULL) {
        if (bytes[0] != '8')
            t->string_len = LIMIT_SCREEN_LINK_BYTES + 1;
        if (bytes[0] != '8')
            return;
        t->string = hf_xalloc(LIMIT_SCREEN_LINK_BYTES + 1);
    }
    if (len > room)
        len = room;
    memcpy(t->string + t->string_len, bytes, len);
    t->string_len += len;
}

/* OSC 8 ; PARAMS ; URI */
static void take_link(struct term *t)
{
    const char *text = t->string + 2;
    size_t len = t->string_len - 2;
    const char *semi = memchr(text, ';', len);

    if (semi == NULL || (semi + 1 == text + len && semi > text))
        return; /* neither a link nor the end of one */
    t->pen.extra.link = semi + 1 < text + len ? term_link_add(t, text, len) : 0;
    pen_update_extra(&t->pen);
}

static void on_string_end(void *arg, const struct vt *v, bool ok, uint8_t end)
{
    struct term *t = arg;

    (void)v, (void)end;
    if (ok && t->string_kind == VT_STRING_OSC && t->string != NULL && t->string_len >= 3 &&
        t->string_len <= LIMIT_SCREEN_LINK_BYTES && memcmp(t->string, "8;", 2) == 0)
        take_link(t);
    free(t->string);
    t->string = NULL;
    t->string_len = 0;
    if (t->string_kind != VT_STRING_OTHER)
        t->join = 0;
}

static bool on_enough(void *arg)
{
    const struct term *t = arg;

    return t->work >= t->work_end;
}

const struct vt_ops term_ops = {
    .text = on_text,
    .print = on_print,
    .control = on_control,
    .csi = on_csi,
    .esc = on_esc,
    .string_begin = on_string_begin,
    .string_put = on_string_put,
    .string_end = on_string_end,
    .enough = on_enough,
};

/* --- the terminal ----------------------------------------------------------------- */

static void fit(int *rows, int *cols)
{
    if (*cols < COLS_MIN)
        *cols = COLS_MIN;
    if (*rows > LIMIT_SCREEN_CELLS / *cols)
        *rows = LIMIT_SCREEN_CELLS / *cols;
    if (*rows < 1)
        *rows = 1;
}

struct term *term_new(int rows, int cols)
{
    struct term *t = hf_xalloc(sizeof *t);

    fit(&rows, &cols);
    t->rows = rows;
    t->cols = cols;
    modes_init(&t->modes);
    grid_init(&t->grid[0], t->rows, t->cols, true);
    grid_init(&t->grid[1], t->rows, t->cols, false);
    t->now = &t->grid[0];
    grid_fill(t->now, t->rows, t->cols, CELL_NOTHING);
    return t;
}

void term_free(struct term *t)
{
    if (t == NULL)
        return;
    grid_fini(&t->grid[0]);
    grid_fini(&t->grid[1]);
    texts_free(&t->texts);
    texts_free(&t->links);
    free(t->string);
    free(t);
}

void term_feed(struct term *t, const void *bytes, size_t len)
{
    t->work_end = UINT64_MAX;
    (void)vt_feed(&t->vt, &term_ops, t, bytes, len);
}

size_t term_feed_some(struct term *t, const void *bytes, size_t len, uint64_t work)
{
    t->work_end = t->work + work;
    return vt_feed(&t->vt, &term_ops, t, bytes, len);
}

void term_settle(struct term *t)
{
    term_run_end(t);
}

void term_resize(struct term *t, int rows, int cols)
{
    int old_rows = t->rows, old_cols = t->cols, i;

    fit(&rows, &cols);
    if (rows == old_rows && cols == old_cols)
        return;
    term_settle(t);
    t->rows = rows;
    t->cols = cols;
    for (i = 0; i < 2; i++) {
        grid_resize(&t->grid[i], old_rows, old_cols, rows, cols);
        grid_tabs_extend(&t->grid[i], cols);
    }
    modes_resized(&t->modes);
}

void term_seed(struct term *t, const struct vt *vt, const struct modes *m)
{
    int i;

    t->vt = *vt;
    t->modes = *m;
    if (modes_on(m, MODE_ALT_SCREEN)) {
        t->now = &t->grid[1];
        grid_fill(t->now, t->rows, t->cols, CELL_NOTHING);
    }
    for (i = 0; i < 2; i++) {
        struct grid *g = &t->grid[i];
        g->top = m->top[i] < t->rows ? m->top[i] : 0;
        g->bottom = m->bottom[i] < t->rows ? m->bottom[i] : t->rows - 1;
    }
    /* If output has scrolled, the cursor is most likely at the bottom. */
    if (t->now == &t->grid[0])
        t->now->y = t->now->bottom;
}

size_t term_memory(const struct term *t)
{
    size_t n = sizeof *t, i;
    int k;

    for (k = 0; k < 2; k++) {
        n += t->grid[k].ring_size * sizeof(struct row *);
        for (i = 0; i < t->grid[k].len; i++) {
            const struct row *r = grid_row(&t->grid[k], i);
            n += sizeof *r + r->room * (sizeof *r->cells + (r->extras ? sizeof *r->extras : 0));
        }
    }
    return n;
}

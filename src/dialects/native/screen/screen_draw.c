/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_draw.c - a screen in runs of cells, as bytes and as JSON. Layer: dialects.
 */
#include "dialects/native/screen/screen_draw.h"

#include <stdio.h>

#include "base/json.h"
#include "term/snapshot.h"

int screen_rows(const struct screen_picture *p)
{
    return p->lines + p->term->rows;
}

static const struct row *picture_row(const struct screen_picture *p, int row)
{
    const struct grid *g = p->term->now;

    return grid_row(g, g->base - (size_t)p->lines + (size_t)row);
}

static bool same_style(const struct pen *a, const struct pen *b)
{
    return a->fg == b->fg && a->bg == b->bg && a->extra.underline == b->extra.underline &&
           a->extra.link == b->extra.link;
}

/* The column after the last visible cell. */
static int shown_end(const struct screen_picture *p, const struct row *r)
{
    int end = r->held < p->term->cols ? r->held : p->term->cols;

    while (end > 0 && cell_is_plain_empty(row_cell(r, end - 1)))
        end--;
    return end;
}

void screen_runs(const struct screen_picture *p, int row, screen_run_fn *fn, void *arg)
{
    const struct row *r = picture_row(p, row);
    int col = 0, end = r != NULL ? shown_end(p, r) : 0;
    struct buf text = {0};

    while (col < end) {
        struct screen_run run = {.row = row, .col = col, .pen = snapshot_cell_pen(r, col)};

        buf_clear(&text);
        while (col < end) {
            struct pen pen = snapshot_cell_pen(r, col);
            struct cell c = row_cell(r, col);
            char one[CELL_TEXT_MAX];
            size_t n = term_cell_text(p->term, c, one);

            if (!same_style(&pen, &run.pen))
                break;
            if (n > 0)
                buf_put(&text, one, n);
            else if (cell_width(c) > 0)
                buf_putc(&text, ' ');
            col++;
        }
        run.width = col - run.col;
        run.text = buf_cstr(&text);
        run.len = text.len;
        fn(arg, &run);
    }
    buf_fini(&text);
}

/* --- bytes ------------------------------------------------------------------------ */

struct ansi {
    struct buf *out;
    struct pen pen;
};

static void ansi_run(void *arg, const struct screen_run *run)
{
    struct ansi *a = arg;

    if (!same_style(&a->pen, &run->pen))
        snapshot_put_pen(a->out, &run->pen);
    a->pen = run->pen;
    buf_put(a->out, run->text, run->len);
}

void screen_put_ansi(struct buf *out, const struct screen_picture *p)
{
    int row;

    for (row = 0; row < screen_rows(p); row++) {
        struct ansi a = {out, {0}};
        const struct pen plain = {0};

        screen_runs(p, row, ansi_run, &a);
        if (!same_style(&a.pen, &plain))
            buf_puts(out, "\x1b[0m");
        buf_putc(out, '\n');
    }
}

/* --- JSON ----------------------------------------------------------------------------- */

static void json_colour(struct json_out *o, const char *key, uint32_t colour)
{
    char rgb[8];

    json_key(o, key);
    switch (colour & COLOUR_MODE) {
    case COLOUR_RGB:
        snprintf(rgb, sizeof rgb, "#%06x", colour & COLOUR_BITS);
        json_str(o, rgb);
        break;
    case 0: json_nil(o); break;
    default: json_int(o, (int64_t)(colour & 0xff)); break;
    }
}

/* Attributes that are off are left out. */
static void json_flags(struct json_out *o, const struct pen *p)
{
    static const struct {
        uint32_t fg, bg;
        const char *name;
    } flags[] = {
        {FG_BOLD, 0, "bold"},         {0, BG_DIM, "dim"},
        {0, BG_ITALIC, "italic"},     {FG_UNDERLINE, 0, "underline"},
        {FG_BLINK, 0, "blink"},       {FG_INVERSE, 0, "inverse"},
        {FG_HIDDEN, 0, "hidden"},     {FG_STRIKE, 0, "strikethrough"},
        {0, BG_OVERLINE, "overline"},
    };
    size_t i;

    for (i = 0; i < sizeof flags / sizeof *flags; i++)
        if ((p->fg & flags[i].fg) | (p->bg & flags[i].bg))
            json_kbool(o, flags[i].name, true);
}

static void json_run(void *arg, const struct screen_run *run)
{
    struct json_out *o = arg;

    json_open(o, '{');
    json_kint(o, "col", run->col);
    json_kint(o, "width", run->width);
    json_kstrn(o, "text", run->text, run->len);
    json_colour(o, "fg", run->pen.fg);
    json_colour(o, "bg", run->pen.bg);
    json_flags(o, &run->pen);
    json_close(o, '}');
}

static void json_cursor(struct json_out *o, const struct screen_picture *p)
{
    json_kopen(o, "cursor", '{');
    json_kint(o, "row", p->view.y);
    json_kint(o, "col", p->view.x);
    json_kbool(o, "visible", p->view.cursor_shown);
    json_close(o, '}');
}

static void json_line(struct json_out *o, const struct screen_picture *p, int row)
{
    struct buf text = {0};

    json_open(o, '{');
    json_kint(o, "row", row - p->lines);
    json_kbool(o, "wrapped", picture_row(p, row)->wrapped);
    screen_line(p->term, row - p->lines, &text);
    json_kstrn(o, "text", buf_cstr(&text), text.len);
    json_kopen(o, "cells", '[');
    screen_runs(p, row, json_run, o);
    json_close(o, ']');
    json_close(o, '}');
    buf_fini(&text);
}

void screen_put_json(struct buf *out, const struct screen_picture *p)
{
    struct json_out o;
    int row;

    json_out_init(&o, out);
    json_open(&o, '{');
    json_ku64(&o, "offset", p->view.offset);
    json_kint(&o, "rows", p->view.rows);
    json_kint(&o, "cols", p->view.cols);
    json_cursor(&o, p);
    json_kstr(&o, "title", p->view.title);
    json_kbool(&o, "alternate", p->view.alternate);
    json_ku64(&o, "scrollback", p->view.scrollback);
    json_kopen(&o, "lines", '[');
    for (row = 0; row < screen_rows(p); row++)
        json_line(&o, p, row);
    json_close(&o, ']');
    json_close(&o, '}');
}

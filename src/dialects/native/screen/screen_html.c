/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_html.c - a screen as a page and as a picture
 *
 * Whatever a program writes becomes text: none of it is ever markup, and links are not clickable.
 * Layer: dialects.
 */
#include <stdio.h>

#include "dialects/native/screen/screen_draw.h"

#define CELL_X 8 /* a cell of the picture, in pixels */
#define CELL_Y 17
#define FONT_PX 14
#define FONTS "ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"
#define FONTS_XML "ui-monospace,Menlo,Consolas,&#39;DejaVu Sans Mono&#39;,monospace"

/* --- HTML ------------------------------------------------------------------------- */

static void put_decoration(struct buf *out, const struct pen *p)
{
    if (!(p->fg & (FG_UNDERLINE | FG_STRIKE)) && !(p->bg & BG_OVERLINE))
        return;
    buf_printf(out, "text-decoration:%s%s%s;", p->fg & FG_UNDERLINE ? " underline" : "",
               p->fg & FG_STRIKE ? " line-through" : "", p->bg & BG_OVERLINE ? " overline" : "");
}

static void put_style(struct buf *out, const struct pen *p)
{
    struct screen_colours c;

    screen_colours(p, &c);
    if (p->fg & FG_HIDDEN)
        buf_puts(out, "color:transparent;");
    else if ((p->fg & (COLOUR_MODE | FG_INVERSE)) != 0)
        buf_printf(out, "color:%s;", c.fg);
    if (c.has_bg)
        buf_printf(out, "background:%s;", c.bg);
    if (p->fg & FG_BOLD)
        buf_puts(out, "font-weight:bold;");
    if (p->bg & BG_ITALIC)
        buf_puts(out, "font-style:italic;");
    if (p->bg & BG_DIM)
        buf_puts(out, "opacity:.6;");
    put_decoration(out, p);
}

static void html_run(void *arg, const struct screen_run *run)
{
    struct buf *out = arg;

    buf_puts(out, "<span style=\"");
    put_style(out, &run->pen);
    buf_puts(out, "\">");
    screen_escape(out, run->text, run->len);
    buf_puts(out, "</span>");
}

static void put_title(struct buf *out, const struct screen_picture *p)
{
    struct buf t = {0};

    buf_puts(&t, p->view.title[0] != '\0' ? p->view.title : "terminal");
    buf_puts(out, "<title>");
    screen_escape(out, buf_cstr(&t), t.len);
    buf_puts(out, "</title>");
    buf_fini(&t);
}

void screen_put_html(struct buf *out, const struct screen_picture *p)
{
    int row;

    buf_puts(out, "<!doctype html>\n<html><head><meta charset=\"utf-8\">");
    put_title(out, p);
    buf_printf(
        out,
        "<style>body{margin:0;background:%s}pre{margin:0;padding:8px;color:%s;font:%dpx/%dpx "
        "%s}</style></head>\n<body><pre data-rows=\"%d\" data-cols=\"%d\" "
        "data-cursor-row=\"%d\" data-cursor-col=\"%d\">",
        SCREEN_BG, SCREEN_FG, FONT_PX, CELL_Y, FONTS, p->view.rows, p->view.cols, p->view.y,
        p->view.x);
    for (row = 0; row < screen_rows(p); row++) {
        screen_runs(p, row, html_run, out);
        buf_putc(out, '\n');
    }
    buf_puts(out, "</pre></body></html>\n");
}

/* --- SVG ------------------------------------------------------------------------------ */

static void svg_background(void *arg, const struct screen_run *run)
{
    struct screen_colours c;

    screen_colours(&run->pen, &c);
    if (c.has_bg)
        buf_printf(arg, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>",
                   run->col * CELL_X, run->row * CELL_Y, run->width * CELL_X, CELL_Y, c.bg);
}

static bool is_blank(const struct screen_run *run)
{
    size_t i;

    for (i = 0; i < run->len; i++)
        if (run->text[i] != ' ')
            return false;
    return (run->pen.fg & (FG_UNDERLINE | FG_STRIKE)) == 0 && (run->pen.bg & BG_OVERLINE) == 0;
}

static void svg_text(void *arg, const struct screen_run *run)
{
    struct screen_colours c;
    const struct pen *p = &run->pen;

    if (is_blank(run) || p->fg & FG_HIDDEN)
        return;
    screen_colours(p, &c);
    buf_printf(arg,
               "<text x=\"%d\" y=\"%d\" textLength=\"%d\" lengthAdjust=\"spacingAndGlyphs\" "
               "fill=\"%s\" style=\"",
               run->col * CELL_X, run->row * CELL_Y + FONT_PX, run->width * CELL_X, c.fg);
    if (p->fg & FG_BOLD)
        buf_puts(arg, "font-weight:bold;");
    if (p->bg & BG_ITALIC)
        buf_puts(arg, "font-style:italic;");
    if (p->bg & BG_DIM)
        buf_puts(arg, "opacity:.6;");
    put_decoration(arg, p);
    buf_puts(arg, "\">");
    screen_escape(arg, run->text, run->len);
    buf_puts(arg, "</text>\n");
}

static void svg_cursor(struct buf *out, const struct screen_picture *p)
{
    if (p->view.cursor_shown)
        buf_printf(out,
                   "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\" "
                   "fill-opacity=\".6\"/>\n",
                   p->view.x * CELL_X, (p->view.y + p->lines) * CELL_Y, CELL_X, CELL_Y, SCREEN_FG);
}

void screen_put_svg(struct buf *out, const struct screen_picture *p)
{
    int row, w = p->view.cols * CELL_X, h = screen_rows(p) * CELL_Y;

    buf_printf(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 "
               "%d %d\">",
               w, h, w, h);
    put_title(out, p);
    buf_printf(out,
               "<rect width=\"100%%\" height=\"100%%\" fill=\"%s\"/>\n<g font-family=\"%s\" "
               "font-size=\"%d\" xml:space=\"preserve\">\n",
               SCREEN_BG, FONTS_XML, FONT_PX);
    for (row = 0; row < screen_rows(p); row++)
        screen_runs(p, row, svg_background, out);
    for (row = 0; row < screen_rows(p); row++)
        screen_runs(p, row, svg_text, out);
    svg_cursor(out, p);
    buf_puts(out, "</g></svg>\n");
}

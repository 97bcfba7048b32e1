/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_html.c - a screen as a page and as a picture
 *
 * Whatever a program writes becomes text: none of it is ever markup, and links are not clickable.
 * Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "dialects/native/screen/screen_draw.h"

#define CELL_X 8 /* a cell of the picture, in pixels */
#define CELL_Y 17
#define FONT_PX 14
#define FONTS "ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"
#define FONTS_XML "ui-monospace,Menlo,Consolas,&#39;DejaVu Sans Mono&#39;,monospace"

#define SCREEN_FG "#e5e5e5"
#define SCREEN_BG "#000000"

/* --- colours and text ----------------------------------------------------------------- */

/* "#rrggbb" of what a pen shows, with inverse and similar attributes applied. */
struct screen_colours {
    char fg[8], bg[8];
    bool has_bg; /* not the default one */
};

/* The sixteen basic colours, as most terminals show them on black. */
static const uint32_t basic[16] = {
    0x2e3436, 0xcc0000, 0x4e9a06, 0xc4a000, 0x3465a4, 0x75507b, 0x06989a, 0xd3d7cf,
    0x555753, 0xef2929, 0x8ae234, 0xfce94f, 0x729fcf, 0xad7fa8, 0x34e2e2, 0xeeeeec,
};

/* 16 to 231 are a cube of six steps, 232 to 255 greys. */
static uint32_t palette(uint32_t n)
{
    static const uint8_t steps[] = {0, 95, 135, 175, 215, 255};
    uint32_t grey;

    if (n < 16)
        return basic[n];
    if (n >= 232) {
        grey = 8 + (n - 232) * 10;
        return grey << 16 | grey << 8 | grey;
    }
    n -= 16;
    return (uint32_t)steps[n / 36] << 16 | (uint32_t)steps[n / 6 % 6] << 8 | steps[n % 6];
}

static bool put_colour(char out[8], uint32_t colour, const char *def)
{
    uint32_t mode = colour & COLOUR_MODE, n = colour & COLOUR_BITS;

    if (mode == 0)
        memcpy(out, def, 8);
    else
        snprintf(out, 8, "#%06x", mode == COLOUR_RGB ? n : palette(n & 0xff));
    return mode != 0;
}

static void screen_colours(const struct pen *p, struct screen_colours *out)
{
    char swap[8];

    out->has_bg = put_colour(out->bg, p->bg, SCREEN_BG);
    put_colour(out->fg, p->fg, SCREEN_FG);
    if (p->fg & FG_INVERSE) {
        memcpy(swap, out->fg, 8);
        memcpy(out->fg, out->bg, 8);
        memcpy(out->bg, swap, 8);
        out->has_bg = true;
    }
}

/* Text escaped for HTML and XML. */
static void screen_escape(struct buf *out, const char *text, size_t len)
{
    size_t i;

    for (i = 0; i < len; i++) {
        switch (text[i]) {
        case '&': buf_puts(out, "&amp;"); break;
        case '<': buf_puts(out, "&lt;"); break;
        case '>': buf_puts(out, "&gt;"); break;
        case '"': buf_puts(out, "&quot;"); break;
        case '\'': buf_puts(out, "&#39;"); break;
        case '\xef': /* U+FFFE and U+FFFF are not allowed in XML */
            if (len - i >= 3 && text[i + 1] == '\xbf' &&
                (text[i + 2] == '\xbe' || text[i + 2] == '\xbf')) {
                buf_puts(out, "\xef\xbf\xbd");
                i += 2;
                break;
            }
            buf_putc(out, text[i]);
            break;
        default: buf_putc(out, text[i]); break;
        }
    }
}

/* --- HTML ------------------------------------------------------------------------- */

static void put_font(struct buf *out, const struct pen *p)
{
    if (p->fg & FG_BOLD)
        buf_puts(out, "font-weight:bold;");
    if (p->bg & BG_ITALIC)
        buf_puts(out, "font-style:italic;");
    if (p->bg & BG_DIM)
        buf_puts(out, "opacity:.6;");
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
    put_font(out, p);
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
    put_font(arg, p);
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term_sgr.c - SGR: sets the pen
 *
 * Colours come with semicolons or colons (38;2;R;G;B, 38:2::R:G:B, 38:5:N), or both at once, as in
 * xterm.js. Layer: term.
 */
#include "term/term_own.h"

void pen_update_extra(struct pen *p)
{
    bool any = (p->extra.underline & EXTRA_STYLE) != 0 || p->extra.link != 0;

    p->bg = any ? p->bg | BG_EXTRA : p->bg & ~(uint32_t)BG_EXTRA;
}

void pen_reset(struct pen *p)
{
    p->fg = 0;
    p->bg = 0;
    p->extra.underline = 0;
    pen_update_extra(p); /* an open link stays */
}

static void set_underline(struct pen *p, int32_t style)
{
    if (style < 0 || style > 5)
        style = 1;
    p->extra.underline = (p->extra.underline & ~EXTRA_STYLE) | (uint32_t)style << EXTRA_STYLE_SHIFT;
    p->fg = style != 0 ? p->fg | FG_UNDERLINE : p->fg & ~(uint32_t)FG_UNDERLINE;
    pen_update_extra(p);
}

static void set_underline_default(struct pen *p)
{
    p->extra.underline |= COLOUR_ALL;
    pen_update_extra(p);
}

static uint32_t mixed(uint32_t old, const int32_t *c)
{
    if (c[1] == 2)
        return (old & ~COLOUR_ALL) | COLOUR_RGB | (uint32_t)(c[3] & 0xff) << 16 |
               (uint32_t)(c[4] & 0xff) << 8 | (uint32_t)(c[5] & 0xff);
    if (c[1] == 5)
        return (old & ~COLOUR_ALL) | COLOUR_256 | (uint32_t)(c[3] & 0xff);
    return old;
}

/* Collects 38, kind, colour space, and three values; a colour space is only present with colons.
 * Returns the number of further parameters used. */
static unsigned take_colour(struct pen *p, const struct vt *v, unsigned first)
{
    int32_t c[6] = {0, 0, -1, 0, 0, 0};
    unsigned i, n = 0, space = 0;

    do {
        unsigned at = vt_param_index(v, first + n), subs;

        c[n + space] = v->params[at];
        subs = vt_param_subs(v, at);
        for (i = 0; i < subs && i + n + 1 + space < 6; i++) {
            if (c[1] == 5)
                space = 1;
            if (n + i + 1 + space < 6)
                c[n + i + 1 + space] = v->params[at + 1 + i];
        }
        if (subs > 0 || (c[1] == 5 && n + space >= 2) || (c[1] == 2 && n + space >= 5))
            break;
        if (c[1] != 0)
            space = 1;
    } while (vt_param_index(v, first + ++n) < VT_PARAMS && n + space < 6);
    for (i = 2; i < 6; i++)
        if (c[i] == -1)
            c[i] = 0;
    if (c[0] == 38)
        p->fg = mixed(p->fg, c);
    else if (c[0] == 48)
        p->bg = mixed(p->bg, c);
    else
        p->extra.underline = mixed(p->extra.underline, c);
    return n;
}

static void set16(uint32_t *colour, int32_t number)
{
    *colour = (*colour & ~COLOUR_ALL) | COLOUR_16 | (uint32_t)number;
}

/* The parameters that turn one flag on or off; 0 and 1 select its word. */
static const struct {
    int8_t code, in_bg;
    bool on;
    uint32_t flag;
} simple[] = {
    {1, 0, true, FG_BOLD},      {2, 1, true, BG_DIM},       {3, 1, true, BG_ITALIC},
    {5, 0, true, FG_BLINK},     {7, 0, true, FG_INVERSE},   {8, 0, true, FG_HIDDEN},
    {9, 0, true, FG_STRIKE},    {22, 0, false, FG_BOLD},    {22, 1, false, BG_DIM},
    {23, 1, false, BG_ITALIC},  {25, 0, false, FG_BLINK},   {27, 0, false, FG_INVERSE},
    {28, 0, false, FG_HIDDEN},  {29, 0, false, FG_STRIKE},  {39, 0, false, COLOUR_ALL},
    {49, 1, false, COLOUR_ALL}, {53, 1, true, BG_OVERLINE}, {55, 1, false, BG_OVERLINE},
};

static void set_simple(struct pen *p, int32_t code)
{
    unsigned i;

    for (i = 0; i < sizeof simple / sizeof *simple; i++) {
        uint32_t *word = simple[i].in_bg ? &p->bg : &p->fg;
        if (simple[i].code == code)
            *word = simple[i].on ? *word | simple[i].flag : *word & ~simple[i].flag;
    }
}

void term_sgr(struct pen *p, const struct vt *v)
{
    unsigned i, at;

    for (i = 0; (at = vt_param_index(v, i)) < VT_PARAMS; i++) {
        int32_t c = v->params[at];
        if (c == 0)
            pen_reset(p);
        else if (c >= 30 && c <= 37)
            set16(&p->fg, c - 30);
        else if (c >= 40 && c <= 47)
            set16(&p->bg, c - 40);
        else if (c >= 90 && c <= 97)
            set16(&p->fg, c - 90 + 8);
        else if (c >= 100 && c <= 107)
            set16(&p->bg, c - 100 + 8);
        else if (c == 4)
            set_underline(p, vt_param_subs(v, at) > 0 ? v->params[at + 1] : 1);
        else if (c == 21)
            set_underline(p, 2);
        else if (c == 24)
            set_underline(p, 0);
        else if (c == 38 || c == 48 || c == 58)
            i += take_colour(p, v, i);
        else if (c == 59)
            set_underline_default(p);
        else if (c <= 55)
            set_simple(p, c);
    }
}

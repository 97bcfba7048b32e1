/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_colour.c - colours and escapes of rendered screens. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "dialects/native/screen/screen_draw.h"

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

void screen_colours(const struct pen *p, struct screen_colours *out)
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

void screen_escape(struct buf *out, const char *text, size_t len)
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

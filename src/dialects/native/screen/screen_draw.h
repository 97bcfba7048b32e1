/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_draw.h - a screen as text, bytes, JSON, HTML or SVG. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_SCREEN_SCREEN_DRAW_H
#define HF_DIALECTS_NATIVE_SCREEN_SCREEN_DRAW_H

#include "engine/stream/screen.h"

/* Adjacent cells with the same style. */
struct screen_run {
    int row; /* of the picture, from 0 */
    int col, width;
    struct pen pen;
    const char *text; /* empty cells are spaces; ends with NUL */
    size_t len;
};
typedef void screen_run_fn(void *arg, const struct screen_run *run);

/* What is drawn: `lines` of scrollback, then the screen. */
struct screen_picture {
    const struct term *term;
    struct screen_view view;
    int lines;
};

/* The runs of one line, `row` from 0, without blank cells at the end. */
void screen_runs(const struct screen_picture *p, int row, screen_run_fn *fn, void *arg);
int screen_rows(const struct screen_picture *p);

void screen_put_ansi(struct buf *out, const struct screen_picture *p);
void screen_put_json(struct buf *out, const struct screen_picture *p);
void screen_put_html(struct buf *out, const struct screen_picture *p);
void screen_put_svg(struct buf *out, const struct screen_picture *p);

#endif

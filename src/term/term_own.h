/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term_own.h - shared by the files of the terminal model. Layer: term.
 */
#ifndef HF_TERM_TERM_OWN_H
#define HF_TERM_TERM_OWN_H

#include "term/term.h"

#define CELL_NOTHING ((struct cell){CELL_EMPTY, 0, 0})

/* term.c: what the parser calls */
extern const struct vt_ops term_ops;

/* term_row.c. Columns out of range: reads return the empty cell, writes are ignored. */
struct row *row_new(struct cell fill, int cols, bool wrapped);
void row_free(struct row *r);
void row_put(struct row *r, int col, struct cell c, struct extra e);
void row_fill(struct row *r, struct cell fill, bool keep_protected);
void row_insert(struct row *r, int at, int n, struct cell fill);
void row_delete(struct row *r, int at, int n, struct cell fill);
void row_replace(struct row *r, int from, int to, struct cell fill, bool keep_protected);
void row_resize(struct row *r, int cols); /* drops what is to the right */
void row_trim(struct row *r);             /* frees the memory of empty cells */
int row_length(const struct row *r);      /* after the last cell with content */
bool row_has_content(const struct row *r, int col);
unsigned row_width(const struct row *r, int col);

/* term_grid.c */
void grid_init(struct grid *g, int rows, int cols, bool scrollback);
void grid_fini(struct grid *g);
void grid_fill(struct grid *g, int rows, int cols, struct cell fill); /* adds lines if empty */
void grid_clear(struct grid *g, int rows, int cols);                  /* no lines, cursor home */
void grid_push(struct grid *g, struct row *r);
void grid_pop(struct grid *g);
void grid_insert(struct grid *g, size_t at, struct row *r);
void grid_drop_first(struct grid *g, size_t n);
void grid_set(struct grid *g, size_t at, struct row *r);
/* Within [top, bottom], removes n lines at one end and adds blank ones at the other. */
void grid_shift(struct grid *g, size_t top, size_t bottom, int32_t n, bool up, int cols,
                struct cell fill);
void grid_scroll(struct grid *g, int cols, struct cell fill, bool wrapped);
size_t grid_max(const struct grid *g, int rows, int cols);
void grid_resize(struct grid *g, int old_rows, int old_cols, int rows, int cols);
struct row *grid_line(const struct grid *g); /* the cursor's */
bool grid_tab_is_set(const struct grid *g, int col);
void grid_tab_set(struct grid *g, int col, bool on);
void grid_tabs_default(struct grid *g, int cols);
void grid_tabs_extend(struct grid *g, int cols);
int grid_tab_next(const struct grid *g, int cols);
int grid_tab_previous(const struct grid *g, int cols);

/* term_reflow.c */
void grid_reflow(struct grid *g, int old_cols, int rows, int cols);

/* term_print.c */
void term_text(struct term *t, const char *ascii, size_t len);
void term_print(struct term *t, uint32_t cp);
void term_run_end(struct term *t);
void term_repeat(struct term *t, int32_t times);
/* Scrolls the region up by a line, into the scrollback if it starts at the top. */
void term_scroll(struct term *t, bool wrapped);

/* term_csi.c */
void term_csi(struct term *t, const struct vt *v, uint32_t id);
void term_esc(struct term *t, uint32_t id);
void term_control(struct term *t, uint8_t c);

/* term_sgr.c */
void term_sgr(struct pen *p, const struct vt *v);
void pen_reset(struct pen *p);
void pen_update_extra(struct pen *p);

/* term_text.c: texts with combining marks, links, widths, character sets. */
unsigned term_char_width(uint32_t cp);
uint32_t term_charset_char(uint8_t charset, uint32_t cp);
uint32_t term_text_with(struct term *t, uint32_t content, uint32_t cp); /* 0: no room */
uint32_t term_link_add(struct term *t, const char *text, size_t len);
void texts_free(struct texts *x);

struct cell term_erase_cell(const struct term *t);

#endif

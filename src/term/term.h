/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term.h - a terminal's screen, built from its output
 *
 * Cells, cursor, pen and scrollback match what xterm.js has after the same bytes and resizes: its
 * widths, its wrapping, its reflow, because a snapshot must look there exactly as the whole output
 * would, cell for cell. Kept small: 12 bytes a cell, lines only as long as their content, rare
 * attributes stored separately. Fed with bytes; knows nothing of processes. Owned by struct screen.
 * Layer: term; includes nothing above base.
 */
#ifndef HF_TERM_TERM_H
#define HF_TERM_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "term/modes.h"
#include "term/vt.h"

/*
 * A cell: content is a code point or the number of a text with combining marks, plus the width (0:
 * the right half of a wide character). Code point 0 is an empty cell, which differs from a space.
 */
#define CELL_CP 0x1fffffu
#define CELL_COMBINED (1u << 21)
#define CELL_HAS_CONTENT (CELL_CP | CELL_COMBINED)
#define CELL_WIDTH_SHIFT 22
#define CELL_EMPTY (1u << CELL_WIDTH_SHIFT)

/* Colours: 24 bits, and what they mean. The rest of fg and bg are flags. */
#define COLOUR_BITS 0xffffffu
#define COLOUR_MODE (3u << 24)
#define COLOUR_16 (1u << 24)
#define COLOUR_256 (2u << 24)
#define COLOUR_RGB (3u << 24)
#define COLOUR_ALL (COLOUR_BITS | COLOUR_MODE)
#define FG_INVERSE (1u << 26)
#define FG_BOLD (1u << 27)
#define FG_UNDERLINE (1u << 28)
#define FG_BLINK (1u << 29)
#define FG_HIDDEN (1u << 30)
#define FG_STRIKE (1u << 31)
#define BG_ITALIC (1u << 26)
#define BG_DIM (1u << 27)
#define BG_EXTRA (1u << 28) /* the cell has a struct extra */
#define BG_PROTECTED (1u << 29)
#define BG_OVERLINE (1u << 30)
/* The underline's colour as above, its style in bits 26 to 28. */
#define EXTRA_STYLE_SHIFT 26
#define EXTRA_STYLE (7u << EXTRA_STYLE_SHIFT)

struct cell {
    uint32_t content, fg, bg;
};
struct extra {
    uint32_t underline;
    uint32_t link; /* 0: none, else term_link() */
};
struct pen {
    uint32_t fg, bg;
    struct extra extra;
};

/* A line. Cells from `held` on are empty and plain. */
struct row {
    struct cell *cells;
    struct extra *extras; /* NULL: none on this line; else `held` of them */
    uint16_t len; /* columns; more than the screen's on an alternate screen that was narrowed */
    uint16_t held, room;
    bool wrapped; /* continues the line above */
};

/* A screen and its scrollback: `rows` lines from `base` on are the screen. */
struct grid {
    struct row **ring;
    size_t ring_size, start, len, max;
    size_t base;
    int x, y; /* x may be cols: the next character wraps */
    int top, bottom;
    int saved_x;
    size_t saved_y; /* counted from the first line kept */
    uint32_t saved_fg, saved_bg;
    uint8_t *tabs; /* bits */
    bool has_scrollback;
};

struct term {
    struct vt vt;
    struct modes modes;
    struct grid grid[2]; /* main and alternate */
    struct grid *now;
    int rows, cols;
    struct pen pen;
    uint8_t join; /* width of the character that a combining mark would join; 0: none */
    bool in_run;  /* the last token was text */
    struct texts {
        char **list;
        size_t count, room;
    } texts, links;
    /* Cells touched so far, or operations that cost as much: an upper bound, because a
     * three-byte sequence may touch a whole screen. A feed stops when it reaches work_end. */
    uint64_t work, work_end;
    char *string; /* of the OSC 8 being parsed */
    size_t string_len;
    uint8_t string_kind;
};

/* A size beyond LIMIT_SCREEN_CELLS loses lines at the bottom, here and in term_resize(). */
struct term *term_new(int rows, int cols);
void term_free(struct term *t); /* NULL is fine */
void term_feed(struct term *t, const void *bytes, size_t len);
/* Stops after the token that completes `work`; returns the number of bytes consumed, at least
 * one. */
size_t term_feed_some(struct term *t, const void *bytes, size_t len, uint64_t work);
/* Call before reading the screen: completes the effect of the last character, which is otherwise
 * deferred until the next token. */
void term_settle(struct term *t);
void term_resize(struct term *t, int rows, int cols);
/* Initialises a terminal of which only the parser's state and the modes are known. */
void term_seed(struct term *t, const struct vt *vt, const struct modes *m);

/* Line i of a screen, from the first line kept; the cell at a column; "" is an empty cell. */
struct row *grid_row(const struct grid *g, size_t i);
struct cell row_cell(const struct row *r, int col);
struct extra row_extra(const struct row *r, int col);
/* The text of a cell as UTF-8 with a NUL; returns its length. */
#define CELL_TEXT_MAX 64
size_t term_cell_text(const struct term *t, struct cell c, char out[CELL_TEXT_MAX]);
/* "PARAMS;URI" as in OSC 8; "" for 0. */
const char *term_link(const struct term *t, uint32_t link);
static inline unsigned cell_width(struct cell c)
{
    return c.content >> CELL_WIDTH_SHIFT;
}
static inline bool cell_is_plain_empty(struct cell c)
{
    return c.content == CELL_EMPTY && c.fg == 0 && c.bg == 0;
}
size_t term_memory(const struct term *t); /* approximate */

#endif

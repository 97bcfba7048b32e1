/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_row.c - writes lines of cells as bytes
 *
 * The terminal that reads them must end up with the same cells, including empty ones. It must also
 * know which lines continue the line above, which is only possible by printing past the right edge.
 * Layer: term.
 */
#include <string.h>

#include "term/snapshot_own.h"

#define WIDE "\xe3\x80\x80" /* U+3000, a wide space */

/* --- the pen ---------------------------------------------------------------------- */

struct pen snapshot_cell_pen(const struct row *r, int col)
{
    struct cell c = row_cell(r, col);

    return (struct pen){c.fg, c.bg, row_extra(r, col)};
}

static bool same_pen(const struct pen *a, const struct pen *b)
{
    return a->fg == b->fg && a->bg == b->bg && a->extra.underline == b->extra.underline &&
           a->extra.link == b->extra.link;
}

static void put_colour(struct buf *out, uint32_t colour, int base)
{
    uint32_t n = colour & COLOUR_BITS;

    switch (colour & COLOUR_MODE) {
    case COLOUR_16: buf_printf(out, ";%d", (int)(n < 8 ? n : n + 52) + base); break;
    case COLOUR_256: buf_printf(out, ";%d;5;%u", base + 8, n & 0xff); break;
    case COLOUR_RGB:
        buf_printf(out, ";%d;2;%u;%u;%u", base + 8, n >> 16, n >> 8 & 0xff, n & 0xff);
        break;
    default: break;
    }
}

static void put_underline(struct buf *out, const struct pen *p)
{
    uint32_t style = (p->extra.underline & EXTRA_STYLE) >> EXTRA_STYLE_SHIFT;

    if (!(p->fg & FG_UNDERLINE))
        ;
    else if (p->bg & BG_EXTRA && style > 1)
        buf_printf(out, ";4:%u", style);
    else
        buf_puts(out, ";4");
    put_colour(out, p->extra.underline, 50);
}

void snapshot_put_pen(struct buf *out, const struct pen *p)
{
    static const struct {
        uint32_t flag;
        const char *code;
    } fg[] = {{FG_BOLD, ";1"},
              {FG_BLINK, ";5"},
              {FG_INVERSE, ";7"},
              {FG_HIDDEN, ";8"},
              {FG_STRIKE, ";9"}},
      bg[] = {{BG_DIM, ";2"}, {BG_ITALIC, ";3"}, {BG_OVERLINE, ";53"}};
    size_t i;

    buf_puts(out, "\x1b[0");
    for (i = 0; i < sizeof fg / sizeof *fg; i++)
        if (p->fg & fg[i].flag)
            buf_puts(out, fg[i].code);
    for (i = 0; i < sizeof bg / sizeof *bg; i++)
        if (p->bg & bg[i].flag)
            buf_puts(out, bg[i].code);
    put_underline(out, p);
    put_colour(out, p->fg & COLOUR_ALL, 30);
    put_colour(out, p->bg & COLOUR_ALL, 40);
    buf_putc(out, 'm');
}

void writer_pen(struct writer *w, const struct pen *wanted)
{
    struct pen p = *wanted;

    if (!(p.bg & BG_EXTRA))
        p.extra.link = 0; /* open, but lost by restoring a saved cursor */
    if (same_pen(&w->pen, &p))
        return;
    if (w->pen.extra.link != p.extra.link)
        buf_printf(w->out, "\x1b]8;%s\x1b\\",
                   p.extra.link != 0 ? term_link(w->t, p.extra.link) : ";");
    snapshot_put_pen(w->out, &p);
    if (p.bg & BG_PROTECTED)
        buf_puts(w->out, "\x1b[1\"q");
    w->pen = p;
}

void writer_plain(struct writer *w)
{
    const struct pen plain = {0};

    writer_pen(w, &plain);
}

void writer_text(struct writer *w, const struct row *r, int col)
{
    char text[CELL_TEXT_MAX];
    size_t n = term_cell_text(w->t, row_cell(r, col), text);
    struct pen p = snapshot_cell_pen(r, col);

    writer_pen(w, &p);
    if (row_width(r, col) == 0)
        buf_putc(w->out, '\0'); /* a lone mark: it must not join the character before it */
    if (row_width(r, col) == 2 && col + 1 >= w->t->cols)
        buf_putc(w->out, ' '); /* narrowing the window split it */
    else
        buf_put(w->out, text, n);
}

/* --- empty cells --------------------------------------------------------------------- */

static bool is_empty(struct cell c)
{
    return (c.content & CELL_HAS_CONTENT) == 0 && cell_width(c) == 1;
}

/* Erasing leaves a cell that is empty except for its background. */
static bool is_erased(struct cell c)
{
    return is_empty(c) && (c.fg | (c.bg & ~COLOUR_ALL)) == 0;
}

static void to_column(struct writer *w, int col)
{
    if (col == 0)
        buf_putc(w->out, '\r');
    else
        buf_printf(w->out, "\x1b[%dG", col + 1);
}

static void erase(struct writer *w, int n)
{
    if (n == 1)
        buf_puts(w->out, "\x1b[X");
    else
        buf_printf(w->out, "\x1b[%dX", n);
}

static void forward(struct writer *w, int n)
{
    if (n == 1)
        buf_puts(w->out, "\x1b[C");
    else
        buf_printf(w->out, "\x1b[%dC", n);
}

/* An empty cell that has more than a background results from overwriting half of a wide
 * character. It is recreated in the same way, on a line that is still blank. */
static void make_torn(struct writer *w, const struct row *r, int col)
{
    struct pen p = snapshot_cell_pen(r, col);
    int wide = col + 1 < w->t->cols ? col : col - 1; /* where the wide character starts */
    int over = wide == col ? col + 1 : col - 1;      /* which half is overwritten */

    writer_plain(w);
    to_column(w, wide);
    buf_puts(w->out, WIDE);
    to_column(w, over);
    writer_pen(w, &p);
    buf_putc(w->out, ' ');
    writer_plain(w);
    to_column(w, over);
    erase(w, 1);
}

static bool is_torn(struct cell c)
{
    return is_empty(c) && !is_erased(c);
}

/* Recreates all such cells of a line before `end`. The last column comes first: it uses the one
 * before it. */
static void make_all_torn(struct writer *w, const struct row *r, int end)
{
    int col, last = w->t->cols - 1, n = 0;

    if (end > last && is_torn(row_cell(r, last))) {
        make_torn(w, r, last);
        n++;
    }
    for (col = 0; col < last && col < end && col < r->held; col++) {
        if (!is_torn(row_cell(r, col)))
            continue;
        make_torn(w, r, col);
        n++;
    }
    if (n > 0)
        to_column(w, 0);
}

static bool has_torn(const struct writer *w, const struct row *r)
{
    int col;

    for (col = 0; col < r->held && col < w->t->cols; col++)
        if (is_torn(row_cell(r, col)))
            return true;
    return false;
}

/* --- a line ------------------------------------------------------------------------------ */

/* The number of cells from col on that equal this one. */
static int same_run(const struct row *r, int col, int end)
{
    struct cell a = row_cell(r, col);
    int n = 1;

    while (col + n < end) {
        struct cell b = row_cell(r, col + n);
        if (b.content != a.content || b.fg != a.fg || b.bg != a.bg)
            break;
        n++;
    }
    return n;
}

static int line_end(const struct writer *w, const struct row *r)
{
    int end = r->held < w->t->cols ? r->held : w->t->cols;

    while (end > 0 && cell_is_plain_empty(row_cell(r, end - 1)))
        end--;
    return end;
}

/* Writes the cells of a line; returns the cursor's column, which is cols after a full line. */
static int write_cells(struct writer *w, const struct row *r)
{
    int end = line_end(w, r), col = 0, at = 0, n;

    while (col < end) {
        struct cell c = row_cell(r, col);
        n = 1;
        if (is_erased(c) && c.bg != 0) {
            struct pen p = {0, c.bg, {0}};
            n = same_run(r, col, end);
            if (col > at)
                forward(w, col - at);
            writer_pen(w, &p);
            erase(w, n);
            at = col;
        } else if (c.content & CELL_HAS_CONTENT) {
            if (col > at)
                forward(w, col - at);
            writer_text(w, r, col);
            n = cell_width(c) == 2 ? 2 : 1;
            at = col + n;
        } /* the rest is skipped */
        col += n;
    }
    return at;
}

/* A wide character did not fit and left a gap, which reappears when the character is printed
 * again. */
static bool has_gap(const struct writer *w, const struct row *r, const struct row *next)
{
    struct pen gap = snapshot_cell_pen(r, w->t->cols - 1), p;

    if (next == NULL || !next->wrapped || row_width(next, 0) != 2)
        return false;
    p = snapshot_cell_pen(next, 0);
    return is_empty(row_cell(r, w->t->cols - 1)) && same_pen(&gap, &p);
}

/* The next line becomes a continuation of this one by itself if its first character is printed
 * now. */
static bool wraps_by_itself(const struct writer *w, const struct row *r, const struct row *next,
                            int at, bool scrolls)
{
    struct cell first = row_cell(next, 0);

    if (!(first.content & CELL_HAS_CONTENT) || cell_width(first) == 0)
        return false;
    if (scrolls && (first.bg & COLOUR_MODE) != 0)
        return false; /* the new line would be filled with this colour */
    return at == w->t->cols || (at == w->t->cols - 1 && has_gap(w, r, next));
}

/* Prints something past the edge, then restores what was there. */
static void wrap_by_force(struct writer *w, const struct row *r)
{
    int last = w->t->cols - 1;
    struct cell c = row_cell(r, last);

    writer_plain(w);
    to_column(w, last);
    buf_puts(w->out, "xx\x1b[A");
    if (is_torn(c)) {
        make_torn(w, r, last);
        c = row_cell(r, --last);
    }
    if (cell_width(c) == 0 && !(c.content & CELL_HAS_CONTENT))
        last--;
    to_column(w, last);
    if (is_empty(row_cell(r, last))) {
        struct pen p = {0, row_cell(r, last).bg & COLOUR_ALL, {0}};
        writer_pen(w, &p);
        erase(w, 1);
    } else {
        writer_text(w, r, last);
    }
    writer_plain(w);
    buf_puts(w->out, "\x1b[B\r");
    erase(w, 1);
}

static void next_line(struct writer *w, const struct row *r, const struct row *next, int at,
                      bool scrolls)
{
    int last = w->t->cols - 1;

    if (!next->wrapped) {
        writer_plain(w);
        buf_puts(w->out, "\r\n");
        return;
    }
    if (at < last && has_gap(w, r, next)) {
        forward(w, last - at);
        at = last;
    }
    if (has_torn(w, next) || !wraps_by_itself(w, r, next, at, scrolls))
        wrap_by_force(w, r);
}

/* The first line kept may continue a line that was dropped. Such a line is written at the
 * bottom, scrolled to the top, and what is above it is discarded. */
static void begin_wrapped(struct writer *w)
{
    int i;

    buf_printf(w->out, "\x1b[%d;%dHxx\r\x1b[X", w->t->rows, w->t->cols);
    for (i = 1; i < w->t->rows; i++)
        buf_putc(w->out, '\n');
    buf_puts(w->out, "\x1b[3J\x1b[H");
}

/* The lines that do not fit into a screen of our height must become scrollback in a taller one,
 * too, where they would otherwise remain visible and be overwritten. */
static void write_region(struct writer *w, bool on)
{
    if (on)
        buf_printf(w->out, "\x1b[1;%dr", w->t->rows);
    else
        buf_puts(w->out, "\x1b[r");
}

void writer_lines(struct writer *w, const struct grid *g)
{
    size_t i, end = g->base + (size_t)w->t->rows;
    bool wrapped = g->len > 0 && grid_row(g, 0)->wrapped, scrolls;

    if (end > g->len)
        end = g->len;
    scrolls = wrapped || end > (size_t)w->t->rows;
    if (scrolls)
        write_region(w, true);
    if (wrapped)
        begin_wrapped(w);
    for (i = 0; i < end; i++) {
        const struct row *r = grid_row(g, i), *next = i + 1 < end ? grid_row(g, i + 1) : NULL;
        bool full = i + 1 >= (size_t)w->t->rows;
        int at;

        make_all_torn(w, r, has_gap(w, r, next) ? w->t->cols - 1 : w->t->cols);
        at = write_cells(w, r);
        if (next != NULL)
            next_line(w, r, next, at, full);
    }
    writer_plain(w);
    if (scrolls)
        write_region(w, false);
}

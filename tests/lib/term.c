/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term.c - the screen model and its snapshots as a filter, for the tests
 *
 * Standard input is a list of commands, each a letter and its data:
 *   N ROWS COLS      a new terminal
 *   B LENGTH\n bytes  output
 *   R ROWS COLS      another size
 *   D                write all cells, the cursor and the modes as text, then an empty line
 *   S                write a snapshot: the offset where output goes on behind it, its length, a
 *                    newline, the bytes
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "term/snapshot.h"
#include "term/term.h"

static void dump_cell(const struct term *t, const struct row *r, int col)
{
    struct cell c = row_cell(r, col);
    struct extra e = row_extra(r, col);
    char text[CELL_TEXT_MAX];
    uint32_t fg = c.fg & COLOUR_MODE ? c.fg & COLOUR_ALL : 0;
    uint32_t bg = c.bg & COLOUR_MODE ? c.bg & COLOUR_ALL : 0;
    unsigned flags = (c.fg >> 26) | (c.bg >> 26 & 1) << 6 | (c.bg >> 27 & 1) << 7 |
                     (c.bg >> 29 & 1) << 8 | (c.bg >> 30 & 1) << 9;

    if (cell_is_plain_empty(c)) {
        putchar('.');
        return;
    }
    term_cell_text(t, c, text);
    printf("[%s|%u|%x|%x|%x|%x|%s]", text, cell_width(c), fg, bg, flags,
           !e.link && e.underline >> EXTRA_STYLE_SHIFT > 1 ? e.underline : 0, e.link ? "link" : "");
}

static void dump_grid(const struct term *t, const struct grid *g, const char *name)
{
    size_t i;
    int col;

    printf("%s base %zu len %zu region %d-%d\n", name, g->base, g->len, g->top, g->bottom);
    for (i = 0; i < g->len; i++) {
        const struct row *r = grid_row(g, i);
        putchar(r->wrapped ? '+' : ' ');
        for (col = 0; col < t->cols; col++)
            dump_cell(t, r, col);
        putchar('\n');
    }
}

static void dump(const struct term *t)
{
    const struct modes *m = &t->modes;

    dump_grid(t, &t->grid[0], "main");
    if (t->now == &t->grid[1])
        dump_grid(t, &t->grid[1], "alt");
    printf("cursor %d,%d\n", t->now->x, t->now->y);
    printf("modes %d %d %d %d %d %d %d %d %d %d %d mouse %d %d\n", !!(m->flags & MODE_APP_CURSOR),
           !!(m->flags & MODE_APP_KEYPAD), !!(m->flags & MODE_PASTE), !!(m->flags & MODE_ORIGIN),
           !!(m->flags & MODE_REVERSE_WRAP), !!(m->flags & MODE_FOCUS),
           !!(m->flags & MODE_AUTOWRAP), !!(m->flags & MODE_INSERT), !!(m->flags & MODE_CURSOR),
           !!(m->flags & MODE_SYNC), m->cursor_style, m->mouse, m->mouse_coding);
    printf("pen %x %x\n", t->pen.fg, t->pen.bg & ~(uint32_t)BG_EXTRA);
    printf("\n");
}

static void write_snapshot(const struct term *t)
{
    struct buf out = {0};

    snapshot_write(&out, t, NULL);
    printf("%" PRIu64 " %zu\n", vt_is_open(&t->vt) ? t->vt.token_at : t->vt.at, out.len);
    fwrite(buf_data(&out), 1, out.len, stdout);
    buf_fini(&out);
}

static void feed(struct term *t)
{
    size_t len;
    char *bytes;

    if (scanf("%zu", &len) != 1 || getchar() != '\n')
        exit(2);
    bytes = malloc(len + 1);
    if (bytes == NULL || fread(bytes, 1, len, stdin) != len)
        exit(2);
    term_feed(t, bytes, len);
    free(bytes);
}

int main(void)
{
    struct term *t = NULL;
    int c, rows, cols;

    while ((c = getchar()) != EOF) {
        if (c == 'N' || c == 'R') {
            if (scanf("%d %d", &rows, &cols) != 2)
                return 2;
            if (c == 'R') {
                term_resize(t, rows, cols);
            } else {
                term_free(t);
                t = term_new(rows, cols);
            }
        } else if (c == 'B') {
            feed(t);
        } else if (c == 'D') {
            term_settle(t);
            dump(t);
            fflush(stdout);
        } else if (c == 'S') {
            term_settle(t);
            write_snapshot(t);
            fflush(stdout);
        }
    }
    term_free(t);
    return 0;
}

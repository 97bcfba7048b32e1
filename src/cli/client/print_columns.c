/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print_columns.c - tables whose columns fit the terminal. Layer: cli.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/client/client_print.h"

#define GAP 2
#define SHRINK_LEAST 10

void columns_init(struct columns *t, int columns, int shrink, const char *const *titles)
{
    *t = (struct columns){.columns = columns, .shrink = shrink};
    for (int i = 0; i < columns; i++)
        t->titles[i] = titles[i];
}

void columns_add(struct columns *t, const char *const *cells)
{
    size_t at = t->rows * (size_t)t->columns;

    t->cells = hf_xrealloc(t->cells, (at + (size_t)t->columns) * sizeof *t->cells);
    for (int i = 0; i < t->columns; i++) {
        struct buf plain = {0};

        print_plain(&plain, cells[i]);
        t->cells[at + (size_t)i] = hf_xstrdup(buf_cstr(&plain));
        buf_fini(&plain);
    }
    t->rows++;
}

void columns_fini(struct columns *t)
{
    for (size_t i = 0; i < t->rows * (size_t)t->columns; i++)
        free(t->cells[i]);
    free(t->cells);
}

void columns_print_list(const json_t *array, int columns, const char *const *titles,
                        const char *const *fields)
{
    struct columns t;
    const json_t *v;
    size_t i;

    columns_init(&t, columns, columns - 1, titles);
    json_array_foreach ((json_t *)array, i, v) {
        struct buf text[COLUMNS_MOST] = {0};
        const char *cells[COLUMNS_MOST];

        for (int c = 0; c < columns; c++) {
            format_value(&text[c], json_object_get(v, fields[c]));
            cells[c] = buf_cstr(&text[c]);
        }
        columns_add(&t, cells);
        for (int c = 0; c < columns; c++)
            buf_fini(&text[c]);
    }
    columns_print(&t, print_terminal_columns());
    columns_fini(&t);
}

/* Counts characters, each as one column. */
static int text_width(const char *s)
{
    int n = 0;

    for (; *s != '\0'; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static void measure(const struct columns *t, int width, int *widths)
{
    int total = (t->columns - 1) * GAP;

    for (int c = 0; c < t->columns; c++) {
        widths[c] = text_width(t->titles[c]);
        for (size_t r = 0; r < t->rows; r++) {
            int n = text_width(t->cells[r * (size_t)t->columns + (size_t)c]);
            widths[c] = n > widths[c] ? n : widths[c];
        }
        total += widths[c];
    }
    if (width > 0 && t->shrink >= 0 && total > width) {
        int left = widths[t->shrink] - (total - width);
        widths[t->shrink] = left > SHRINK_LEAST ? left : SHRINK_LEAST;
    }
}

/* The text, cut with "…" or padded to the width; the last column is not padded. */
static void put_cell(struct buf *out, const char *text, int width, bool last)
{
    int n = text_width(text), keep = n > width ? width - 1 : n;
    const char *p = text;

    for (int i = 0; i < keep; i++)
        p += utf8_char_len(p, strlen(p));
    buf_put(out, text, (size_t)(p - text));
    if (n > width)
        buf_puts(out, "\xe2\x80\xa6");
    for (int i = n > width ? width : n; !last && i < width + GAP; i++)
        buf_putc(out, ' ');
}

static void put_row(struct buf *out, const struct columns *t, const char *const *cells,
                    const int *widths, const char *colour)
{
    if (colour != NULL)
        buf_puts(out, colour);
    for (int c = 0; c < t->columns; c++)
        put_cell(out, cells[c], widths[c], c == t->columns - 1);
    buf_puts(out, colour != NULL ? "\033[0m\n" : "\n");
}

void columns_print(const struct columns *t, int width)
{
    bool colour = print_uses_colour(STDOUT_FILENO);
    int widths[COLUMNS_MOST];
    struct buf out = {0};

    measure(t, width, widths);
    put_row(&out, t, t->titles, widths, colour ? "\033[1m" : NULL);
    for (size_t r = 0; r < t->rows; r++)
        put_row(&out, t, (const char *const *)t->cells + r * (size_t)t->columns, widths,
                colour && t->colours != NULL ? t->colours[r] : NULL);
    print_buf(&out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_print.c - output of the client commands: JSON, fields, tables, times, colours. Layer: cli.
 */
#include "cli/client/client_print.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "cli/client/user_terminal.h"

#define COLUMN_GAP 2
#define SHRINK_LEAST 10

/* --- writing ---------------------------------------- */

/* Dies of SIGPIPE, as any filter does when its reader closes. */
static void report_unwritten(int rc)
{
    if (rc == -EPIPE)
        user_terminal_die_of(SIGPIPE);
    fprintf(stderr, "holdfast: cannot write: %s\n", strerror(-rc));
}

void print_out(const void *bytes, size_t len)
{
    int rc = io_write_all(STDOUT_FILENO, bytes, len);

    if (rc < 0) {
        report_unwritten(rc);
        exit(CLI_FAILED);
    }
}

int print_done(int code)
{
    /* An earlier write may have failed and left only the error flag. */
    bool failed = ferror(stdout) != 0;
    int rc = fflush(stdout) != 0 ? -errno : failed ? -EIO : 0;

    if (rc == 0)
        return code;
    report_unwritten(rc);
    return code != CLI_OK ? code : CLI_FAILED;
}

void print_buf(struct buf *b)
{
    if (b->len > 0)
        print_out(buf_data(b), b->len);
    buf_fini(b);
}

/* --- terminal ---------------------------------------- */

int print_terminal_columns(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
        return 0;
    return size.ws_col > 0 ? size.ws_col : 80;
}

bool print_uses_colour(int fd)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(fd) && (no == NULL || no[0] == '\0') &&
           (term == NULL || strcmp(term, "dumb") != 0);
}

void print_plain(struct buf *out, const char *text)
{
    size_t len = strlen(text);

    while (len > 0) {
        size_t n = utf8_char_len(text, len);
        /* C1 controls are two bytes, C2 80 to C2 9F. */
        bool control = n == 0 || (unsigned char)text[0] < ' ' || text[0] == 0x7f ||
                       (n == 2 && (unsigned char)text[0] == 0xc2 && (unsigned char)text[1] < 0xa0);

        if (control)
            buf_putc(out, '?');
        else
            buf_put(out, text, n);
        n = n > 0 ? n : 1;
        text += n;
        len -= n;
    }
}

/* --- time ---------------------------------------- */

void print_ago(struct buf *out, const char *rfc3339, int64_t now_ms)
{
    static const struct {
        int64_t s;
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}};
    int64_t then, s;
    size_t i = 0;

    if (!rfc3339_parse(rfc3339, &then))
        return;
    s = now_ms > then ? (now_ms - then) / 1000 : 0;
    while (i < 3 && s < units[i].s)
        i++;
    buf_printf(out, "%lld%s", (long long)(s / units[i].s), units[i].unit);
}

/* --- "{id} {output.next}" ---------------------------------------- */

static void format_value(struct buf *out, const json_t *v)
{
    char *text;

    if (json_is_string(v)) {
        buf_put(out, json_string_value(v), json_string_length(v));
    } else if (json_is_integer(v)) {
        buf_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
    } else if (json_is_boolean(v)) {
        buf_puts(out, json_is_true(v) ? "true" : "false");
    } else if (v != NULL && !json_is_null(v)) {
        text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
        buf_puts(out, text != NULL ? text : "");
        free(text);
    }
}

/* "output.next" */
static const json_t *find_field(const json_t *object, char *path)
{
    char *save = NULL, *key = strtok_r(path, ".", &save);

    for (; key != NULL && object != NULL; key = strtok_r(NULL, ".", &save))
        object = json_object_get(object, key);
    return object;
}

static char escaped(char c)
{
    return c == 'n' ? '\n' : c == 't' ? '\t' : c;
}

/* One character as it is, or a field by its path. */
struct format_piece {
    const char *field; /* NULL: it is a character */
    size_t field_len;
    char c;
};

/* Parses the piece at p, which is not the end, and returns its end; NULL: unmatched brace. */
static const char *next_piece(const char *p, struct format_piece *out)
{
    size_t len;

    *out = (struct format_piece){.c = *p};
    if (*p == '\\' && p[1] != '\0') {
        out->c = escaped(p[1]);
        return p + 2;
    }
    if (*p != '{' && *p != '}')
        return p + 1;
    if (p[1] == *p)
        return p + 2;
    len = strcspn(p + 1, "{}");
    if (*p == '}' || len == 0 || p[1 + len] != '}')
        return NULL;
    out->field = p + 1;
    out->field_len = len;
    return p + len + 2;
}

int print_format_check(const char *format)
{
    struct format_piece piece;

    while (format != NULL && *format != '\0')
        format = next_piece(format, &piece);
    return format != NULL ? 0 : -1;
}

void print_format_write(struct buf *out, const char *format, const json_t *object)
{
    struct format_piece piece;

    while (format != NULL && *format != '\0') {
        format = next_piece(format, &piece);
        if (format != NULL && piece.field != NULL) {
            char *path = hf_xstrndup(piece.field, piece.field_len);

            format_value(out, find_field(object, path));
            free(path);
        } else if (format != NULL) {
            buf_putc(out, piece.c);
        }
    }
    buf_putc(out, '\n');
}

/* --- tables whose columns fit the terminal ---------------------------------------- */

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
        const char *cells[COLUMNS_MOST] = {NULL};

        for (int c = 0; c < t.columns; c++) {
            format_value(&text[c], json_object_get(v, fields[c]));
            cells[c] = buf_cstr(&text[c]);
        }
        columns_add(&t, cells);
        for (int c = 0; c < t.columns; c++)
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
    int total = (t->columns - 1) * COLUMN_GAP;

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
    for (int i = n > width ? width : n; !last && i < width + COLUMN_GAP; i++)
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

/* --- values and lists ---------------------------------------- */

static void print_json(const json_t *v)
{
    char *text = json_dumps(v, JSON_INDENT(2) | JSON_ENCODE_ANY);

    if (text != NULL) {
        print_out(text, strlen(text));
        print_out("\n", 1);
    }
    free(text);
}

bool print_value(const struct client_call *call, const json_t *value)
{
    struct buf line = {0};

    if (call->format != NULL) {
        print_format_write(&line, call->format, value);
        print_buf(&line);
        return true;
    }
    if (call->json)
        print_json(value);
    return call->json;
}

bool print_items(const struct client_call *call, const json_t *array)
{
    const json_t *v;
    size_t i;

    if (call->format == NULL)
        return print_value(call, array);
    json_array_foreach ((json_t *)array, i, v) {
        print_value(call, v);
    }
    return true;
}

void print_list(const struct client_call *call, const json_t *array, int columns,
                const char *const *titles, const char *const *fields)
{
    if (!print_items(call, array))
        columns_print_list(array, columns, titles, fields);
}

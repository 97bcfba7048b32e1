/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print_format.c - expands --format texts such as "{id} {output.next}". Layer: cli.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/client/client_print.h"

void format_value(struct buf *out, const json_t *v)
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
struct piece {
    const char *field; /* NULL: it is a character */
    size_t field_len;
    char c;
};

/* Parses the piece at p, which is not the end, and returns its end; NULL: unmatched brace. */
static const char *next_piece(const char *p, struct piece *out)
{
    size_t len;

    *out = (struct piece){.c = *p};
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

int format_check(const char *format)
{
    struct piece piece;

    while (format != NULL && *format != '\0')
        format = next_piece(format, &piece);
    return format != NULL ? 0 : -1;
}

void format_write(struct buf *out, const char *format, const json_t *object)
{
    struct piece piece;

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

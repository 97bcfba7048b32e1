/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format.c - "{id} {output.next}" lines. Layer: cli.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/client/show.h"

static void put_value(struct buf *out, const json_t *v)
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
static const json_t *look_up(const json_t *object, char *path)
{
    char *save = NULL, *key = strtok_r(path, ".", &save);

    for (; key != NULL && object != NULL; key = strtok_r(NULL, ".", &save))
        object = json_object_get(object, key);
    return object;
}

int format_check(const char *format)
{
    const char *p = format;

    while ((p = strpbrk(p, "{}")) != NULL) {
        if (p[0] == p[1]) {
            p += 2;
        } else {
            const char *end = strpbrk(p + 1, "{}");

            if (*p == '}' || end == NULL || *end == '{' || end == p + 1)
                return -1;
            p = end + 1;
        }
    }
    return 0;
}

static char escaped(char c)
{
    return c == 'n' ? '\n' : c == 't' ? '\t' : c;
}

void format_write(struct buf *out, const char *format, const json_t *object)
{
    const char *p = format;

    while (*p != '\0') {
        if (*p == '\\' && p[1] != '\0') {
            buf_putc(out, escaped(p[1]));
            p += 2;
        } else if ((*p == '{' || *p == '}') && p[1] == *p) {
            buf_putc(out, *p);
            p += 2;
        } else if (*p == '{') {
            size_t len = strcspn(p, "}");
            char *path = hf_xstrndup(p + 1, len - 1);

            put_value(out, look_up(object, path));
            free(path);
            p += len + 1;
        } else {
            buf_putc(out, *p++);
        }
    }
    buf_putc(out, '\n');
}

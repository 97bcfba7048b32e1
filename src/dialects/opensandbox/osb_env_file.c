/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_env_file.c - parses execd's file of variables. Layer: dialects.
 */
#include "dialects/opensandbox/osb_env_file.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define BLANKS " \t\r\v\f"
#define NAME_BYTES 256

struct env_reader {
    const char *at, *end;
    expand_fn *lookup;
    struct buf *out;
};

static bool is_blank(char c)
{
    return c != '\0' && strchr(BLANKS, c) != NULL;
}

static const char *line_end(const char *at, const char *end)
{
    const char *nl = memchr(at, '\n', (size_t)(end - at));

    return nl != NULL ? nl : end;
}

static void trim(const char **from, const char **to)
{
    while (*from < *to && is_blank(**from))
        (*from)++;
    while (*to > *from && is_blank((*to)[-1]))
        (*to)--;
}

/* --- values ------------------------------------------------------------------------------ */

static size_t name_length(const char *at, const char *end)
{
    size_t n = 0;

    while (at + n < end && (isalnum((unsigned char)at[n]) || at[n] == '_'))
        n++;
    return n;
}

/* What follows a '$': puts its value, and returns how many bytes name it. 0: it is only a '$'. */
static size_t put_variable(struct env_reader *r, const char *at, const char *end)
{
    bool brace = at < end && *at == '{';
    const char *name = at + brace, *value;
    size_t len = name_length(name, end);
    char copy[NAME_BYTES];

    if (len == 0 || len >= sizeof copy || (brace && (name + len == end || name[len] != '}')))
        return 0;
    memcpy(copy, name, len);
    copy[len] = '\0';
    value = r->lookup(copy);
    if (value != NULL)
        buf_puts(r->out, value);
    return len + 2 * (size_t)brace;
}

static void put_escape(struct env_reader *r, char c)
{
    static const char escapes[] = "nrt\\\"", values[] = "\n\r\t\\\"";
    const char *known = strchr(escapes, c);

    if (known == NULL)
        buf_putc(r->out, '\\');
    buf_putc(r->out, known != NULL ? values[known - escapes] : c);
}

static void put_expanded(struct env_reader *r, const char *at, const char *end, bool escapes)
{
    while (at < end) {
        char c = *at++;

        if (c == '$') {
            size_t n = put_variable(r, at, end);

            if (n == 0)
                buf_putc(r->out, c);
            at += n;
        } else if (c == '\\' && escapes && at < end) {
            put_escape(r, *at++);
        } else {
            buf_putc(r->out, c);
        }
    }
}

/* The closing quote; NULL: there is none. */
static const char *find_quote(const char *at, const char *end, char quote)
{
    while (at < end && *at != quote)
        at += quote == '"' && *at == '\\' && at + 1 < end ? 2 : 1;
    return at < end ? at : NULL;
}

/* `at` is behind the opening quote. False: it is not one value. */
static bool read_quoted(struct env_reader *r, const char *at, char quote)
{
    const char *close = find_quote(at, r->end, quote), *rest, *to;

    if (close == NULL)
        return false;
    rest = close + 1;
    to = r->at = line_end(rest, r->end);
    trim(&rest, &to);
    if (rest != to)
        return false;
    if (quote == '"')
        put_expanded(r, at, close, true);
    else
        buf_put(r->out, at, (size_t)(close - at));
    return true;
}

/* --- entries ----------------------------------------------------------------------------- */

/* No name and no value can hold a NUL. */
static bool has_nul(const struct env_reader *r, size_t from)
{
    return memchr(buf_data(r->out) + from, '\0', r->out->len - from) != NULL;
}

static bool read_value(struct env_reader *r, const char *at, const char *end)
{
    const char *to = end;

    trim(&at, &to);
    if (at < to && (*at == '"' || *at == '\''))
        return read_quoted(r, at + 1, *at);
    put_expanded(r, at, to, false);
    return true;
}

/* One entry, or one line that is none. */
static bool read_entry(struct env_reader *r)
{
    const char *line = r->at, *end = line_end(line, r->end), *to = end, *eq;
    size_t from = r->out->len, value;
    bool named;

    r->at = end;
    trim(&line, &to);
    eq = memchr(line, '=', (size_t)(to - line));
    if (line == to || *line == '#' || eq == NULL)
        return false;
    to = eq;
    trim(&line, &to);
    if (line == to)
        return false;
    buf_put(r->out, line, (size_t)(to - line));
    named = !has_nul(r, from);
    buf_putc(r->out, '\0');
    value = r->out->len;
    if (read_value(r, eq + 1, end) && named && !has_nul(r, value)) {
        buf_putc(r->out, '\0');
        return true;
    }
    r->out->len = from;
    r->at = end;
    return false;
}

size_t osb_env_file_parse(const char *text, size_t len, expand_fn *lookup, struct buf *out)
{
    struct env_reader r = {.at = text, .end = text + len, .lookup = lookup, .out = out};
    size_t count = 0;

    while (r.at < r.end) {
        count += read_entry(&r);
        if (r.at < r.end) /* at a line's end */
            r.at++;
    }
    return count;
}

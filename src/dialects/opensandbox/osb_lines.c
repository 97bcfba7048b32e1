/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_lines.c - splits output into lines at "\n", "\r" and "\r\n". Layer: dialects.
 */
#include "dialects/opensandbox/osb_lines.h"

#include <string.h>

#include "base/text.h"
#include "dialects/opensandbox/opensandbox_limits.h"

static bool is_end(char c)
{
    return c == '\n' || c == '\r';
}

/* At most, of this byte in a JSON string: "\u0000" for a control character, U+FFFD for a byte that
 * is no character. */
static size_t json_length(char c)
{
    unsigned char b = (unsigned char)c;

    return b < 0x20 ? 6 : b == '"' || b == '\\' ? 2 : b < 0x80 ? 1 : 3;
}

size_t osb_lines_piece(const struct lines *l, const char *bytes, size_t len)
{
    size_t n = 0, json_len = l->json_len;

    while (n < len && json_len < LIMIT_OSB_TEXT_BYTES) {
        char c = bytes[n++];

        json_len += json_length(c);
        if (is_end(c))
            break;
    }
    return n;
}

static void hold(struct lines *l, const char *bytes, size_t len, line_fn *fn, void *arg)
{
    buf_put(&l->part, bytes, len);
    for (size_t i = 0; i < len; i++)
        l->json_len += json_length(bytes[i]);
    if (l->json_len >= LIMIT_OSB_TEXT_BYTES)
        osb_lines_flush(l, fn, arg);
}

static void drop(struct lines *l, size_t len)
{
    buf_drop(&l->part, len);
    l->json_len = 0;
    for (size_t i = 0; i < l->part.len; i++)
        l->json_len += json_length(buf_data(&l->part)[i]);
}

static void line_done(struct lines *l, line_fn *fn, void *arg)
{
    bool blank = l->part.len == 0 && !l->begun;

    if (l->part.len > 0)
        fn(arg, buf_data(&l->part), l->part.len, false);
    else if (blank)
        fn(arg, "\n\n", l->wide_blanks && l->after_text ? 2 : 1, false);
    drop(l, l->part.len);
    l->after_text = !blank;
    l->begun = false;
}

/* At most one line, or a part of it. */
static void feed_piece(struct lines *l, const char *bytes, size_t n, line_fn *fn, void *arg)
{
    bool ends = is_end(bytes[n - 1]);
    bool half = l->cr && bytes[0] == '\n'; /* of a "\r\n", in one piece or two */

    l->cr = bytes[n - 1] == '\r';
    if (half)
        return;
    hold(l, bytes, n - ends, fn, arg);
    if (ends)
        line_done(l, fn, arg);
}

void osb_lines_feed(struct lines *l, const char *bytes, size_t len, line_fn *fn, void *arg)
{
    while (len > 0) {
        size_t n = osb_lines_piece(l, bytes, len);

        feed_piece(l, bytes, n, fn, arg);
        bytes += n;
        len -= n;
    }
}

void osb_lines_flush(struct lines *l, line_fn *fn, void *arg)
{
    size_t n = l->part.len - utf8_open_tail(buf_data(&l->part), l->part.len);

    if (n == 0)
        return;
    fn(arg, buf_data(&l->part), n, true);
    drop(l, n);
    l->begun = true;
}

void osb_lines_end(struct lines *l, line_fn *fn, void *arg)
{
    if (l->part.len > 0)
        fn(arg, buf_data(&l->part), l->part.len, false);
    drop(l, l->part.len);
    l->begun = l->cr = false;
}

void osb_lines_reported(struct lines *l, bool whole)
{
    size_t open = whole ? 0 : utf8_open_tail(buf_data(&l->part), l->part.len);

    drop(l, l->part.len - open);
    l->begun = true;
}

bool osb_lines_holds(const struct lines *l)
{
    return l->part.len > 0;
}

void osb_lines_fini(struct lines *l)
{
    buf_fini(&l->part);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_lines.c - splits output into lines at "\n", "\r" and "\r\n". Layer: dialects.
 */
#include "dialects/opensandbox/osb_lines.h"

#include <string.h>

#include "base/text.h"
#include "dialects/opensandbox/opensandbox_limits.h"

/* The first byte that ends a line; NULL: none. */
static const char *find_end(const char *bytes, size_t len)
{
    const char *nl = memchr(bytes, '\n', len);
    const char *cr = memchr(bytes, '\r', nl != NULL ? (size_t)(nl - bytes) : len);

    return cr != NULL ? cr : nl;
}

static void hold(struct lines *l, const char *bytes, size_t len, line_fn *fn, void *arg)
{
    while (len > 0) {
        size_t room = LIMIT_OSB_LINE_BYTES - l->part.len;
        size_t n = len < room ? len : room;

        buf_put(&l->part, bytes, n);
        bytes += n;
        len -= n;
        if (l->part.len == LIMIT_OSB_LINE_BYTES)
            osb_lines_flush(l, fn, arg);
    }
}

static void emit_end(struct lines *l, line_fn *fn, void *arg)
{
    if (l->part.len > 0)
        fn(arg, buf_data(&l->part), l->part.len, false);
    else if (!l->begun)
        fn(arg, "\n", 1, false);
    buf_clear(&l->part);
    l->begun = false;
}

void osb_lines_feed(struct lines *l, const char *bytes, size_t len, line_fn *fn, void *arg)
{
    while (len > 0) {
        const char *end;
        size_t n;

        if (l->cr && *bytes == '\n') { /* the rest of a "\r\n", in one piece or two */
            l->cr = false;
            bytes++;
            len--;
            continue;
        }
        l->cr = false;
        end = find_end(bytes, len);
        n = end != NULL ? (size_t)(end - bytes) : len;
        hold(l, bytes, n, fn, arg);
        if (end == NULL)
            return;
        emit_end(l, fn, arg);
        l->cr = *end == '\r';
        bytes += n + 1;
        len -= n + 1;
    }
}

void osb_lines_flush(struct lines *l, line_fn *fn, void *arg)
{
    size_t n = l->part.len - utf8_open_tail(buf_data(&l->part), l->part.len);

    if (n == 0)
        return;
    fn(arg, buf_data(&l->part), n, true);
    buf_drop(&l->part, n);
    l->begun = true;
}

void osb_lines_end(struct lines *l, line_fn *fn, void *arg)
{
    if (l->part.len > 0)
        fn(arg, buf_data(&l->part), l->part.len, false);
    buf_clear(&l->part);
    l->begun = l->cr = false;
}

void osb_lines_reported(struct lines *l, bool whole)
{
    size_t open = whole ? 0 : utf8_open_tail(buf_data(&l->part), l->part.len);

    buf_drop(&l->part, l->part.len - open);
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

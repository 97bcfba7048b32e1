/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_lines.c - writes output as lines of JSON. Layer: dialects.
 */
#include "dialects/vercel/vc_lines.h"

#include <string.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"

static void put_line(struct buf *out, bool is_stderr, const char *bytes, size_t len)
{
    struct buf line = {0};

    buf_puts(&line, is_stderr ? "{\"stream\":\"stderr\",\"data\":\""
                              : "{\"stream\":\"stdout\",\"data\":\"");
    json_put_text(&line, bytes, len);
    buf_puts(&line, "\"}");
    json_put_ascii(out, buf_data(&line), line.len);
    buf_putc(out, '\n');
    buf_fini(&line);
}

/* Writes as many whole characters as there are, in lines of limited length; returns the number of
 * bytes consumed. */
static size_t put_whole(struct buf *out, bool is_stderr, const char *bytes, size_t len)
{
    size_t at = 0;

    while (at < len) {
        size_t n = len - at < LIMIT_VERCEL_LINE_BYTES ? len - at : LIMIT_VERCEL_LINE_BYTES;

        n -= utf8_open_tail(bytes + at, n);
        if (n == 0)
            break;
        put_line(out, is_stderr, bytes + at, n);
        at += n;
    }
    return at;
}

void vc_lines_put(struct vc_lines *l, bool is_stderr, const char *bytes, size_t len,
                  struct buf *out)
{
    size_t *had = &l->open_len[is_stderr], at;
    struct buf joined = {0};

    if (*had > 0) {
        buf_put(&joined, l->open[is_stderr], *had);
        buf_put(&joined, bytes, len);
        bytes = buf_data(&joined);
        len = joined.len;
    }
    at = put_whole(out, is_stderr, bytes, len);
    *had = len - at;
    if (*had > 0)
        memcpy(l->open[is_stderr], bytes + at, *had);
    buf_fini(&joined);
}

void vc_lines_end(struct vc_lines *l, struct buf *out)
{
    for (int i = 0; i < 2; i++) {
        if (l->open_len[i] > 0)
            put_line(out, i == 1, l->open[i], l->open_len[i]);
        l->open_len[i] = 0;
    }
}

void vc_line_error(struct buf *out, const char *code, const char *message)
{
    struct buf line = {0};
    struct json_out o;

    json_out_init(&o, &line);
    json_open(&o, '{');
    json_kstr(&o, "stream", "error");
    json_key(&o, "data");
    json_open(&o, '{');
    json_kstr(&o, "code", code);
    json_kstr(&o, "message", message);
    json_close(&o, '}');
    json_close(&o, '}');
    json_put_ascii(out, buf_data(&line), line.len);
    buf_putc(out, '\n');
    buf_fini(&line);
}

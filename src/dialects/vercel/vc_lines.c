/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_lines.c - writes output as lines of JSON. Layer: dialects.
 */
#include "dialects/vercel/vc_lines.h"

#include "base/json.h"
#include "base/text.h"
#include "dialects/vercel/vercel_limits.h"

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

/* Whole characters, in lines of limited length. */
static void put_whole(struct buf *out, bool is_stderr, const struct buf *text)
{
    const char *bytes = buf_data(text);
    size_t at = 0, n;

    for (; at < text->len; at += n) {
        n = text->len - at < LIMIT_VERCEL_LINE_BYTES ? text->len - at : LIMIT_VERCEL_LINE_BYTES;
        if (at + n < text->len)
            n -= utf8_open_tail(bytes + at, n);
        put_line(out, is_stderr, bytes + at, n);
    }
}

void vc_lines_put(struct vc_lines *l, bool is_stderr, const char *bytes, size_t len,
                  struct buf *out)
{
    struct buf text = {0};

    whole_text_feed(&l->text, is_stderr, bytes, len, &text);
    put_whole(out, is_stderr, &text);
    buf_fini(&text);
}

void vc_lines_end(struct vc_lines *l, struct buf *out)
{
    for (int i = 0; i < 2; i++) {
        struct buf rest = {0};

        whole_text_end(&l->text, i == 1, &rest);
        put_whole(out, i == 1, &rest);
        buf_fini(&rest);
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

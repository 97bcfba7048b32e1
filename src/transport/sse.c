/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sse.c - one server-sent event as bytes. Layer: transport.
 */
#include "transport/sse.h"

#include <string.h>

/* A field's value ends at its line; the stream must not be broken by what a name holds. */
static void put_field(struct buf *out, const char *field, const char *value)
{
    buf_puts(out, field);
    buf_put(out, value, strcspn(value, "\r\n"));
    buf_putc(out, '\n');
}

static size_t line_length(const char *s, size_t len)
{
    size_t n = 0;

    while (n < len && s[n] != '\n' && s[n] != '\r')
        n++;
    return n;
}

/* CR, LF and CRLF each end a line for the reader, so each starts a new data: here. */
static void put_data(struct buf *out, const char *data, size_t len)
{
    size_t at = 0;

    for (;;) {
        size_t n = line_length(data + at, len - at);

        buf_puts(out, "data: ");
        buf_put(out, data + at, n);
        buf_putc(out, '\n');
        at += n;
        if (at == len)
            return;
        at += data[at] == '\r' && at + 1 < len && data[at + 1] == '\n' ? 2 : 1;
    }
}

void sse_event(struct buf *out, const char *event, const char *id, const char *data, size_t len)
{
    if (event != NULL)
        put_field(out, "event: ", event);
    if (id != NULL)
        put_field(out, "id: ", id);
    put_data(out, data, len);
    buf_putc(out, '\n');
}

void sse_comment(struct buf *out, const char *text)
{
    put_field(out, ": ", text);
    buf_putc(out, '\n');
}

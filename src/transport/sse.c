/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sse.c - server-sent events: the encoding, and a response stream of events
 *
 * Layer: transport.
 */
#include "transport/sse.h"

#include <stdio.h>
#include <string.h>

/* A field's value ends with its line; line ends inside a name must not break the stream. */
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

/* A reader treats CR, LF and CRLF as line ends, so each starts a new data: here. */
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

struct http_stream *sse_start(struct http_request *rq, const struct http_stream_ops *ops, void *arg)
{
    struct http_stream *st = http_stream_start(rq, 200, SSE_TYPE, ops, arg);

    http_stream_keep_alive(st, ": keep-alive\n\n", SSE_KEEPALIVE_MS);
    return st;
}

static void send_copy(struct http_stream *st, const char *event, const char *id, const char *data,
                      size_t len)
{
    struct buf whole = {0};
    struct iovec iov;

    sse_event(&whole, event, id, data, len);
    iov = (struct iovec){buf_data(&whole), whole.len};
    http_stream_write(st, &iov, 1);
    buf_fini(&whole);
}

static int field_length(const char *value)
{
    return value == NULL ? 0 : (int)strcspn(value, "\r\n");
}

/* A single line of data, as JSON always is, is sent without copying. */
void sse_send(struct http_stream *st, const char *event, const char *id, const char *data,
              size_t len)
{
    char head[128];
    int n = snprintf(head, sizeof head, "%s%.*s%s%s%.*s%sdata: ", event != NULL ? "event: " : "",
                     field_length(event), event != NULL ? event : "", event != NULL ? "\n" : "",
                     id != NULL ? "id: " : "", field_length(id), id != NULL ? id : "",
                     id != NULL ? "\n" : "");
    struct iovec iov[] = {
        {head, (size_t)n},
        {(void *)(uintptr_t)data, len},
        {(void *)(uintptr_t)("\n\n"), 2},
    };

    if ((size_t)n < sizeof head && line_length(data, len) == len)
        http_stream_write(st, iov, 3);
    else
        send_copy(st, event, id, data, len);
}

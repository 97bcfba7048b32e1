/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_events.c - output as the events `output` and `gap`. Layer: dialects.
 */
#include "dialects/native/output/output_events.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "dialects/native/json_reply.h"
#include "transport/sse.h"

void output_events_send(struct output_events *e, const char *event, uint64_t id)
{
    const struct buf *json = &e->native->base.scratch;
    char text[24];

    snprintf(text, sizeof text, "%llu", (unsigned long long)id);
    sse_send(e->stream, event, text, buf_data(json), json->len);
}

static void send_output(struct output_events *e, uint64_t at, enum stream stream, const char *bytes,
                        size_t len)
{
    struct json_out o = dialect_reply_open(&e->native->base);

    json_ku64(&o, "offset", at);
    json_kstr(&o, "stream", stream_name(stream));
    process_json_data(&o, bytes, len);
    json_close(&o, '}');
    output_events_send(e, "output", at + len);
}

void output_events_flush(struct output_events *e)
{
    if (e->held_len > 0)
        send_output(e, e->held_at, e->held_stream, e->held, e->held_len);
    e->held_len = 0;
}

/* Sends all but an incomplete character at the end, which is held back. */
static void put(struct output_events *e, uint64_t at, enum stream stream, const char *bytes,
                size_t len)
{
    size_t open = utf8_open_tail(bytes, len);

    if (open < len)
        send_output(e, at, stream, bytes, len - open);
    memcpy(e->held, bytes + len - open, open);
    e->held_len = (uint8_t)open;
    e->held_at = at + len - open;
    e->held_stream = stream;
}

void output_events_bytes(struct output_events *e, const struct slice *s)
{
    struct buf *joined = &e->native->joined;

    if (e->held_len > 0 && (e->held_stream != s->stream || e->held_at + e->held_len != s->at))
        output_events_flush(e);
    if (e->held_len == 0) {
        put(e, s->at, s->stream, s->bytes, s->len);
        return;
    }
    buf_clear(joined);
    buf_put(joined, e->held, e->held_len);
    buf_put(joined, s->bytes, s->len);
    put(e, e->held_at, s->stream, buf_data(joined), joined->len);
}

void output_events_gap(struct output_events *e, uint64_t from, uint64_t to)
{
    struct json_out o;

    output_events_flush(e);
    o = dialect_reply_open(&e->native->base);
    json_ku64(&o, "from", from);
    json_ku64(&o, "to", to);
    json_close(&o, '}');
    output_events_send(e, "gap", to);
}

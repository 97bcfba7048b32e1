/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_json.c - a range of output as JSON chunks
 *
 * A chunk is text if it is UTF-8, otherwise base64, and never ends inside a character. One reply
 * holds at most OUTPUT_JSON_BYTES; `next` is where to continue. Layer: dialects.
 */
#include "base/limits.h"
#include "base/text.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/output/get_output.h"

#define OUTPUT_JSON_BYTES (1024 * 1024)

static void write_chunk(struct json_out *o, const struct slice *s)
{
    json_open(o, '{');
    json_ku64(o, "offset", s->at);
    json_kstr(o, "stream", stream_name(s->stream));
    process_json_data(o, s->bytes, s->len);
    json_ktime(o, "time", s->time_ms);
    json_close(o, '}');
}

/* An incomplete character may be left for the next reply, unless exactly these bytes were requested
 * or no more will follow. */
static bool may_leave(const struct output_range *r, uint64_t end, bool running)
{
    return end == r->to && !r->until && running;
}

/* Writes chunks from r->from and returns where they end. */
static uint64_t write_chunks(struct json_out *o, const struct journal *j,
                             const struct output_range *r, bool running)
{
    uint64_t at = r->from;

    while (at < r->to) {
        uint64_t left = r->to - at;
        struct slice s =
            journal_slice(j, at, left < VIEWER_SLICE_BYTES ? left : VIEWER_SLICE_BYTES);
        size_t open = utf8_open_tail(s.bytes, s.len);

        if (!output_wants(r, s.stream)) {
            at += s.len;
            continue;
        }
        if (open < s.len)
            s.len -= open; /* repeated at the front of the next slice */
        else if (may_leave(r, at + s.len, running))
            break;
        write_chunk(o, &s);
        at += s.len;
    }
    return at;
}

void output_json(struct http_request *rq, struct process *p, const struct output_range *range)
{
    struct json_out o = json_reply_open(native_of(rq));
    struct output_range r = *range;
    struct process_view v;
    uint64_t next;
    bool cut = r.to - r.from > OUTPUT_JSON_BYTES;

    process_view(p, &v);
    if (cut)
        r.to = r.from + OUTPUT_JSON_BYTES;
    json_ku64(&o, "offset", r.from);
    process_json_range(&o, "gap", r.gap_from, r.from);
    json_key(&o, "chunks");
    json_open(&o, '[');
    next = write_chunks(&o, process_journal(p), &r, v.running || cut);
    json_close(&o, ']');
    json_ku64(&o, "next", next);
    /* The exit follows the last byte, here as everywhere. */
    if (next < v.exit->offset)
        v.running = true;
    process_json_exit(&o, process_exit_of(&v));
    json_reply_send(rq, 200, &o);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper_stream.c - GET …/stream: numbered pieces of output as server-sent events, then the result
 *
 * A client that is too slow is notified: an event of the stream "system" says what is missing, and
 * the numbers continue after it. Everything is ASCII, since clients decode each packet separately
 * and would break characters that are split. Layer: dialects.
 */
#include <stdio.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/follow.h"
#include "dialects/hyperbrowser/hyper.h"
#include "dialects/hyperbrowser/hyper_result.h"

struct hyper_stream {
    struct follow follow; /* first: freed as this */
    struct result result;
    uint64_t next; /* number of the next run */
    bool missing, sending;
};

static struct hyper_stream *stream_of(struct follow *f)
{
    return list_entry(f, struct hyper_stream, follow);
}

static void send_ascii(struct follow *f, const char *event, uint64_t id, struct json_out *o)
{
    struct buf ascii = {0};

    json_close(o, '}');
    json_put_ascii(&ascii, buf_data(o->buf), o->buf->len);
    follow_send(f, event, id, &ascii);
    buf_fini(&ascii);
}

static void send_output(struct follow *f, const char *stream, const struct slice *s)
{
    struct json_out o = dialect_reply_open(f->call.base);

    json_kstr(&o, "stream", stream);
    json_ku64(&o, "seq", s->number + 1);
    json_key(&o, "data");
    json_strn(&o, s->bytes, s->len);
    json_kint(&o, "timestamp", s->time_ms);
    send_ascii(f, "output", s->number + 1, &o);
}

/* Never drop output silently. */
static void send_missing(struct follow *f, const struct slice *s)
{
    char text[100];
    int n =
        snprintf(text, sizeof text, "[output up to seq %llu is gone: it was not read in time]\n",
                 (unsigned long long)s->number);
    const struct slice note = {
        .bytes = text, .len = (size_t)n, .number = s->number - 1, .time_ms = s->time_ms};

    send_output(f, "system", &note);
}

static void stream_bytes(struct follow *f, const struct slice *s)
{
    struct hyper_stream *h = stream_of(f);

    if (s->number > h->next) {
        h->missing = true;
        send_missing(f, s);
    }
    h->next = s->number + 1;
    send_output(f, s->stream == STREAM_STDERR ? "stderr" : "stdout", s);
}

/* The number of the next run shows the gap. */
static void stream_gap(struct follow *f, uint64_t from, uint64_t to)
{
    (void)f, (void)from, (void)to;
}

static bool stream_exited(struct follow *f, const struct exit_record *x)
{
    struct hyper_stream *h = stream_of(f);

    (void)x;
    if (!h->sending) {
        result_init(&h->result, f->process, "event: done\ndata: ", "\n\n");
        h->result.missing = h->missing;
        h->result.ascii = true;
        h->sending = true;
    }
    return result_pump(&h->result, f->out, &f->call.base->scratch);
}

/* A stream that ends without `done` is incomplete: newer clients report the reason. */
static void stream_drain(struct follow *f)
{
    struct json_out o = dialect_reply_open(f->call.base);

    json_kstr(&o, "error", "the daemon is shutting down; stream again from the last seq");
    json_kstr(&o, "code", "shutting_down");
    send_ascii(f, "error", 0, &o);
}

static const struct follow_ops stream_ops = {
    .bytes = stream_bytes,
    .gap = stream_gap,
    .exited = stream_exited,
    .drain = stream_drain,
};

static void stream_headers(struct http_request *rq)
{
    http_add_header(rq, "Cache-Control", "no-cache");
}

/* A client without a seq, or with 0, has nothing, and is notified if the beginning is lost. */
void hyper_stream(struct http_request *rq)
{
    struct follow_open o = {
        .headers = stream_headers,
        .viewer = {.since = SINCE_OFFSET, .runs = true, .only_stream = -1},
    };
    struct process *p = hyper_process(rq);
    struct hf_error err = {0};
    struct hyper_stream *h;
    uint64_t seen = 0;

    if (p == NULL || !hyper_number(rq, "from_seq", &seen) ||
        !hyper_cursor(rq, p, "from_seq", LIMIT_HYPER_REPLAY_BYTES, &o.viewer.offset))
        return;
    h = hf_xalloc(sizeof *h);
    h->next = seen;
    if (follow_begin(&h->follow, &stream_ops, rq, p, &o, &err) < 0)
        hyper_error(rq, &err);
}

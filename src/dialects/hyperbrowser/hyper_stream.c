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
#include "dialects/common/run_stream.h"
#include "dialects/hyperbrowser/hyper.h"
#include "dialects/hyperbrowser/hyper_result.h"

struct hyper_stream_follow {
    struct run_stream stream; /* first: freed as this */
    struct hyper *hyper;
    struct result result;
    uint64_t next; /* number of the next run */
    bool missing, sending;
};

static struct hyper_stream_follow *follow_of(struct run_stream *r)
{
    return list_entry(r, struct hyper_stream_follow, stream);
}

static void send_ascii(struct run_stream *r, const char *event, uint64_t id, struct json_out *o)
{
    struct buf ascii = {0};

    json_close(o, '}');
    json_put_ascii(&ascii, buf_data(o->buf), o->buf->len);
    run_stream_send(r, event, id, &ascii);
    buf_fini(&ascii);
}

static void send_output(struct run_stream *r, const char *stream, const struct slice *s)
{
    struct hyper_stream_follow *f = follow_of(r);
    struct json_out o = dialect_reply_open(&f->hyper->base);

    json_kstr(&o, "stream", stream);
    json_ku64(&o, "seq", s->number + 1);
    json_key(&o, "data");
    json_strn(&o, s->bytes, s->len);
    json_kint(&o, "timestamp", s->time_ms);
    send_ascii(r, "output", s->number + 1, &o);
}

/* Never drop output silently. */
static void send_missing(struct run_stream *r, const struct slice *s)
{
    char text[100];
    int n =
        snprintf(text, sizeof text, "[output up to seq %llu is gone: it was not read in time]\n",
                 (unsigned long long)s->number);
    const struct slice note = {
        .bytes = text, .len = (size_t)n, .number = s->number - 1, .time_ms = s->time_ms};

    send_output(r, "system", &note);
}

static void follow_run(struct run_stream *r, const struct slice *s)
{
    struct hyper_stream_follow *f = follow_of(r);

    if (s->number > f->next) {
        f->missing = true;
        send_missing(r, s);
    }
    f->next = s->number + 1;
    send_output(r, s->stream == STREAM_STDERR ? "stderr" : "stdout", s);
}

static bool follow_end(struct run_stream *r)
{
    struct hyper_stream_follow *f = follow_of(r);

    if (!f->sending) {
        result_init(&f->result, r->process, "event: done\ndata: ", "\n\n");
        f->result.missing = f->missing;
        f->result.ascii = true;
        f->sending = true;
    }
    return result_pump(&f->result, r->out, &f->hyper->base.scratch);
}

/* A stream that ends without `done` is incomplete: newer clients report the reason. */
static void follow_draining(struct run_stream *r)
{
    struct hyper_stream_follow *f = follow_of(r);
    struct json_out o = dialect_reply_open(&f->hyper->base);

    json_kstr(&o, "error", "the daemon is shutting down; stream again from the last seq");
    json_kstr(&o, "code", "shutting_down");
    send_ascii(r, "error", 0, &o);
}

static const struct run_stream_ops follow_ops = {
    .run = follow_run,
    .end = follow_end,
    .going = follow_draining,
};

/* A client without a seq, or with 0, has nothing, and is notified if the beginning is lost. */
void hyper_stream(struct http_request *rq)
{
    struct process *p = hyper_process(rq);
    struct hyper *h = hyper_of(rq);
    struct hf_error err = {0};
    struct hyper_stream_follow *f;
    uint64_t seen = 0, run;

    if (p == NULL || !hyper_number(rq, "from_seq", &seen) ||
        !hyper_cursor(rq, p, "from_seq", LIMIT_HYPER_REPLAY_BYTES, &run))
        return;
    f = hf_xalloc(sizeof *f);
    f->hyper = h;
    f->next = seen;
    if (run_stream_begin(&f->stream, &follow_ops, rq, p, run, &h->base.pending, &err) < 0)
        hyper_error(rq, &err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper_stream.c - numbered pieces of output as server-sent events, then the result
 *
 * GET …/stream follows a process; POST …/processes starts one and follows it in the same reply.
 * A client that is too slow is notified: an event of the stream "system" says what is missing, and
 * the numbers continue after it. Everything is ASCII, since clients decode each packet separately
 * and would break characters that are split. Layer: dialects.
 */
#include <stdio.h>

#include "base/mem.h"
#include "base/text.h"
#include "dialects/common/follow.h"
#include "dialects/hyperbrowser/hyper.h"
#include "dialects/hyperbrowser/hyper_result.h"
#include "dialects/hyperbrowser/hyperbrowser_limits.h"

struct hyper_stream {
    struct follow follow; /* first: freed as this */
    struct result result;
    uint64_t next; /* number of the next run */
    bool missing, sending;
    bool from_start; /* the client started the process by this request, and knows base64 */
    bool announced;  /* `started` has been sent */
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

/* Text wherever it can be: JSON cannot carry other bytes, and older clients know no base64. */
static void put_data(struct json_out *o, const struct slice *s, bool exact)
{
    bool base64 = exact && !utf8_is_valid(s->bytes, s->len);

    if (base64)
        json_kstr(o, "encoding", "base64");
    json_key(o, "data");
    if (base64)
        json_base64(o, s->bytes, s->len);
    else
        json_strn(o, s->bytes, s->len);
}

static void send_output(struct follow *f, const char *stream, const struct slice *s)
{
    struct json_out o = dialect_reply_open(f->call.base);

    json_kstr(&o, "stream", stream);
    json_ku64(&o, "seq", s->number + 1);
    put_data(&o, s, stream_of(f)->from_start);
    json_kint(&o, "timestamp", s->time_ms);
    send_ascii(f, "output", s->number + 1, &o);
}

/* Never drop output silently. */
static void send_missing(struct follow *f, const struct slice *s)
{
    char text[100];
    int n = snprintf(text, sizeof text, "[output up to seq %llu is no longer kept]\n",
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

static bool stream_ahead(struct follow *f)
{
    struct hyper_stream *h = stream_of(f);
    struct buf event = {0};
    struct json_out o;

    if (!h->from_start || h->announced)
        return true;
    h->announced = true;
    json_out_init(&o, &f->call.base->scratch);
    buf_clear(&f->call.base->scratch);
    hyper_write_process(&o, f->process);
    json_put_ascii(&event, buf_data(o.buf), o.buf->len);
    follow_send(f, "started", 0, &event);
    buf_fini(&event);
    return http_stream_ready(f->out);
}

static const struct follow_ops stream_ops = {
    .ahead = stream_ahead,
    .bytes = stream_bytes,
    .exited = stream_exited,
    .drain = stream_drain,
};

/* NULL: replied with an error. */
static struct follow *stream_begin(struct http_request *rq, struct process *p, uint64_t seen,
                                   uint64_t at, bool from_start)
{
    struct hyper_stream *h = hf_xalloc(sizeof *h);

    h->next = seen;
    h->from_start = from_start;
    return follow_runs(&h->follow, &stream_ops, rq, p, at) ? &h->follow : NULL;
}

void hyper_stream_from_start(struct http_request *rq, struct process *p)
{
    struct follow *f = stream_begin(rq, p, 0, 0, true);

    if (f == NULL || !f->call.base->draining)
        return;
    stream_ahead(f); /* its process was still starting when the others were notified */
    stream_drain(f);
    follow_end(f);
}

/* A client without a seq, or with 0, has nothing, and is notified if the beginning is lost. */
void hyper_stream(struct http_request *rq)
{
    struct process *p = hyper_process(rq);
    uint64_t seen = 0, at = 0;

    if (p != NULL && hyper_number(rq, "from_seq", &seen) &&
        hyper_cursor(rq, p, "from_seq", LIMIT_HYPER_REPLAY_BYTES, &at))
        (void)stream_begin(rq, p, seen, at, false);
}

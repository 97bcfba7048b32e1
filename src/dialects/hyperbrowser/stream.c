/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.c - GET …/stream: numbered pieces of output as server-sent events, then the result
 *
 * Whoever is too slow sees it: an event of the stream "system" says what is missing, and the
 * numbers go on behind it. All is ASCII, since clients decode each packet by itself and would
 * break the characters that are in two. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/hyperbrowser/hyper.h"
#include "dialects/hyperbrowser/result.h"
#include "engine/viewer.h"
#include "transport/sse.h"

struct follow {
    struct pending pending;
    struct hyper *hyper;
    struct process *process; /* referenced */
    struct viewer *viewer;
    struct http_stream *stream;
    struct timer *keepalive;
    struct result result;
    uint64_t next; /* number of the run that is to come */
    bool missing, sending;
};

static void follow_free(struct pending *p)
{
    struct follow *f = list_entry(p, struct follow, pending);

    viewer_detach(f->viewer);
    timer_close(f->keepalive);
    process_unref(f->process);
    pending_fini(p);
    free(f);
}

static void follow_write(struct follow *f, const char *event, const char *id,
                         const struct buf *data)
{
    struct buf frame = {0}, ascii = {0};
    struct iovec iov;

    if (data != NULL) {
        json_put_ascii(&ascii, buf_data(data), data->len);
        sse_event(&frame, event, id, buf_data(&ascii), ascii.len);
    } else {
        sse_comment(&frame, "");
    }
    iov = (struct iovec){buf_data(&frame), frame.len};
    http_stream_write(f->stream, &iov, 1);
    timer_start(f->keepalive, SSE_KEEPALIVE_MS);
    buf_fini(&frame);
    buf_fini(&ascii);
}

/* A stream that ends without `done` is not at its end: newer clients want to know why. */
static void follow_drain(struct pending *p)
{
    struct follow *f = list_entry(p, struct follow, pending);
    struct json_out o = hyper_answer(f->hyper);

    json_kstr(&o, "error", "the daemon is going; stream again from the last seq");
    json_kstr(&o, "code", "shutting_down");
    json_shut(&o, '}');
    if (!f->sending)
        follow_write(f, "error", NULL, o.buf);
    http_stream_end(f->stream);
    follow_free(p);
}

static const struct pending_kind follow_kind = {.drain = follow_drain, .free = follow_free};

/* --- output ------------------------------------------------------------------------------ */

static bool follow_ready(void *arg)
{
    struct follow *f = arg;

    return f->stream != NULL && http_stream_ready(f->stream);
}

static void follow_send(struct follow *f, const char *stream, const struct slice *s)
{
    struct json_out o = hyper_answer(f->hyper);
    char id[24];

    json_kstr(&o, "stream", stream);
    json_ku64(&o, "seq", s->number + 1);
    json_key(&o, "data");
    json_strn(&o, s->bytes, s->len);
    json_kint(&o, "timestamp", s->time_ms);
    json_shut(&o, '}');
    snprintf(id, sizeof id, "%llu", (unsigned long long)s->number + 1);
    follow_write(f, "output", id, o.buf);
}

static void follow_bytes(void *arg, const struct slice *s)
{
    struct follow *f = arg;

    if (f->next < s->number && f->missing) {
        char text[100];
        int n = snprintf(text, sizeof text,
                         "[output up to seq %llu is gone: it was not taken in time]\n",
                         (unsigned long long)s->number);
        const struct slice note = {
            .bytes = text, .len = (size_t)n, .number = s->number - 1, .time_ms = s->time_ms};

        follow_send(f, "system", &note);
    }
    f->next = s->number + 1;
    follow_send(f, s->stream == STREAM_STDERR ? "stderr" : "stdout", s);
}

static void follow_gap(void *arg, uint64_t from, uint64_t to)
{
    (void)from, (void)to;
    ((struct follow *)arg)->missing = true;
}

/* --- the end -------------------------------------------------------------------------------- */

static void follow_pump(struct follow *f)
{
    if (!result_pump(&f->result, f->stream, &f->hyper->scratch))
        return;
    http_stream_end(f->stream);
    follow_free(&f->pending);
}

static void follow_exited(void *arg, const struct exit_record *x)
{
    struct follow *f = arg;

    (void)x;
    viewer_detach(f->viewer);
    f->viewer = NULL;
    timer_stop(f->keepalive);
    result_init(&f->result, f->process, "event: done\ndata: ", "\n\n");
    f->result.missing = f->missing;
    f->result.ascii = true;
    f->sending = true;
    follow_pump(f);
}

static const struct viewer_ops viewer_ops = {
    .ready = follow_ready,
    .bytes = follow_bytes,
    .gap = follow_gap,
    .exited = follow_exited,
};

static void follow_on_drain(void *arg)
{
    struct follow *f = arg;

    if (f->sending)
        follow_pump(f);
    else
        viewer_pump(f->viewer);
}

static void follow_on_gone(void *arg)
{
    follow_free(&((struct follow *)arg)->pending);
}

static const struct http_stream_ops stream_ops = {.on_drain = follow_on_drain,
                                                  .on_gone = follow_on_gone};

static void follow_on_keepalive(struct timer *t, void *arg)
{
    struct follow *f = arg;

    timer_start(t, SSE_KEEPALIVE_MS);
    if (http_stream_ready(f->stream))
        follow_write(f, NULL, NULL, NULL);
}

/* --- the beginning ---------------------------------------------------------------------------- */

static void follow_open(struct http_request *rq, struct process *p, uint64_t run)
{
    const struct viewer_options o = {.since = SINCE_OFFSET,
                                     .offset = run,
                                     .runs = true,
                                     .read_only = true,
                                     .name = http_peer(rq),
                                     .only_stream = -1};
    struct follow *f = hf_xalloc(sizeof *f);
    struct hf_error err = {0};

    f->hyper = hyper_of(rq);
    f->process = process_ref(p);
    f->next = run;
    f->keepalive = timer_new(f->hyper->loop, follow_on_keepalive, f);
    pending_init(&f->pending, &f->hyper->pending, &follow_kind);
    if (viewer_attach(p, &o, &viewer_ops, f, &f->viewer, &err) < 0) {
        follow_free(&f->pending);
        hyper_error(rq, &err);
        return;
    }
    http_add_header(rq, "Cache-Control", "no-cache");
    f->stream = http_stream_start(rq, 200, SSE_TYPE, &stream_ops, f);
    timer_start(f->keepalive, SSE_KEEPALIVE_MS);
}

void hyper_stream(struct http_request *rq)
{
    struct process *p = hyper_process(rq);
    uint64_t run;

    if (p != NULL && hyper_cursor(rq, p, "from_seq", LIMIT_HYPER_REPLAY_BYTES, &run))
        follow_open(rq, p, run);
}

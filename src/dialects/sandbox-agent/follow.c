/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow.c - GET …/logs?follow=true: entries as server-sent events
 *
 * The viewer says when there is something and holds the process while this one
 * keeps up; what is sent are whole runs from a number of our own, which the
 * viewer's cursor never overtakes: it is not ready before all of them are sent.
 * The original never ends the stream at the exit; this one says `exit` and ends,
 * which its client takes for what it is. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "dialects/sandbox-agent/agent.h"
#include "engine/viewer.h"
#include "transport/sse.h"

struct follow {
    struct pending pending;
    struct agent *agent;
    struct process *process; /* referenced */
    struct viewer *viewer;
    struct http_stream *stream;
    struct timer *keepalive;
    struct log_filter filter;
    uint64_t next; /* number of the run to be sent next */
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

static void follow_end(struct pending *p)
{
    struct follow *f = list_entry(p, struct follow, pending);

    http_stream_end(f->stream);
    follow_free(p);
}

static const struct pending_kind follow_kind = {.drain = follow_end, .free = follow_free};

static void follow_write(struct follow *f, const struct buf *b)
{
    struct iovec iov = {(void *)(uintptr_t)buf_data(b), b->len};

    http_stream_write(f->stream, &iov, 1);
    timer_start(f->keepalive, SSE_KEEPALIVE_MS);
}

static void follow_send(struct follow *f, uint64_t number, const struct slice *s)
{
    struct buf *text = &f->agent->scratch, frame = {0};
    struct json_out o;
    char id[24];

    buf_clear(text);
    json_out_init(&o, text);
    log_write(&o, number, s);
    snprintf(id, sizeof id, "%llu", (unsigned long long)number + 1);
    sse_event(&frame, "log", id, buf_data(text), text->len);
    follow_write(f, &frame);
    buf_fini(&frame);
}

/* All that there is, as long as there is room. True: nothing is left. */
static bool follow_step(struct follow *f)
{
    struct journal *j = process_journal(f->process);

    if (f->next < journal_run_first(j))
        f->next = journal_run_first(j); /* the numbers show the gap */
    while (f->next < journal_run_count(j)) {
        struct slice s;

        if (!http_stream_ready(f->stream))
            return false;
        if (f->next + 1 == journal_run_count(j))
            journal_cut(j);
        s = journal_run(j, f->next);
        if (log_wants(&f->filter, &s))
            follow_send(f, f->next, &s);
        f->next++;
    }
    return true;
}

static bool follow_ready(void *arg)
{
    struct follow *f = arg;

    return f->stream != NULL && follow_step(f) && http_stream_ready(f->stream);
}

static void follow_bytes(void *arg, const struct slice *s)
{
    (void)s;
    (void)follow_step(arg);
}

static void follow_gap(void *arg, uint64_t from, uint64_t to)
{
    (void)arg, (void)from, (void)to;
}

static void follow_exited(void *arg, const struct exit_record *x)
{
    struct follow *f = arg;
    struct buf frame = {0};
    char data[64];
    int n;

    if (x->code >= 0)
        n = snprintf(data, sizeof data, "{\"exitCode\":%d}", x->code);
    else
        n = snprintf(data, sizeof data, "{\"exitCode\":null}");
    sse_event(&frame, "exit", NULL, data, (size_t)n);
    follow_write(f, &frame);
    buf_fini(&frame);
    follow_end(&f->pending);
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

    if (follow_step(f))
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
    struct buf frame = {0};

    (void)t;
    sse_comment(&frame, "");
    if (http_stream_ready(f->stream))
        follow_write(f, &frame);
    buf_fini(&frame);
}

void agent_follow(struct http_request *rq, struct process *p, const struct log_filter *filter)
{
    const struct viewer_options o = {.since = SINCE_NOW, .read_only = true, .only_stream = -1};
    struct follow *f = hf_xalloc(sizeof *f);
    struct hf_error err;

    f->agent = agent_of(rq);
    f->process = process_ref(p);
    f->filter = *filter;
    f->filter.name = NULL; /* was the request's */
    f->next = log_begin(filter, process_journal(p));
    f->keepalive = timer_new(f->agent->loop, follow_on_keepalive, f);
    pending_init(&f->pending, &f->agent->pending, &follow_kind);
    if (viewer_attach(p, &o, &viewer_ops, f, &f->viewer, &err) < 0) {
        follow_free(&f->pending);
        agent_error(rq, &err);
        return;
    }
    http_add_header(rq, "Cache-Control", "no-cache");
    f->stream = http_stream_start(rq, 200, SSE_TYPE, &stream_ops, f);
    timer_start(f->keepalive, SSE_KEEPALIVE_MS);
}

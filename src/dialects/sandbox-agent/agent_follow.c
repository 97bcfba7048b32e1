/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_follow.c - GET …/logs?follow=true: entries as server-sent events
 *
 * The original never ends the stream at the exit. This one sends `exit` and ends, which its client
 * understands. Layer: dialects.
 */
#include "base/mem.h"
#include "dialects/common/run_stream.h"
#include "dialects/sandbox-agent/agent.h"

struct agent_follow {
    struct run_stream stream; /* first: freed as this type */
    struct agent *agent;
    struct log_filter filter;
};

static void follow_run(struct run_stream *r, const struct slice *s)
{
    struct agent_follow *f = list_entry(r, struct agent_follow, stream);
    struct buf *text = &f->agent->scratch;
    struct json_out o;

    if (s->number < f->filter.since || !log_wants(&f->filter, s))
        return;
    buf_clear(text);
    json_out_init(&o, text);
    log_write(&o, s->number, s);
    run_stream_send(r, "log", s->number + 1, text);
}

static bool follow_end(struct run_stream *r)
{
    struct agent_follow *f = list_entry(r, struct agent_follow, stream);
    struct json_out o = agent_reply_open(f->agent);
    struct process_view v;

    process_view(r->process, &v);
    agent_write_code(&o, v.exit);
    json_close(&o, '}');
    run_stream_send(r, "exit", 0, o.buf);
    return true;
}

static const struct run_stream_ops follow_ops = {.run = follow_run, .end = follow_end};

void agent_follow(struct http_request *rq, struct process *p, const struct log_filter *filter)
{
    struct agent *a = agent_of(rq);
    struct agent_follow *f = hf_xalloc(sizeof *f);
    uint64_t run = log_begin(filter, process_journal(p));
    uint64_t count = journal_run_count(process_journal(p));
    struct hf_error err;

    f->agent = a;
    f->filter = *filter;
    f->filter.name = NULL; /* belonged to the request */
    if (run > count)
        run = count; /* of future entries, those after `since` are sent */
    if (run_stream_begin(&f->stream, &follow_ops, rq, p, run, &a->pending, &err) < 0)
        agent_error(rq, &err);
}

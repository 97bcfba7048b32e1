/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_call.c - starts a process for a request. Layer: dialects.
 */
#include "dialects/common/start_call.h"

#include "dialects/common/call.h"
#include "dialects/common/dialect_base.h"

struct start_call {
    struct call call;
    start_call_fn *done;
    start_call_reply_fn *reply; /* if `done` is NULL */
    bool end_if_disconnected;
};

/* The keeper replies soon, so a drain need not cut this short. */
static const struct call_kind start_kind = {.stays = true};

static void start_on_spawned(void *arg, struct process *p, const struct hf_error *err)
{
    struct start_call s = *(struct start_call *)arg;
    struct http_request *rq = call_end(arg);

    if (rq != NULL && s.done != NULL)
        s.done(rq, p, err);
    else if (rq != NULL && p != NULL)
        s.reply(rq, p);
    else if (rq != NULL)
        http_reply_error(rq, err);
    else if (p != NULL && s.end_if_disconnected)
        process_terminate(p, -1, "detach", NULL, NULL);
}

static void start_begin(struct start_call *s, const struct spawn_spec *spec)
{
    struct hf_error err;

    if (engine_spawn(s->call.base->engine, spec, start_on_spawned, s, &err) < 0)
        start_on_spawned(s, NULL, &err);
}

void start_call_begin(struct http_request *rq, const struct spawn_spec *spec,
                      const struct start_call_options *o)
{
    struct start_call *s = call_begin(rq, &start_kind, sizeof *s);

    s->done = o->done;
    s->end_if_disconnected = o->end_if_disconnected;
    start_begin(s, spec);
}

void start_call_reply(struct http_request *rq, const struct spawn_spec *spec,
                      start_call_reply_fn *reply)
{
    struct start_call *s = call_begin(rq, &start_kind, sizeof *s);

    s->reply = reply;
    start_begin(s, spec);
}

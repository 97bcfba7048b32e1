/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_call.c - starts a process for a request. Layer: dialects.
 */
#include "dialects/common/start_call.h"

#include <stdlib.h>

#include "base/mem.h"
#include "dialects/common/dialect_base.h"
#include "dialects/common/pending.h"

struct start_call_starting {
    struct pending pending;
    struct http_request *rq; /* NULL: the client has disconnected */
    start_call_fn *done;
    start_call_reply_fn *reply; /* if `done` is NULL */
    bool end_if_disconnected;
};

static void starting_free(struct pending *p)
{
    pending_fini(p);
    free(list_entry(p, struct start_call_starting, pending));
}

/* The keeper replies soon, so a drain need not cut this short. */
static const struct pending_kind starting_kind = {.drain = NULL, .free = starting_free};

static void starting_on_disconnect(void *user)
{
    ((struct start_call_starting *)user)->rq = NULL;
}

static void starting_on_spawned(void *arg, struct process *p, const struct hf_error *err)
{
    struct start_call_starting s = *(struct start_call_starting *)arg;

    if (s.rq != NULL)
        http_set_user(s.rq, NULL, NULL);
    starting_free(&((struct start_call_starting *)arg)->pending);
    if (s.rq != NULL && s.done != NULL)
        s.done(s.rq, p, err);
    else if (s.rq != NULL && p != NULL)
        s.reply(s.rq, p);
    else if (s.rq != NULL)
        http_reply_error(s.rq, err);
    else if (p != NULL && s.end_if_disconnected)
        process_terminate(p, -1, "detach", NULL, NULL);
}

static void starting_begin(struct start_call_starting *s, struct http_request *rq,
                           struct list *pending, struct engine *e, const struct spawn_spec *spec)
{
    struct hf_error err;

    s->rq = rq;
    pending_init(&s->pending, pending, &starting_kind);
    http_set_user(rq, s, starting_on_disconnect);
    if (engine_spawn(e, spec, starting_on_spawned, s, &err) < 0)
        starting_on_spawned(s, NULL, &err);
}

void start_call_begin(struct http_request *rq, struct engine *e, const struct spawn_spec *spec,
                      const struct start_call_options *o)
{
    struct start_call_starting *s = hf_xalloc(sizeof *s);

    s->done = o->done;
    s->end_if_disconnected = o->end_if_disconnected;
    starting_begin(s, rq, o->pending, e, spec);
}

void start_call_reply(struct http_request *rq, const struct spawn_spec *spec,
                      start_call_reply_fn *reply)
{
    struct dialect_base *b = dialect_base_of(rq);
    struct start_call_starting *s = hf_xalloc(sizeof *s);

    s->reply = reply;
    starting_begin(s, rq, &b->pending, b->engine, spec);
}

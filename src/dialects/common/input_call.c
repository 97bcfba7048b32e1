/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input_call.c - requests whose input waits for room in a process's queue. Layer: dialects.
 */
#include "dialects/common/input_call.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "dialects/common/dialect_base.h"
#include "dialects/common/pending.h"
#include "dialects/common/stdin_feed.h"

struct typing {
    struct pending pending;
    struct list link;
    struct input_call_queue *queue;
    struct http_request *rq;
    struct stdin_feed feed; /* waits only for the first call of a process */
    size_t len;             /* of all its input */
    char *session;          /* its id, and the feed's process is its shell; NULL: none */
    uint64_t number;
    input_call_fn *done;
    input_call_reply_fn *reply; /* if `done` is NULL */
};

static void typing_free(struct pending *p)
{
    struct typing *t = list_entry(p, struct typing, pending);

    stdin_feed_fini(&t->feed);
    list_remove(&t->link);
    free(t->session);
    pending_fini(p);
    free(t);
}

static void typing_end(struct typing *t, size_t accepted, const struct hf_error *err)
{
    struct http_request *rq = t->rq;
    input_call_fn *done = t->done;
    input_call_reply_fn *reply = t->reply;

    http_set_user(rq, NULL, NULL);
    typing_free(&t->pending);
    if (done != NULL)
        done(rq, accepted, err);
    else if (!dialect_failed(rq, err != NULL ? -1 : 0, err))
        reply(rq, accepted);
}

static ssize_t typing_put_session(struct stdin_feed *f, const void *bytes, size_t len,
                                  struct hf_error *err)
{
    struct typing *t = list_entry(f, struct typing, feed);
    struct session *s = session_find(process_engine(f->process), t->session, err);

    return s != NULL ? session_type(s, t->number, bytes, len, err) : -ESRCH;
}

/* False: it waits for room. True: it has finished and is freed. */
static bool typing_step(struct typing *t)
{
    struct hf_error err;
    int rc = stdin_feed_flush(&t->feed, &err);

    if (rc == 0)
        return false;
    typing_end(t, t->len - t->feed.held.len, rc < 0 ? &err : NULL);
    return true;
}

static struct typing *typing_first(const struct input_call_queue *q, const struct process *p)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &q->all) {
        struct typing *t = list_entry(it, struct typing, link);

        if (t->feed.process == p)
            return t;
    }
    return NULL;
}

bool input_call_is_waiting(const struct input_call_queue *q, const struct process *p)
{
    return typing_first(q, p) != NULL;
}

/* Iterates until a call has to wait. Thousands may have waited for the same process, so calls must
 * not recurse into each other. */
static void typing_run(struct input_call_queue *q, struct process *p)
{
    struct typing *t;

    process_ref(p);
    while ((t = typing_first(q, p)) != NULL && typing_step(t))
        ;
    process_unref(p);
}

static void typing_on_room(void *arg)
{
    struct typing *t = arg;

    typing_run(t->queue, t->feed.process);
}

/* The client has disconnected: drops its remaining input, and starts the next call. */
static void typing_on_disconnect(void *user)
{
    struct typing *t = user;
    struct input_call_queue *q = t->queue;
    struct process *p = process_ref(t->feed.process);

    typing_free(&t->pending);
    typing_run(q, p);
    process_unref(p);
}

/* Report how much was accepted: a client that believed none was would send it twice. */
static void typing_drain(struct pending *pending)
{
    struct typing *t = list_entry(pending, struct typing, pending);
    size_t accepted = t->len - t->feed.held.len;
    struct hf_error err = {0};

    if (accepted == 0)
        hf_fail(&err, HF_E_shutting_down,
                "the daemon is shutting down; none of the input was accepted");
    else
        hf_fail(&err, HF_E_internal,
                "the daemon is shutting down; %zu of %zu bytes of the input were accepted",
                accepted, t->len);
    typing_end(t, accepted, &err);
}

static const struct pending_kind typing_kind = {.drain = typing_drain, .free = typing_free};

static struct typing *typing_new(struct input_call_queue *q, struct http_request *rq,
                                 struct process *p, struct buf *bytes, input_call_fn *done)
{
    struct typing *t = hf_xalloc(sizeof *t);

    t->queue = q;
    t->rq = rq;
    stdin_feed_init(&t->feed, typing_on_room, t);
    stdin_feed_bind(&t->feed, p);
    t->feed.held = *bytes;
    t->len = bytes->len;
    *bytes = (struct buf){0};
    t->done = done;
    list_append(&q->all, &t->link);
    pending_init(&t->pending, q->pending, &typing_kind);
    http_set_user(rq, t, typing_on_disconnect);
    return t;
}

void input_call_take(struct input_call_queue *q, struct http_request *rq, struct process *p,
                     struct buf *bytes, bool eof, input_call_fn *done)
{
    bool first = typing_first(q, p) == NULL;

    typing_new(q, rq, p, bytes, done)->feed.eof = eof;
    if (first)
        typing_run(q, p);
}

void input_call_reply(struct http_request *rq, struct process *p, struct buf *bytes,
                      input_call_reply_fn *reply)
{
    struct input_call_queue *q = &dialect_base_of(rq)->typing;
    bool first = typing_first(q, p) == NULL;

    typing_new(q, rq, p, bytes, NULL)->reply = reply;
    if (first)
        typing_run(q, p);
}

void input_call_take_session(struct input_call_queue *q, struct http_request *rq, struct session *s,
                             uint64_t number, struct buf *bytes, input_call_fn *done)
{
    struct process *p = session_shell(s);
    bool first = typing_first(q, p) == NULL;
    struct typing *t = typing_new(q, rq, p, bytes, done);

    t->feed.put = typing_put_session;
    t->session = hf_xstrdup(session_id(s));
    t->number = number;
    if (first)
        typing_run(q, p);
}

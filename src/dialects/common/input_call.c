/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input_call.c - requests whose input waits for room in a process's queue. Layer: dialects.
 */
#include "dialects/common/input_call.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "dialects/common/pending.h"

struct typing {
    struct pending pending;
    struct list link;
    struct input_call_queue *queue;
    struct http_request *rq;
    struct process *process; /* referenced; a session's shell for a command in it */
    char *session;           /* its id; NULL: the input is for the process */
    uint64_t number;
    struct input_waiter waiter; /* armed only for the first call of a process */
    struct buf bytes;
    size_t accepted;
    bool eof;
    input_call_fn *done;
};

static void typing_free(struct pending *p)
{
    struct typing *t = list_entry(p, struct typing, pending);

    input_waiter_cancel(&t->waiter);
    list_remove(&t->link);
    process_unref(t->process);
    free(t->session);
    buf_fini(&t->bytes);
    pending_fini(p);
    free(t);
}

static void typing_end(struct typing *t, const struct hf_error *err)
{
    struct http_request *rq = t->rq;
    input_call_fn *done = t->done;
    size_t accepted = t->accepted;

    http_set_user(rq, NULL, NULL);
    typing_free(&t->pending);
    done(rq, accepted, err);
}

static ssize_t typing_put(struct typing *t, const char *bytes, size_t len, struct hf_error *err)
{
    struct session *s;

    if (t->session == NULL)
        return process_input(t->process, bytes, len, err);
    s = session_find(process_engine(t->process), t->session, err);
    return s != NULL ? session_type(s, t->number, bytes, len, err) : -ESRCH;
}

/* False: it waits for room. True: it has finished and is freed. */
static bool typing_step(struct typing *t)
{
    struct hf_error err;

    while (t->accepted < t->bytes.len) {
        ssize_t n =
            typing_put(t, buf_data(&t->bytes) + t->accepted, t->bytes.len - t->accepted, &err);

        if (n < 0) {
            typing_end(t, &err);
            return true;
        }
        t->accepted += (size_t)n;
        if (n == 0) {
            input_waiter_cancel(&t->waiter);
            process_wait_for_room(t->process, &t->waiter);
            return false;
        }
    }
    if (t->eof && process_input_eof(t->process, &err) < 0)
        typing_end(t, &err);
    else
        typing_end(t, NULL);
    return true;
}

static struct typing *typing_first(struct input_call_queue *q, const struct process *p)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &q->all) {
        struct typing *t = list_entry(it, struct typing, link);

        if (t->process == p)
            return t;
    }
    return NULL;
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

    typing_run(t->queue, t->process);
}

/* The client has disconnected: drops its remaining input, and starts the next call. */
static void typing_on_disconnect(void *user)
{
    struct typing *t = user;
    struct input_call_queue *q = t->queue;
    struct process *p = process_ref(t->process);

    typing_free(&t->pending);
    typing_run(q, p);
    process_unref(p);
}

/* Report how much was accepted: a client that believed none was would send it twice. */
static void typing_drain(struct pending *pending)
{
    struct typing *t = list_entry(pending, struct typing, pending);
    struct hf_error err = {0};

    if (t->accepted == 0)
        hf_fail(&err, HF_E_shutting_down,
                "the daemon is shutting down; none of the input was accepted");
    else
        hf_fail(&err, HF_E_internal,
                "the daemon is shutting down; %zu of %zu bytes of the input were accepted",
                t->accepted, t->bytes.len);
    typing_end(t, &err);
}

static const struct pending_kind typing_kind = {.drain = typing_drain, .free = typing_free};

static struct typing *typing_new(struct input_call_queue *q, struct http_request *rq,
                                 struct process *p, struct buf *bytes, input_call_fn *done)
{
    struct typing *t = hf_xalloc(sizeof *t);

    t->queue = q;
    t->rq = rq;
    t->process = process_ref(p);
    t->bytes = *bytes;
    *bytes = (struct buf){0};
    t->done = done;
    list_init(&t->waiter.link);
    t->waiter.fn = typing_on_room;
    t->waiter.arg = t;
    list_append(&q->all, &t->link);
    pending_init(&t->pending, q->pending, &typing_kind);
    http_set_user(rq, t, typing_on_disconnect);
    return t;
}

void input_call_take(struct input_call_queue *q, struct http_request *rq, struct process *p,
                     struct buf *bytes, bool eof, input_call_fn *done)
{
    bool first = typing_first(q, p) == NULL;

    typing_new(q, rq, p, bytes, done)->eof = eof;
    if (first)
        typing_run(q, p);
}

void input_call_take_session(struct input_call_queue *q, struct http_request *rq, struct session *s,
                             uint64_t number, struct buf *bytes, input_call_fn *done)
{
    struct process *p = session_shell(s);
    bool first = typing_first(q, p) == NULL;
    struct typing *t = typing_new(q, rq, p, bytes, done);

    t->session = hf_xstrdup(session_id(s));
    t->number = number;
    if (first)
        typing_run(q, p);
}

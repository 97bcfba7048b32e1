/* SPDX-License-Identifier: Apache-2.0 */
/*
 * end_call.c - requests that terminate a process
 *
 * Not a struct call: the keeper's reply to a signal holds a pointer to this, so it stays after a
 * client has disconnected. Layer: dialects.
 */
#include "dialects/common/end_call.h"

#include <stdlib.h>

#include "base/mem.h"
#include "dialects/common/dialect_base.h"
#include "dialects/common/pending.h"

struct end_call {
    struct pending pending;
    struct http_request *rq; /* NULL: the client has disconnected */
    struct process *process; /* referenced */
    end_call_fn *done;
    struct exit_waiter waiter;
    struct timer *timer;
    bool signalled; /* the keeper has replied */
    bool over;      /* waited long enough, or ended */
};

static void end_call_free(struct pending *pending)
{
    struct end_call *e = list_entry(pending, struct end_call, pending);

    exit_waiter_cancel(&e->waiter);
    process_end_cancel(e->process, e);
    timer_close(e->timer);
    process_unref(e->process);
    pending_fini(pending);
    free(e);
}

static void end_call_finish(struct end_call *e)
{
    if (!e->signalled || !e->over)
        return;
    if (e->rq != NULL)
        e->done(e->rq, e->process);
    end_call_free(&e->pending);
}

static void end_call_over(struct end_call *e)
{
    e->over = true;
    end_call_finish(e);
}

static void end_call_on_disconnect(void *user)
{
    struct end_call *e = user;

    e->rq = NULL;
    end_call_over(e);
}

static struct end_call *end_call_new(struct http_request *rq, struct process *p,
                                     const struct pending_kind *kind, end_call_fn *done)
{
    struct end_call *e = hf_xalloc(sizeof *e);

    e->rq = rq;
    e->process = process_ref(p);
    e->done = done;
    list_init(&e->waiter.link);
    pending_init(&e->pending, &dialect_base_of(rq)->pending, kind);
    http_set_user(rq, e, end_call_on_disconnect);
    return e;
}

/* --- a signal and a bounded wait ------------------------------------------------------------- */

static void signal_drain(struct pending *p)
{
    end_call_over(list_entry(p, struct end_call, pending));
}

static const struct pending_kind signal_kind = {.drain = signal_drain, .free = end_call_free};

static void signal_on_exit(void *arg, struct process *p)
{
    (void)p;
    end_call_over(arg);
}

static void signal_on_timer(struct timer *t, void *arg)
{
    (void)t;
    end_call_over(arg);
}

static void signal_on_sent(void *arg, int rc, const struct hf_error *err)
{
    struct end_call *e = arg;

    (void)rc, (void)err;
    e->signalled = true;
    end_call_finish(e);
}

void end_call_signal(struct http_request *rq, struct process *p, int signum, uint64_t wait_ms,
                     end_call_fn *done)
{
    struct end_call *e = end_call_new(rq, p, &signal_kind, done);
    struct hf_error err = {0};

    e->waiter.fn = signal_on_exit;
    e->waiter.arg = e;
    e->timer = timer_new(dialect_base_of(rq)->loop, signal_on_timer, e);
    process_wait_exit(p, &e->waiter);
    timer_start(e->timer, wait_ms);
    if (process_signal(p, signum, TARGET_TREE, signal_on_sent, e, &err) < 0)
        signal_on_sent(e, -1, &err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * end_call.c - requests that signal or terminate processes
 *
 * The engine's callbacks refer to the call, which therefore stays after its client has
 * disconnected. Layer: dialects.
 */
#include "dialects/common/end_call.h"

#include "dialects/common/dialect_base.h"

/* --- until all of it is done ---------------------------------------------------------------- */

static void end_call_release(struct call *c)
{
    process_unref(list_entry(c, struct end_call, call)->process);
}

static const struct call_kind end_call_kind = {.release = end_call_release, .stays = true};

void *end_call_begin(struct http_request *rq, end_call_done_fn *done, size_t size)
{
    struct end_call *e = call_begin(rq, &end_call_kind, size);

    e->done = done;
    e->left = 1;
    return e;
}

static void end_call_add(struct end_call *e, struct process *p)
{
    process_ref(p);
    process_unref(e->process);
    e->process = p;
    e->left++;
}

void end_call_wait(struct end_call *e)
{
    struct http_request *rq;

    if (--e->left > 0)
        return;
    rq = call_detach(&e->call);
    e->done(e, rq, e->err.code != HF_OK ? &e->err : NULL);
    call_end(&e->call);
}

static void end_call_on_ended(void *arg, struct process *p, const struct survivors *s)
{
    (void)p, (void)s;
    end_call_wait(arg);
}

void end_call_terminate(struct end_call *e, struct process *p, int64_t grace_ms)
{
    end_call_add(e, p);
    process_terminate(p, grace_ms, "api", end_call_on_ended, e);
}

static void end_call_on_deleted(void *arg, const struct survivors *s, size_t ended)
{
    (void)s, (void)ended;
    end_call_wait(arg);
}

void end_call_delete_session(struct end_call *e, struct session *s)
{
    e->left++;
    session_delete(s, 0, end_call_on_deleted, e);
}

static void end_call_on_sent(void *arg, int rc, const struct hf_error *err)
{
    struct end_call *e = arg;

    if (rc < 0)
        e->err = *err;
    end_call_wait(e);
}

void end_call_send(struct end_call *e, struct process *p, int signum, enum signal_target target)
{
    struct hf_error err = {0};

    end_call_add(e, p);
    if (process_signal(p, signum, target, end_call_on_sent, e, &err) < 0)
        end_call_on_sent(e, -1, &err);
}

/* --- a signal and a bounded wait ------------------------------------------------------------- */

struct end_wait {
    struct call call;
    struct process *process; /* referenced */
    end_call_fn *done;
    struct exit_waiter waiter;
    struct timer *timer;
    bool signalled; /* the keeper has replied */
    bool over;      /* waited long enough, or ended */
};

static void end_wait_release(struct call *c)
{
    struct end_wait *e = list_entry(c, struct end_wait, call);

    exit_waiter_cancel(&e->waiter);
    process_end_cancel(e->process, e);
    timer_close(e->timer);
    process_unref(e->process);
}

static void end_wait_finish(struct end_wait *e)
{
    struct http_request *rq;

    if (!e->signalled || !e->over)
        return;
    rq = call_detach(&e->call);
    if (rq != NULL)
        e->done(rq, e->process);
    call_end(&e->call);
}

static void end_wait_over(struct end_wait *e)
{
    e->over = true;
    end_wait_finish(e);
}

/* A disconnect or a drain: stop waiting for the exit. */
static void end_wait_cut(struct call *c)
{
    end_wait_over(list_entry(c, struct end_wait, call));
}

static const struct call_kind end_wait_kind = {
    .release = end_wait_release,
    .stays = true,
    .disconnected = end_wait_cut,
    .drain = end_wait_cut,
};

static void end_wait_on_exit(void *arg, struct process *p)
{
    (void)p;
    end_wait_over(arg);
}

static void end_wait_on_timer(struct timer *t, void *arg)
{
    (void)t;
    end_wait_over(arg);
}

static void end_wait_on_sent(void *arg, int rc, const struct hf_error *err)
{
    struct end_wait *e = arg;

    (void)rc, (void)err;
    e->signalled = true;
    end_wait_finish(e);
}

void end_call_signal(struct http_request *rq, struct process *p, int signum, uint64_t wait_ms,
                     end_call_fn *done)
{
    struct end_wait *e = call_begin(rq, &end_wait_kind, sizeof *e);
    struct hf_error err = {0};

    e->process = process_ref(p);
    e->done = done;
    list_init(&e->waiter.link);
    e->waiter.fn = end_wait_on_exit;
    e->waiter.arg = e;
    e->timer = timer_new(e->call.base->loop, end_wait_on_timer, e);
    process_wait_exit(p, &e->waiter);
    timer_start(e->timer, wait_ms);
    if (process_signal(p, signum, TARGET_TREE, end_wait_on_sent, e, &err) < 0)
        end_wait_on_sent(e, -1, &err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_kill.c - stop and kill: a signal to the whole tree, then a bounded wait. Layer: dialects.
 */
#include <signal.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/sandbox-agent/agent.h"

#define STOP_WAIT_MS 2000
#define KILL_WAIT_MS 1000

struct agent_kill_shutdown {
    struct pending pending;
    struct http_request *rq; /* NULL: the client has disconnected */
    struct process *process; /* referenced */
    struct exit_waiter waiter;
    struct timer *timer;
    bool signalled; /* the keeper has replied */
    bool over;      /* waited long enough, or exited */
};

static void ending_free(struct pending *p)
{
    struct agent_kill_shutdown *e = list_entry(p, struct agent_kill_shutdown, pending);

    exit_waiter_cancel(&e->waiter);
    timer_close(e->timer);
    process_unref(e->process);
    pending_fini(p);
    free(e);
}

/* Wait for the keeper's reply: it holds a pointer to this. */
static void ending_finish(struct agent_kill_shutdown *e)
{
    struct http_request *rq = e->rq;

    if (!e->signalled || !e->over)
        return;
    if (rq != NULL) {
        struct agent *a = agent_of(rq);
        struct json_out o;

        buf_clear(&a->scratch);
        json_out_init(&o, &a->scratch);
        agent_write_info(&o, e->process);
        http_reply_json(rq, 200, &a->scratch);
    }
    ending_free(&e->pending);
}

static void ending_over(struct agent_kill_shutdown *e)
{
    e->over = true;
    ending_finish(e);
}

static void ending_on_exit(void *arg, struct process *p)
{
    (void)p;
    ending_over(arg);
}

static void ending_on_timer(struct timer *t, void *arg)
{
    (void)t;
    ending_over(arg);
}

static void ending_on_disconnect(void *user)
{
    struct agent_kill_shutdown *e = user;

    e->rq = NULL;
    ending_over(e);
}

static void ending_drain(struct pending *p)
{
    ending_over(list_entry(p, struct agent_kill_shutdown, pending));
}

static const struct pending_kind ending_kind = {.drain = ending_drain, .free = ending_free};

/* A tree that has already ended is what the client requested. */
static void ending_on_signal(void *arg, int rc, const struct hf_error *err)
{
    struct agent_kill_shutdown *e = arg;

    (void)rc, (void)err;
    e->signalled = true;
    ending_finish(e);
}

static void kill_begin(struct http_request *rq, struct process *p, int signum, int64_t wait_ms)
{
    struct agent *a = agent_of(rq);
    struct agent_kill_shutdown *e = hf_xalloc(sizeof *e);
    struct hf_error err;

    e->rq = rq;
    e->process = process_ref(p);
    list_init(&e->waiter.link);
    e->waiter.fn = ending_on_exit;
    e->waiter.arg = e;
    e->timer = timer_new(a->loop, ending_on_timer, e);
    pending_init(&e->pending, &a->pending, &ending_kind);
    http_set_user(rq, e, ending_on_disconnect);
    process_wait_exit(p, &e->waiter);
    timer_start(e->timer, (uint64_t)wait_ms);
    if (process_signal(p, signum, TARGET_TREE, ending_on_signal, e, &err) < 0)
        ending_on_signal(e, -1, &err);
}

static void ending_handle(struct http_request *rq, int signum, int64_t wait_ms)
{
    struct process *p = agent_process(rq);

    if (p != NULL && agent_number(rq, "waitMs", LIMIT_DURATION_MS, &wait_ms))
        kill_begin(rq, p, signum, wait_ms);
}

void agent_stop(struct http_request *rq)
{
    ending_handle(rq, SIGTERM, STOP_WAIT_MS);
}

void agent_kill(struct http_request *rq)
{
    ending_handle(rq, SIGKILL, KILL_WAIT_MS);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_exit.c - GET /v1/processes/{id}/wait: until the exit or the timeout. Layer: dialects.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"

struct exit_wait {
    struct call call;
    struct process *process; /* referenced */
    struct exit_waiter waiter;
    struct timer *timer; /* NULL: no timeout */
};

static void exit_wait_release(struct call *c)
{
    struct exit_wait *w = list_entry(c, struct exit_wait, call);

    exit_waiter_cancel(&w->waiter);
    timer_close(w->timer);
    native_wait_end(native_of_call(c));
    process_unref(w->process);
}

static const struct call_kind exit_wait_kind = {.release = exit_wait_release,
                                                .drain_text = NATIVE_CLOSED_TEXT};

/* The process as it is now, and whether the timeout came first. */
static void exit_wait_reply(struct http_request *rq, struct process *p, bool timed_out)
{
    struct native *n = native_of(rq);
    struct json_out o;

    buf_clear(&n->base.scratch);
    json_out_init(&o, &n->base.scratch);
    json_reply_process_open(&o, p);
    json_kbool(&o, "timed_out", timed_out);
    dialect_reply_send(rq, 200, &o);
}

static void exit_wait_on_exit(void *arg, struct process *p)
{
    struct exit_wait *w = arg;

    exit_wait_reply(w->call.rq, p, false);
    call_end(&w->call);
}

static void exit_wait_on_timer(struct timer *t, void *arg)
{
    struct exit_wait *w = arg;

    (void)t;
    exit_wait_reply(w->call.rq, w->process, true);
    call_end(&w->call);
}

static void exit_wait_begin(struct http_request *rq, struct process *p, int64_t timeout_ms)
{
    struct exit_wait *w = call_begin(rq, &exit_wait_kind, sizeof *w);

    w->process = process_ref(p);
    list_init(&w->waiter.link);
    w->waiter.fn = exit_wait_on_exit;
    w->waiter.arg = w;
    process_wait_exit(p, &w->waiter);
    if (timeout_ms >= 0) {
        w->timer = timer_new(http_loop(rq), exit_wait_on_timer, w);
        timer_start(w->timer, (uint64_t)timeout_ms);
    }
}

void wait_exit_handle(struct http_request *rq)
{
    struct process *p = native_decode_process(rq);
    int64_t timeout_ms = -1;
    struct hf_error err;

    if (p == NULL)
        return;
    if (native_decode_i64(rq, "timeout_ms", 0, LIMIT_DURATION_MS, &timeout_ms, &err) < 0) {
        http_reply_error(rq, &err);
    } else if (!process_is_running(p) || timeout_ms == 0) {
        exit_wait_reply(rq, p, process_is_running(p));
    } else if (native_wait_begin(native_of(rq), rq, &err) < 0) {
        http_reply_error(rq, &err);
    } else {
        exit_wait_begin(rq, p, timeout_ms);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_update.c - Update, SendSignal: operations on a running process. Layer: dialects.
 */
#include <signal.h>
#include <stdlib.h>

#include "base/mem.h"
#include "dialects/common/request_checks.h"
#include "dialects/e2b/e2b_rpc.h"

/* After a kill, clients check whether the process has ended; the reply waits this long for it. */
#define KILL_WAIT_MS 1000

void e2b_update(struct http_request *rq)
{
    enum rpc_codec codec;
    json_auto_t *message = e2b_rpc_request(rq, &e2b_update_request, false, &codec);
    struct process *p = message == NULL ? NULL : e2b_rpc_process(rq, message, true);
    const json_t *pty, *size;
    struct process_view v;
    int64_t rows, cols;
    struct hf_error err;

    if (p == NULL)
        return;
    pty = json_object_get(message, "pty");
    size = json_object_get(pty, "size");
    rows = json_integer_value(json_object_get(size, "rows"));
    cols = json_integer_value(json_object_get(size, "cols"));
    process_view(p, &v);
    if (pty != NULL && !v.pty) {
        e2b_rpc_fail(rq, "internal", "error resizing tty: tty not assigned to process");
    } else if (pty != NULL && process_resize(p, rows != 0 ? rows : v.rows,
                                             cols != 0 ? cols : v.cols, "api", &err) < 0) {
        e2b_rpc_error(rq, &err);
    } else {
        e2b_rpc_reply_empty(rq, codec);
    }
}

/* --- SendSignal ------------------------------------------------------------------------- */

struct signalling {
    struct call call;
    enum rpc_codec codec;
    struct process *process; /* referenced */
    struct exit_waiter waiter;
    struct timer *timer;
    bool sent; /* the keeper has replied: it held a pointer to this */
    bool over; /* exited, or waited long enough */
};

static void signalling_release(struct call *c)
{
    struct signalling *s = list_entry(c, struct signalling, call);

    exit_waiter_cancel(&s->waiter);
    timer_close(s->timer);
    process_unref(s->process);
}

static void signalling_over(struct call *c)
{
    struct signalling *s = list_entry(c, struct signalling, call);
    enum rpc_codec codec = s->codec;
    struct http_request *rq;

    s->over = true;
    if (!s->sent)
        return;
    rq = call_end(c);
    if (rq != NULL)
        e2b_rpc_reply_empty(rq, codec);
}

static const struct call_kind signalling_kind = {
    .stays = true,
    .release = signalling_release,
    .disconnected = signalling_over,
    .drain = signalling_over,
};

static void signalling_on_exit(void *arg, struct process *p)
{
    (void)p;
    signalling_over(arg);
}

static void signalling_on_timer(struct timer *t, void *arg)
{
    (void)t;
    signalling_over(arg);
}

static void signalling_on_sent(void *arg, int rc, const struct hf_error *err)
{
    struct signalling *s = arg;
    struct http_request *rq;

    s->sent = true;
    if (rc >= 0) {
        if (s->over)
            signalling_over(&s->call);
        return;
    }
    rq = call_end(&s->call);
    if (rq != NULL)
        e2b_rpc_error(rq, err);
}

static void signal_begin(struct http_request *rq, enum rpc_codec codec, struct process *p,
                         int signum)
{
    struct signalling *s = call_begin(rq, &signalling_kind, sizeof *s);
    /* A fatal signal kills the whole tree: the original leaves the children behind. */
    enum signal_target target = signum == SIGKILL || signum == SIGTERM ? TARGET_TREE : TARGET_GROUP;
    struct hf_error err;

    s->codec = codec;
    s->process = process_ref(p);
    s->over = signum != SIGKILL;
    list_init(&s->waiter.link);
    s->waiter.fn = signalling_on_exit;
    s->waiter.arg = s;
    s->timer = timer_new(s->call.base->loop, signalling_on_timer, s);
    if (!s->over) {
        process_wait_exit(p, &s->waiter);
        timer_start(s->timer, KILL_WAIT_MS);
    }
    if (process_signal(p, signum, target, signalling_on_sent, s, &err) < 0)
        signalling_on_sent(s, -1, &err);
}

void e2b_send_signal(struct http_request *rq)
{
    enum rpc_codec codec;
    json_auto_t *message = e2b_rpc_request(rq, &e2b_signal_request, false, &codec);
    struct process *p = message == NULL ? NULL : e2b_rpc_process(rq, message, true);
    int64_t signum;
    struct hf_error err;

    if (p == NULL)
        return;
    signum = json_integer_value(json_object_get(message, "signal"));
    if (signum < 1 || signum > SIGRTMAX)
        e2b_rpc_fail(rq, "unimplemented",
                     "signal must be SIGNAL_SIGKILL, SIGNAL_SIGTERM or a number");
    else if (check_signal_role((int)signum, http_role(rq), &err) < 0)
        e2b_rpc_error(rq, &err);
    else
        signal_begin(rq, codec, p, (int)signum);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_kill.c - POST …/exec/ID/kill: a signal, then the kill, reported line by line
 *
 * TERM and KILL terminate the whole tree, with KILL after the timeout. Any other signal is sent
 * first; once the command has exited, or after the timeout, the rest of the tree is killed. The
 * last line is "complete", when no process is left. A disconnect changes nothing. Layer: dialects.
 */
#include <signal.h>
#include <string.h>

#include "base/limits.h"
#include "base/signals.h"
#include "base/text.h"
#include "dialects/common/call.h"
#include "dialects/common/request_checks.h"
#include "dialects/fly/fly.h"
#include "dialects/fly/fly_limits.h"

#define SLACK_MS 1000

struct fly_kill_killing {
    struct call call; /* without a stream: the client has disconnected, or the daemon drains */
    struct process *process; /* referenced */
    struct exit_waiter waiter;
    struct timer *timer;
    int64_t timeout_ms;
    bool ending; /* process_terminate() was called */
};

static void killing_release(struct call *c)
{
    struct fly_kill_killing *k = list_entry(c, struct fly_kill_killing, call);

    exit_waiter_cancel(&k->waiter);
    process_end_cancel(k->process, k);
    timer_close(k->timer);
    process_unref(k->process);
}

/* --- lines ----------------------------------------------------------------------------------- */

static void send_line(struct fly_kill_killing *k, struct json_out *o)
{
    json_close(o, '}');
    buf_putc(o->buf, '\n');
    if (k->call.out != NULL)
        http_stream_write(k->call.out, &(struct iovec){buf_data(o->buf), o->buf->len}, 1);
}

static void send_event(struct fly_kill_killing *k, const char *type, const char *message,
                       int signum)
{
    struct json_out o = dialect_reply_open(k->call.base);
    struct process_view v;

    process_view(k->process, &v);
    json_kstr(&o, "type", type);
    json_kstr(&o, "message", message);
    if (signum > 0)
        json_kstr(&o, "signal", signal_name(signum));
    json_kint(&o, "pid", v.pid);
    send_line(k, &o);
}

static void send_complete(struct fly_kill_killing *k, const struct survivors *s)
{
    struct json_out o = dialect_reply_open(k->call.base);
    struct process_view v;

    process_view(k->process, &v);
    json_kstr(&o, "type", "complete");
    json_kstr(&o, "message",
              s != NULL && s->total > 0 ? "some processes could not be killed"
                                        : "the session has ended");
    if (v.exit->signum > 0)
        json_kstr(&o, "signal", signal_name(v.exit->signum));
    json_kint(&o, "exit_code", v.exit->exit_code);
    send_line(k, &o);
}

/* --- termination ----------------------------------------------------------------------------- */

static void killing_on_ended(void *arg, struct process *p, const struct survivors *s)
{
    struct fly_kill_killing *k = arg;

    (void)p;
    send_event(k, "exited", "the command has exited", 0);
    send_complete(k, s);
    call_stream_end(&k->call);
}

/*
 * The timeout runs here, so that reports match actions. The grace is a fallback in case this worker
 * no longer exists.
 */
static void killing_end(struct fly_kill_killing *k, int64_t grace_ms)
{
    k->ending = true;
    process_terminate(k->process, grace_ms, "api", killing_on_ended, k);
}

static void killing_on_exit(void *arg, struct process *p)
{
    struct fly_kill_killing *k = arg;

    (void)p;
    if (!k->ending)
        killing_end(k, k->timeout_ms + SLACK_MS);
}

static void killing_on_timer(struct timer *t, void *arg)
{
    struct fly_kill_killing *k = arg;

    (void)t;
    send_event(k, "timeout", "still running; killing it", 0);
    send_event(k, "killed", "killing the whole process tree", SIGKILL);
    if (k->ending)
        process_terminate(k->process, 0, "api", NULL, NULL);
    else
        killing_end(k, 0);
}

/* The next worker does not know the client. */
static void killing_drain(struct call *c)
{
    struct fly_kill_killing *k = list_entry(c, struct fly_kill_killing, call);

    if (c->out == NULL)
        return;
    send_event(k, "error", "the daemon is shutting down; check whether the session has ended", 0);
    call_stream_detach(c);
}

static const struct call_kind killing_kind = {
    .release = killing_release,
    .stays = true,
    .drain = killing_drain,
};

/* --- start ----------------------------------------------------------------------------------- */

static struct fly_kill_killing *killing_new(struct http_request *rq, struct process *p,
                                            int64_t timeout_ms)
{
    struct fly_kill_killing *k = call_begin(rq, &killing_kind, sizeof *k);

    k->process = process_ref(p);
    k->timeout_ms = timeout_ms;
    k->timer = timer_new(k->call.base->loop, killing_on_timer, k);
    list_init(&k->waiter.link);
    k->waiter.fn = killing_on_exit;
    k->waiter.arg = k;
    call_stream(&k->call, 200, "application/x-ndjson");
    return k;
}

static void killing_begin(struct http_request *rq, struct process *p, int signum,
                          int64_t timeout_ms)
{
    struct fly_kill_killing *k = killing_new(rq, p, timeout_ms);

    if (process_is_running(p))
        send_event(k, "signal", "signalling the session", signum);
    if (signum == SIGTERM || signum == SIGKILL || !process_is_running(p)) {
        if (signum != SIGKILL)
            timer_start(k->timer, (uint64_t)timeout_ms);
        killing_end(k, signum == SIGKILL ? 0 : timeout_ms + SLACK_MS);
        return;
    }
    timer_start(k->timer, (uint64_t)timeout_ms);
    process_wait_exit(p, &k->waiter);
    (void)process_signal(p, signum, check_signal_target_for(signum, p), NULL, NULL, NULL);
}

/* "10s" as Go writes it, or seconds. */
static bool timeout_of(const char *text, int64_t *ms)
{
    int64_t seconds;

    if (text_to_i64(text, 0, LIMIT_DURATION_MS / 1000, &seconds)) {
        *ms = seconds * 1000;
        return true;
    }
    return fly_duration(text, ms);
}

void fly_sprite_kill(struct http_request *rq)
{
    struct process *p = fly_session(rq, http_param(rq, "id"));
    const char *signal = http_query(rq, "signal"), *timeout = http_query(rq, "timeout");
    int signum = signal != NULL ? signal_from_name(signal) : SIGTERM;
    int64_t timeout_ms = FLY_KILL_MS;
    struct hf_error err = {0};

    if (p == NULL)
        return;
    if (signum < 1)
        hf_fail_field(&err, HF_E_bad_signal, "signal", "unknown signal %.40s", signal);
    else if (timeout != NULL && !timeout_of(timeout, &timeout_ms))
        hf_fail_field(&err, HF_E_bad_query, "timeout", "timeout must be a time such as 10s");
    else
        (void)check_signal_role(SIGKILL, http_role(rq), &err);
    if (err.code != HF_OK)
        http_reply_error(rq, &err);
    else
        killing_begin(rq, p, signum, timeout_ms);
}

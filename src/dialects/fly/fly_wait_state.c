/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_wait_state.c - GET …/wait: waits until the machine is in a state
 *
 * The machine is always started and ends with the daemon, so a wait for any other state always
 * times out. Layer: dialects.
 */
#include <string.h>

#include "base/text.h"
#include "dialects/common/call.h"
#include "dialects/fly/fly.h"
#include "dialects/fly/fly_limits.h"

struct await {
    struct call call;
    struct fly *fly;
    struct timer *timer;
    int64_t timeout_s;
    const char *state; /* static */
};

static void await_release(struct call *c)
{
    struct await *w = (struct await *)c;

    timer_close(w->timer);
    w->fly->waits--;
}

static const struct call_kind await_kind = {.release = await_release};

static void await_on_timer(struct timer *t, void *arg)
{
    struct await *w = arg;
    struct hf_error err = {0};

    (void)t;
    hf_fail(&err, HF_E_request_timeout, "the machine was not %s within %lld s", w->state,
            (long long)w->timeout_s);
    call_fail(&w->call, &err);
}

static void await_begin(struct http_request *rq, const char *state, int64_t timeout_s)
{
    struct await *w = call_begin(rq, &await_kind, sizeof *w);

    w->fly = fly_of(rq);
    w->fly->waits++;
    w->timeout_s = timeout_s;
    w->state = state;
    w->timer = timer_new(w->fly->base.loop, await_on_timer, w);
    timer_start(w->timer, (uint64_t)timeout_s * 1000);
}

static const char *state_of(const char *name)
{
    static const char *const names[] = {"started", "stopped", "suspended", "destroyed", NULL};

    for (size_t i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], name) == 0)
            return names[i];
    return NULL;
}

void fly_machine_wait(struct http_request *rq)
{
    const char *requested = http_query(rq, "state"), *timeout = http_query(rq, "timeout");
    const char *state = state_of(requested != NULL ? requested : "started");
    int64_t timeout_s = FLY_WAIT_MAX_S;
    struct hf_error err = {0};
    struct json_out o;

    if (!fly_machine(rq))
        return;
    if (state == NULL)
        hf_fail_field(&err, HF_E_bad_query, "state",
                      "state must be started, stopped, suspended or destroyed");
    else if (timeout != NULL && !text_to_i64(timeout, 1, FLY_WAIT_MAX_S, &timeout_s))
        hf_fail_field(&err, HF_E_bad_query, "timeout", "timeout must be from 1 to %d seconds",
                      FLY_WAIT_MAX_S);
    if (state == NULL || err.code != HF_OK) {
        http_reply_error(rq, &err);
    } else if (strcmp(state, "started") == 0) {
        o = dialect_reply_open(dialect_base_of(rq));
        json_kbool(&o, "ok", true);
        dialect_reply_send(rq, 200, &o);
    } else if (fly_admit(rq)) {
        await_begin(rq, state, timeout_s);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_wait_state.c - GET …/wait: waits until the machine is in a state
 *
 * The machine is always started and ends with the daemon, so a wait for any other state always
 * times out. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/fly/fly.h"

struct await {
    struct pending pending;
    struct http_request *rq;
    struct fly *fly;
    struct timer *timer;
    int64_t timeout_s;
    char state[16];
};

static void await_free(struct pending *p)
{
    struct await *w = list_entry(p, struct await, pending);

    timer_close(w->timer);
    w->fly->waits--;
    pending_fini(p);
    free(w);
}

static void await_on_disconnect(void *user)
{
    await_free(&((struct await *)user)->pending);
}

static void await_fail(struct await *w, const struct hf_error *err)
{
    fly_error(w->rq, err);
    await_free(&w->pending);
}

static void await_on_timer(struct timer *t, void *arg)
{
    struct await *w = arg;
    struct hf_error err = {0};

    (void)t;
    hf_fail(&err, HF_E_request_timeout, "the machine was not %s within %lld s", w->state,
            (long long)w->timeout_s);
    await_fail(w, &err);
}

static void await_drain(struct pending *p)
{
    struct hf_error err = {0};

    hf_fail(&err, HF_E_shutting_down, "the daemon is shutting down; try again");
    await_fail(list_entry(p, struct await, pending), &err);
}

static const struct pending_kind await_kind = {.drain = await_drain, .free = await_free};

static void await_begin(struct http_request *rq, const char *state, int64_t timeout_s)
{
    struct fly *f = fly_of(rq);
    struct await *w = hf_xalloc(sizeof *w);

    w->rq = rq;
    w->fly = f;
    w->timeout_s = timeout_s;
    memcpy(w->state, state, strlen(state)); /* one of the names below */
    w->timer = timer_new(f->loop, await_on_timer, w);
    f->waits++;
    pending_init(&w->pending, &f->pending, &await_kind);
    http_set_user(rq, w, await_on_disconnect);
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
        fly_error(rq, &err);
    } else if (strcmp(state, "started") == 0) {
        o = fly_reply(fly_of(rq));
        json_kbool(&o, "ok", true);
        fly_send(rq, 200, &o);
    } else if (fly_admit(rq)) {
        await_begin(rq, state, timeout_s);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_kill.c - DELETE /api/process/{id} and kill-all: whole trees; the reply comes when they have
 * ended. Layer: dialects.
 */
#include <stdio.h>

#include "dialects/cloudflare/cf_exec.h"
#include "dialects/cloudflare/cf_session.h"

struct cf_kill {
    struct call call;
    struct process *one; /* referenced; NULL: all */
    size_t open, ended;
};

/* The terminations continue without their call. */
static void kill_release(struct call *c)
{
    struct cf_kill *k = (struct cf_kill *)c;
    struct process *p = NULL;

    while (k->open > 0 && (p = engine_next_all(c->base->engine, p)) != NULL)
        process_end_cancel(p, k);
    process_unref(k->one);
}

static const struct call_kind kill_kind = {.release = kill_release, .drain = cf_drain};

static void kill_on_end(void *arg, struct process *p, const struct survivors *s)
{
    struct cf_kill *k = arg;
    struct json_out o;

    (void)p, (void)s;
    k->ended++;
    if (--k->open > 0)
        return;
    o = cf_ok(&k->call);
    if (k->one != NULL)
        json_kstr(&o, "processId", cf_process_id((struct cf *)k->call.base, k->one));
    else
        json_ku64(&o, "cleanedCount", k->ended - 1);
    cf_send(&k->call, 200, &o);
}

static void kill_add(struct cf_kill *k, struct process *p)
{
    k->open++;
    process_terminate(p, -1, "api", kill_on_end, k);
}

void cf_process_kill(struct cf_request *q)
{
    struct process *p = cf_process_of(q);
    struct cf_kill *k;
    char text[200];

    if (p == NULL)
        return;
    if (!process_is_running(p)) {
        snprintf(text, sizeof text, "Process %.150s has already ended", cf_param(q, "id"));
        cf_fail_about(cf_call(q), 404, "COMMAND_NOT_FOUND", text, "processId", cf_param(q, "id"));
        return;
    }
    k = cf_begin(q, &kill_kind, sizeof *k);
    k->one = process_ref(p);
    kill_add(k, p);
}

/* Terminals are not processes in the platform's sense, and the shells of sessions even less so. */
void cf_process_kill_all(struct cf_request *q)
{
    struct cf_kill *k = cf_begin(q, &kill_kind, sizeof *k);
    struct process *p = NULL;

    k->open = 1; /* for this loop, so that it does not finish before */
    while ((p = engine_next(q->cf->base.engine, p)) != NULL) {
        struct process_view v;

        process_view(p, &v);
        if (v.running && !v.pty && !cf_is_shell(q->cf, p))
            kill_add(k, p);
    }
    kill_on_end(k, NULL, NULL);
}

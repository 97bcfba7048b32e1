/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_kill.c - DELETE /api/process/{id} and kill-all: whole trees; the reply comes when they have
 * ended. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "dialects/cloudflare/cf_exec.h"
#include "dialects/cloudflare/cf_session.h"

struct cf_kill_shutdown {
    struct cf_call *call;   /* NULL: the client has disconnected */
    struct pending pending; /* in cf.works: the engine calls back for each */
    struct process *one;    /* referenced; NULL: all */
    size_t open, ended;
};

static void ending_free(struct pending *p)
{
    struct cf_kill_shutdown *e = list_entry(p, struct cf_kill_shutdown, pending);

    pending_fini(p);
    process_unref(e->one);
    free(e);
}

static const struct pending_kind ending_kind = {.drain = NULL, .free = ending_free};

static void ending_closed(void *arg, enum cf_close_reason why)
{
    struct cf_kill_shutdown *e = arg;

    (void)why;
    e->call = NULL;
}

static const struct cf_wait_ops ending_ops = {.closed = ending_closed};

static void ending_reply(struct cf_kill_shutdown *e)
{
    struct json_out o = cf_ok(e->call);

    if (e->one != NULL)
        json_kstr(&o, "processId", cf_process_id(cf_call_cf(e->call), e->one));
    else
        json_ku64(&o, "cleanedCount", e->ended);
    cf_send(e->call, 200, &o);
}

static void kill_step(struct cf_kill_shutdown *e)
{
    if (e->open > 0)
        return;
    if (e->call != NULL)
        ending_reply(e);
    ending_free(&e->pending);
}

static void ending_on_end(void *arg, struct process *p, const struct survivors *s)
{
    struct cf_kill_shutdown *e = arg;

    (void)p, (void)s;
    e->open--;
    e->ended++;
    kill_step(e);
}

static struct cf_kill_shutdown *ending_new(struct cf_call *c)
{
    struct cf_kill_shutdown *e = hf_xalloc(sizeof *e);

    e->call = c;
    pending_init(&e->pending, &cf_call_cf(c)->works, &ending_kind);
    cf_wait(c, &ending_ops, e);
    return e;
}

static void ending_add(struct cf_kill_shutdown *e, struct process *p)
{
    e->open++;
    process_terminate(p, -1, "api", ending_on_end, e);
}

void cf_process_kill(struct cf_call *c)
{
    struct process *p = cf_process_of(c);
    struct cf_kill_shutdown *e;
    char text[200];

    if (p == NULL)
        return;
    if (!process_is_running(p)) {
        snprintf(text, sizeof text, "Process %.150s has already ended", cf_param(c, "id"));
        cf_fail_about(c, 404, "COMMAND_NOT_FOUND", text, "processId", cf_param(c, "id"));
        return;
    }
    e = ending_new(c);
    e->one = process_ref(p);
    ending_add(e, p);
}

/* Terminals are not processes in the platform's sense, and the shells of sessions even less so. */
void cf_process_kill_all(struct cf_call *c)
{
    struct cf *cf = cf_call_cf(c);
    struct cf_kill_shutdown *e = ending_new(c);
    struct process *p = NULL;

    e->open = 1; /* so that it does not finish while it is being filled */
    while ((p = engine_next(cf->base.engine, p)) != NULL) {
        struct process_view v;

        process_view(p, &v);
        if (v.running && !v.pty && !cf_is_shell(cf, p))
            ending_add(e, p);
    }
    e->open--;
    kill_step(e);
}

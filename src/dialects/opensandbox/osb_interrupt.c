/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_interrupt.c - DELETE /command and DELETE /pty/{id}: kills a process tree, or ends a session
 *
 * The reply is sent when they have ended. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/opensandbox/opensandbox_limits.h"
#include "dialects/opensandbox/osb.h"
#include "dialects/opensandbox/osb_terminal.h"
#include "engine/session/session.h"

struct osb_ending {
    struct call call;
    struct process *process; /* referenced; NULL: a session */
    char *tag;               /* drop the records with this tag; NULL: keep the record */
};

static void ending_release(struct call *c)
{
    struct osb_ending *e = (struct osb_ending *)c;

    process_unref(e->process);
    free(e->tag);
}

/* The termination continues under the next worker; the client has to check. */
static void ending_drain(struct call *c)
{
    if (c->rq != NULL)
        osb_refuse(c->rq, 503, "RUNTIME_ERROR",
                   "the daemon is shutting down; the requested operation continues");
    c->rq = NULL;
}

static const struct call_kind ending_kind = {
    .release = ending_release,
    .stays = true,
    .drain = ending_drain,
};

static void ending_on_end(void *arg, struct process *p, const struct survivors *s)
{
    struct osb_ending *e = arg;

    (void)s;
    if (e->tag != NULL)
        osb_pty_forget((struct osb *)e->call.base, p, e->tag);
    call_send_empty(&e->call, 200);
}

static void ending_on_session(void *arg, const struct survivors *s, size_t ended)
{
    struct osb_ending *e = arg;

    (void)s, (void)ended;
    call_send_empty(&e->call, 200);
}

static void end_process(struct http_request *rq, struct process *p, int64_t grace_ms,
                        const char *tag)
{
    struct osb_ending *e = call_begin(rq, &ending_kind, sizeof *e);

    e->process = process_ref(p);
    e->tag = hf_xstrdup(tag);
    if (tag != NULL)
        process_delete(p, grace_ms, "api", ending_on_end, e);
    else
        process_terminate(p, grace_ms, "api", ending_on_end, e);
}

static void end_session(struct http_request *rq, struct session *s)
{
    session_delete(s, 0, ending_on_session,
                   call_begin(rq, &ending_kind, sizeof(struct osb_ending)));
}

void osb_command_delete(struct http_request *rq)
{
    const char *id = http_query(rq, "id");
    struct process *p;
    struct session *s;

    if (id == NULL || id[0] == '\0') {
        osb_refuse(rq, 400, "MISSING_QUERY", "the query must have an id");
        return;
    }
    p = osb_find(rq, id, NULL);
    s = p == NULL ? session_find(dialect_base_of(rq)->engine, id, NULL) : NULL;
    if (s != NULL)
        end_session(rq, s);
    else if (p != NULL && process_is_running(p))
        end_process(rq, p, OSB_KILL_GRACE_MS, NULL);
    else
        osb_refuse(rq, 500, "RUNTIME_ERROR",
                   p != NULL ? "the command has ended" : "no command has this id");
}

void osb_session_delete(struct http_request *rq)
{
    struct hf_error err;
    struct session *s = session_find(dialect_base_of(rq)->engine, http_param(rq, "id"), &err);

    if (s != NULL)
        end_session(rq, s);
    else
        osb_error(rq, &err);
}

void osb_pty_delete(struct http_request *rq)
{
    struct process *p = osb_process(rq);
    struct osb_terminal *t;
    struct process_view v;

    if (p == NULL)
        return;
    process_view(p, &v);
    t = v.tag != NULL ? osb_terminal_holder(osb_of(rq), v.tag) : NULL;
    if (t != NULL)
        t->removed = true; /* a shell that is still starting is terminated afterwards */
    end_process(rq, p, 0, v.tag != NULL ? v.tag : "");
}

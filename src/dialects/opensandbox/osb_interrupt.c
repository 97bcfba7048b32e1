/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_interrupt.c - DELETE /command and DELETE /pty/{id}: kills a process tree, or ends a session
 *
 * The reply is sent when they have ended. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/opensandbox/osb.h"
#include "dialects/opensandbox/osb_terminal.h"
#include "engine/session/session.h"

struct osb_interrupt_shutdown {
    struct pending pending;
    struct osb *osb;
    struct http_request *rq; /* NULL: the client has disconnected */
    struct process *process; /* referenced; NULL: a session */
    char *tag;               /* drop the records with this tag; NULL: keep the record */
};

static void ending_free(struct pending *p)
{
    struct osb_interrupt_shutdown *e = list_entry(p, struct osb_interrupt_shutdown, pending);

    process_unref(e->process);
    pending_fini(p);
    free(e->tag);
    free(e);
}

/* The termination continues under the next worker; the client has to check. */
static void ending_drain(struct pending *p)
{
    struct osb_interrupt_shutdown *e = list_entry(p, struct osb_interrupt_shutdown, pending);
    struct http_request *rq = e->rq;

    e->rq = NULL;
    if (rq != NULL) {
        http_set_user(rq, NULL, NULL);
        osb_refuse(rq, 503, "RUNTIME_ERROR",
                   "the daemon is shutting down; the requested operation continues");
    }
}

static const struct pending_kind ending_kind = {.drain = ending_drain, .free = ending_free};

static void ending_on_disconnect(void *user)
{
    struct osb_interrupt_shutdown *e = user;

    e->rq = NULL;
}

static void ending_done(struct osb_interrupt_shutdown *e)
{
    if (e->tag != NULL)
        osb_pty_forget(e->osb, e->process, e->tag);
    if (e->rq != NULL) {
        http_set_user(e->rq, NULL, NULL);
        http_reply_empty(e->rq, 200);
    }
    ending_free(&e->pending);
}

static void ending_on_end(void *arg, struct process *p, const struct survivors *s)
{
    (void)p, (void)s;
    ending_done(arg);
}

static void ending_on_session(void *arg, const struct survivors *s, size_t ended)
{
    (void)s, (void)ended;
    ending_done(arg);
}

static struct osb_interrupt_shutdown *ending_new(struct http_request *rq)
{
    struct osb_interrupt_shutdown *e = hf_xalloc(sizeof *e);

    e->osb = osb_of(rq);
    e->rq = rq;
    http_set_user(rq, e, ending_on_disconnect);
    pending_init(&e->pending, &e->osb->pending, &ending_kind);
    return e;
}

static void end_process(struct http_request *rq, struct process *p, int64_t grace_ms,
                        const char *tag)
{
    struct osb_interrupt_shutdown *e = ending_new(rq);

    e->process = process_ref(p);
    e->tag = hf_xstrdup(tag);
    if (tag != NULL)
        process_delete(p, grace_ms, "api", ending_on_end, e);
    else
        process_terminate(p, grace_ms, "api", ending_on_end, e);
}

static void end_session(struct http_request *rq, struct session *s)
{
    session_delete(s, 0, ending_on_session, ending_new(rq));
}

void osb_command_delete(struct http_request *rq)
{
    struct osb *o = osb_of(rq);
    const char *id = http_query(rq, "id");
    struct process *p;
    struct session *s;

    if (id == NULL || id[0] == '\0') {
        osb_refuse(rq, 400, "MISSING_QUERY", "the query must have an id");
        return;
    }
    p = osb_find(o, id, NULL);
    s = p == NULL ? session_find(o->engine, id, NULL) : NULL;
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
    struct session *s = session_find(osb_of(rq)->engine, http_param(rq, "id"), &err);

    if (s != NULL)
        end_session(rq, s);
    else
        osb_error(rq, &err);
}

void osb_pty_delete(struct http_request *rq)
{
    struct hf_error err;
    struct process *p = osb_find(osb_of(rq), http_param(rq, "id"), &err);
    struct osb_terminal *t;
    struct process_view v;

    if (p == NULL) {
        osb_error(rq, &err);
        return;
    }
    process_view(p, &v);
    t = v.tag != NULL ? osb_terminal_holder(osb_of(rq), v.tag) : NULL;
    if (t != NULL)
        t->removed = true; /* a shell that is still starting is terminated afterwards */
    end_process(rq, p, 0, v.tag != NULL ? v.tag : "");
}

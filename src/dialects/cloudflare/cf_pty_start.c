/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_pty_start.c - selects the terminal for a client of the stable generation, and starts it if
 * necessary
 *
 * Clients that arrive while it is being started wait for the same terminal. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/cloudflare/cf_pty.h"
#include "dialects/common/call.h"

/* --- the terminal of a session ---------------------------------------------------------------- */

/* Clients that wait for a terminal that is being started. */
struct cf_pty_start {
    struct call call; /* unattended */
    struct list link; /* in cf.starts */
    char *session;    /* NULL: for this connection alone */
    struct cf_launch *launch;
    struct list waiting; /* struct waiter */
};

struct waiter {
    struct call call;
    struct list link;
};

static void waiter_release(struct call *c)
{
    list_remove(&((struct waiter *)c)->link);
}

static void waiter_drain(struct call *c)
{
    cf_refuse_text(call_end(c), 503, "the daemon is shutting down; reconnect");
}

static const struct call_kind waiter_kind = {.release = waiter_release, .drain = waiter_drain};

static void start_release(struct call *c)
{
    struct cf_pty_start *s = (struct cf_pty_start *)c;

    while (!list_is_empty(&s->waiting))
        list_remove(s->waiting.next);
    list_remove(&s->link);
    free(s->session);
}

static const struct call_kind start_kind = {.release = start_release, .stays = true};

static void start_done(void *arg, struct process *p, const struct hf_error *err)
{
    struct cf_pty_start *s = arg;
    bool alone = s->session == NULL;

    /* No client could ever reach it. */
    if (p != NULL && alone && list_is_empty(&s->waiting))
        process_terminate(p, -1, "detach", NULL, NULL);
    while (!list_is_empty(&s->waiting)) {
        struct waiter *w = list_entry(s->waiting.next, struct waiter, link);
        struct http_request *rq = call_end(&w->call);

        if (p != NULL)
            cf_pty_attach(rq, p, alone);
        else
            cf_refuse_socket(rq, 1011, err->detail);
    }
    call_end(&s->call);
}

static void start_wait(struct cf_pty_start *s, struct http_request *rq)
{
    struct waiter *w = call_begin(rq, &waiter_kind, sizeof *w);

    list_append(&s->waiting, &w->link);
}

static void start_begin(struct http_request *rq, const char *session, struct cf_launch_request *a)
{
    struct cf *cf = cf_of(rq);
    struct cf_pty_start *s = hf_xalloc(sizeof *s);

    s->session = hf_xstrdup(session);
    list_init(&s->waiting);
    list_append(&cf->starts, &s->link);
    call_adopt_unattended(&s->call, &cf->base, &start_kind);
    start_wait(s, rq);
    a->pty = true;
    a->impatient = true;
    a->rows = 24;
    a->cols = 80;
    a->shell = http_query(rq, "shell");
    if (a->shell != NULL && a->shell[0] == '\0')
        a->shell = NULL;
    cf_query_size(rq, &a->cols, &a->rows);
    cf_launch(cf, a, start_done, s, &s->launch);
}

static struct cf_pty_start *start_find(struct cf *cf, const char *session)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &cf->starts) {
        struct cf_pty_start *s = list_entry(it, struct cf_pty_start, link);
        if (s->session != NULL && strcmp(s->session, session) == 0)
            return s;
    }
    return NULL;
}

static struct process *session_terminal(struct cf *cf, const char *session)
{
    struct process *p = NULL;

    while ((p = engine_next(cf->base.engine, p)) != NULL) {
        struct process_view v;

        process_view(p, &v);
        if (v.running && v.pty && v.session_id != NULL && strcmp(v.session_id, session) == 0 &&
            strcmp(v.metadata_json, CF_TERMINAL_METADATA) == 0)
            return p;
    }
    return NULL;
}

static bool may_start(struct http_request *rq)
{
    if (http_role(rq) == ROLE_OWN)
        return true;
    cf_refuse_socket(rq, 1008, "there is no terminal yet, and this token may not start one");
    return false;
}

void cf_pty_session(struct http_request *rq, const char *session)
{
    struct cf *cf = cf_of(rq);
    struct process *p = session_terminal(cf, session);
    struct cf_pty_start *s = start_find(cf, session);
    struct cf_launch_request a = {.session = session, .metadata = CF_TERMINAL_METADATA};

    if (p != NULL)
        cf_pty_attach(rq, p, false);
    else if (s != NULL)
        start_wait(s, rq);
    else if (may_start(rq))
        start_begin(rq, session, &a);
}

void cf_pty_alone(struct http_request *rq, const char *group)
{
    struct cf_launch_request a = {.group = group, .kill_on_detach = true};

    if (may_start(rq))
        start_begin(rq, NULL, &a);
}

/* A session's id, or that of any terminal of the daemon. */
void cf_pty(struct http_request *rq)
{
    const char *id = http_query(rq, "sessionId");
    struct process *p;
    struct process_view v;

    if (id == NULL || id[0] == '\0') {
        cf_refuse_text(rq, 400, "sessionId query parameter required");
        return;
    }
    p = engine_find(cf_of(rq)->base.engine, id, NULL);
    if (p == NULL) {
        cf_pty_session(rq, id);
        return;
    }
    process_view(p, &v);
    if (v.pty)
        cf_pty_attach(rq, p, false);
    else
        cf_refuse_socket(rq, 1011, "this process has no terminal");
}

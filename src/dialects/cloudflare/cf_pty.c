/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_pty.c - GET /ws/pty: selects the terminal for a client of the stable generation, and starts it
 * if necessary
 *
 * Clients that arrive while it is being started wait for the same terminal. The original keeps the
 * dead terminal of an ended shell for ever; here the next client gets a new shell. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/cloudflare/cf_launch.h"
#include "dialects/common/call.h"

/* --- the terminal of a session ---------------------------------------------------------------- */

/* A client that waits for a terminal. The first starts it, and stays although it disconnects. */
struct cf_pty_client {
    struct call call;
    struct list link; /* in cf.starts */
    char *session;    /* NULL: for this connection alone */
    struct cf_launch *launch;
};

static void client_release(struct call *c)
{
    struct cf_pty_client *w = (struct cf_pty_client *)c;

    list_remove(&w->link);
    free(w->session);
}

static void client_drain(struct call *c)
{
    struct http_request *rq = call_detach(c);

    if (rq != NULL)
        cf_refuse_text(rq, 503, "the daemon is shutting down; reconnect");
    if (!c->kind->stays)
        call_end(c);
}

static const struct call_kind client_kind = {.release = client_release, .drain = client_drain};
static const struct call_kind first_kind = {
    .release = client_release, .drain = client_drain, .stays = true};

static struct cf_pty_client *client_new(struct http_request *rq, const char *session,
                                        const struct call_kind *kind)
{
    struct cf_pty_client *w = call_begin(rq, kind, sizeof *w);

    w->session = hf_xstrdup(session);
    list_append(&cf_of(rq)->starts, &w->link);
    return w;
}

static bool is_for(const struct cf_pty_client *w, const char *session)
{
    return w->session != NULL && session != NULL && strcmp(w->session, session) == 0;
}

static void client_attach(struct cf_pty_client *w, struct process *p, const struct hf_error *err,
                          bool alone)
{
    struct http_request *rq = call_end(&w->call);

    if (rq == NULL && p != NULL && alone) /* no client could ever reach it */
        process_terminate(p, -1, "detach", NULL, NULL);
    else if (rq != NULL && p != NULL)
        cf_terminal_attach(rq, p, alone);
    else if (rq != NULL)
        cf_refuse_socket(rq, 1011, err->detail);
}

static void start_done(void *arg, struct process *p, const struct hf_error *err)
{
    struct cf_pty_client *first = arg;
    struct list *all = &((struct cf *)first->call.base)->starts, *it, *tmp;
    hf_autofree char *session = hf_xstrdup(first->session);

    list_for_each (it, tmp, all) {
        struct cf_pty_client *w = list_entry(it, struct cf_pty_client, link);

        if (w == first || is_for(w, session))
            client_attach(w, p, err, session == NULL);
    }
}

static void start_begin(struct http_request *rq, const char *session, struct cf_launch_request *a)
{
    struct cf_pty_client *first = client_new(rq, session, &first_kind);

    a->pty = true;
    a->impatient = true;
    a->rows = 24;
    a->cols = 80;
    a->shell = http_query(rq, "shell");
    if (a->shell != NULL && a->shell[0] == '\0')
        a->shell = NULL;
    cf_query_size(rq, &a->cols, &a->rows);
    cf_launch(cf_of(rq), a, start_done, first, &first->launch);
}

static bool is_starting(struct cf *cf, const char *session)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &cf->starts)
        if (is_for(list_entry(it, struct cf_pty_client, link), session))
            return true;
    return false;
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
    struct cf_launch_request a = {.session = session, .metadata = CF_TERMINAL_METADATA};

    if (p != NULL)
        cf_terminal_attach(rq, p, false);
    else if (is_starting(cf, session))
        client_new(rq, session, &client_kind);
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
        cf_terminal_attach(rq, p, false);
    else
        cf_refuse_socket(rq, 1011, "this process has no terminal");
}

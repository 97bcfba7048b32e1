/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_session.c - sessions: created on demand or by name, listed, deleted. Layer: dialects.
 */
#include "dialects/cloudflare/cf_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/cloudflare/cf_wire.h"
#include "dialects/common/spawn_decode.h"

/* The next worker must know it too, so it is stored with the session's variables. */
#define TIMEOUT_VARIABLE "SANDBOX_COMMAND_TIMEOUT_MS"
#define DELETE_GRACE_MS 500

/* --- what a session consists of ---------------------------------------------------------- */

int cf_env(const json_t *env, size_t more, struct spec_env **out, size_t *count,
           struct hf_error *err)
{
    struct spec_env *requested = NULL;
    const char *name;
    json_t *value;
    int rc = 0;

    *count = 0;
    *out = NULL;
    json_object_foreach ((json_t *)(uintptr_t)env, name, value) {
        (void)value;
        if (!cf_is_name(name))
            return hf_fail_field(err, HF_E_bad_value, "env", "'%.40s' is not a valid variable name",
                                 name);
    }
    if (env != NULL)
        rc = spawn_request_env(env, &requested, count, err);
    if (rc == 0) {
        *out = hf_xalloc((*count + more + 1) * sizeof **out);
        if (*count > 0)
            memcpy(*out, requested, *count * sizeof **out);
    }
    free(requested);
    return rc;
}

static void env_default(struct spec_env *env, size_t *count, const char *name, const char *value)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(env[i].name, name) == 0)
            return;
    env[(*count)++] = (struct spec_env){name, value};
}

int64_t cf_session_timeout(const struct session *s)
{
    const struct session_spec *d = session_definition(s);
    int64_t ms = 0;

    for (size_t i = 0; i < d->env_count; i++)
        if (strcmp(d->env[i].name, TIMEOUT_VARIABLE) == 0 && d->env[i].value != NULL)
            (void)text_to_i64(d->env[i].value, 0, LIMIT_DURATION_MS, &ms);
    return ms;
}

bool cf_is_shell(struct cf *cf, struct process *p)
{
    struct process_view v;
    struct session *s;

    process_view(p, &v);
    if (v.session_id == NULL || v.source != SOURCE_SYSTEM)
        return false;
    s = session_find(cf->base.engine, v.session_id, NULL);
    return s != NULL && !session_has_process(s, p);
}

/* --- create --------------------------------------------------------------------------------- */

struct cf_session_creation {
    struct pending pending; /* in cf.works */
    struct list link;       /* in cf.makings */
    struct cf *cf;
    char *id, *cwd;
    json_t *env;
    int64_t timeout_ms;
    bool nowhere; /* the workspace does not exist */
    struct task again;
    struct list wants;
};

static void making_free(struct pending *p)
{
    struct cf_session_creation *m = list_entry(p, struct cf_session_creation, pending);

    while (!list_is_empty(&m->wants))
        list_remove(m->wants.next);
    task_cancel(&m->again);
    list_remove(&m->link);
    pending_fini(p);
    json_decref(m->env);
    free(m->id);
    free(m->cwd);
    free(m);
}

static const struct pending_kind making_kind = {.drain = NULL, .free = making_free};

/* Waiters may free themselves or cancel others. */
static void making_over(struct cf_session_creation *m, struct session *s,
                        const struct hf_error *err)
{
    while (!list_is_empty(&m->wants)) {
        struct cf_want *w = list_entry(m->wants.next, struct cf_want, link);

        list_remove(&w->link);
        w->fn(w->arg, s, err);
    }
    making_free(&m->pending);
}

static int making_begin(struct cf_session_creation *m, struct hf_error *err);

static void making_on_done(void *arg, struct session *s, const struct hf_error *err)
{
    struct cf_session_creation *m = arg;

    if (s == NULL && m->cwd == NULL && !m->nowhere && strcmp(err->path, CF_WORKSPACE) == 0) {
        m->nowhere = true;
        loop_defer(m->cf->base.loop,
                   &m->again); /* the first must have ended before the second starts */
        return;
    }
    making_over(m, s, err);
}

static int making_begin(struct cf_session_creation *m, struct hf_error *err)
{
    struct session_spec spec = {.id = m->id, .cwd = m->cwd};
    struct spec_env *env;
    char timeout[24];
    size_t count;
    int rc = cf_env(m->env, 3, &env, &count, err);

    if (rc == 0) {
        if (spec.cwd == NULL && !m->nowhere)
            spec.cwd = CF_WORKSPACE;
        env_default(env, &count, "LANG", "C.UTF-8");
        env_default(env, &count, "LC_ALL", "C.UTF-8");
        snprintf(timeout, sizeof timeout, "%lld", (long long)m->timeout_ms);
        if (m->timeout_ms > 0)
            env_default(env, &count, TIMEOUT_VARIABLE, timeout);
        spec.env = env;
        spec.env_count = count;
        rc = session_create(m->cf->base.engine, &spec, making_on_done, m, err);
    }
    free(env);
    return rc;
}

static void making_again(void *arg)
{
    struct cf_session_creation *m = arg;
    struct hf_error err;

    if (making_begin(m, &err) < 0)
        making_over(m, NULL, &err);
}

static struct cf_session_creation *making_find(const struct cf *cf, const char *id)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &cf->makings) {
        struct cf_session_creation *m = list_entry(it, struct cf_session_creation, link);
        if (m->id != NULL && strcmp(m->id, id) == 0)
            return m;
    }
    return NULL;
}

void cf_session_make(struct cf *cf, const struct cf_session_request *request, struct cf_want *w)
{
    struct cf_session_creation *m = hf_xalloc(sizeof *m);

    m->cf = cf;
    m->again = (struct task){.fn = making_again, .arg = m};
    m->id = hf_xstrdup(request->id);
    m->cwd = hf_xstrdup(request->cwd);
    m->env = json_incref((json_t *)(uintptr_t)request->env);
    m->timeout_ms = request->timeout_ms;
    list_init(&m->wants);
    list_append(&m->wants, &w->link);
    list_append(&cf->makings, &m->link);
    pending_init(&m->pending, &cf->works, &making_kind);
    making_again(m);
}

void cf_session_want(struct cf *cf, const char *id, struct cf_want *w)
{
    const struct cf_session_request request = {.id = id};
    struct session *s = session_find(cf->base.engine, id, NULL);
    struct cf_session_creation *m = making_find(cf, id);

    list_init(&w->link);
    if (s != NULL)
        w->fn(w->arg, s, NULL);
    else if (m != NULL)
        list_append(&m->wants, &w->link);
    else
        cf_session_make(cf, &request, w);
}

void cf_want_cancel(struct cf_want *w)
{
    if (w->link.next != NULL)
        list_remove(&w->link);
}

/* --- POST /api/session/create ----------------------------------------------------------------- */

struct creation {
    struct cf_call *call;
    struct cf_want want;
    struct cf_session_request request; /* of the call's body */
    struct session *dead;              /* its shell has ended: delete it first */
    struct task next;
};

static void creation_closed(void *arg, enum cf_close_reason why)
{
    struct creation *n = arg;

    (void)why;
    if (n->dead != NULL)
        session_delete_leave(n->dead, n);
    task_cancel(&n->next);
    cf_want_cancel(&n->want);
    free(n);
}

static const struct cf_wait_ops creation_ops = {.closed = creation_closed};

static void creation_done(void *arg, struct session *s, const struct hf_error *err)
{
    struct creation *n = arg;
    struct cf_call *c = n->call;
    const char *id = n->request.id;
    struct json_out o;

    free(n);
    if (s == NULL && err->code == HF_E_session_exists) {
        cf_fail_about(c, 409, "SESSION_ALREADY_EXISTS", err->detail, "sessionId", id);
        return;
    }
    if (s == NULL) {
        cf_error(c, err);
        return;
    }
    o = cf_ok(c);
    json_kstr(&o, "id", session_id(s));
    json_key(&o, "data");
    json_open(&o, '{');
    json_close(&o, '}');
    json_knull(&o, "containerPlacementId");
    cf_send(c, 200, &o);
}

static void creation_make(void *arg)
{
    struct creation *n = arg;

    cf_session_make(cf_call_cf(n->call), &n->request, &n->want);
}

/* It still exists until this returns. */
static void creation_on_deleted(void *arg, const struct survivors *v, size_t ended)
{
    struct creation *n = arg;

    (void)v, (void)ended;
    n->dead = NULL;
    loop_defer(cf_call_cf(n->call)->base.loop, &n->next);
}

static bool creation_decode(struct cf_call *c, struct cf_session_request *request)
{
    return cf_body(c) != NULL && cf_text(c, "id", false, &request->id) &&
           cf_text(c, "cwd", false, &request->cwd) &&
           cf_int(c, "commandTimeoutMs", 0, LIMIT_DURATION_MS, &request->timeout_ms) &&
           cf_env_object(c, &request->env);
}

/* A session whose shell has ended does not count as alive: create it again. */
void cf_session_create(struct cf_call *c)
{
    struct cf_session_request request = {0};
    struct creation *n;
    struct session *old;

    if (!creation_decode(c, &request))
        return;
    n = hf_xalloc(sizeof *n);
    n->call = c;
    n->request = request;
    n->want = (struct cf_want){.fn = creation_done, .arg = n};
    n->next = (struct task){.fn = creation_make, .arg = n};
    list_init(&n->want.link);
    cf_wait(c, &creation_ops, n);
    old = request.id != NULL ? session_find(cf_call_cf(c)->base.engine, request.id, NULL) : NULL;
    if (old != NULL && session_shell(old) != NULL && !process_is_running(session_shell(old))) {
        n->dead = old;
        session_delete(old, 0, creation_on_deleted, n);
        return;
    }
    creation_make(n);
}

/* --- list, delete ----------------------------------------------------------------------------- */

void cf_session_list(struct cf_call *c)
{
    struct json_out o = cf_ok(c);
    struct session *s = NULL;

    json_key(&o, "data");
    json_open(&o, '[');
    while ((s = session_next(cf_call_cf(c)->base.engine, s)) != NULL)
        json_str(&o, session_id(s));
    json_close(&o, ']');
    cf_send(c, 200, &o);
}

struct cf_session_deletion {
    struct cf_call *call;
    struct session *session;
    char *id;
};

static void deletion_free(struct cf_session_deletion *d)
{
    free(d->id);
    free(d);
}

static void deletion_closed(void *arg, enum cf_close_reason why)
{
    struct cf_session_deletion *d = arg;

    (void)why;
    session_delete_leave(d->session, d);
    deletion_free(d);
}

static const struct cf_wait_ops deletion_ops = {.closed = deletion_closed};

static void deletion_done(void *arg, const struct survivors *v, size_t ended)
{
    struct cf_session_deletion *d = arg;
    struct json_out o = cf_ok(d->call);

    (void)v, (void)ended;
    json_kstr(&o, "sessionId", d->id);
    cf_send(d->call, 200, &o);
    deletion_free(d);
}

void cf_session_delete(struct cf_call *c)
{
    const char *id = NULL;
    struct cf_session_deletion *d;
    struct session *s;
    char text[160];

    if (cf_body(c) == NULL || !cf_text(c, "sessionId", true, &id))
        return;
    s = session_find(cf_call_cf(c)->base.engine, id, NULL);
    if (s == NULL) {
        snprintf(text, sizeof text, "Session '%.100s' not found", id);
        cf_fail(c, 500, "INTERNAL_ERROR", text);
        return;
    }
    d = hf_xalloc(sizeof *d);
    d->call = c;
    d->session = s;
    d->id = hf_xstrdup(id);
    cf_wait(c, &deletion_ops, d);
    session_delete(s, DELETE_GRACE_MS, deletion_done, d);
}

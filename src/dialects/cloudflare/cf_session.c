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

struct cf_session_making {
    struct call call; /* unattended: those that wait have their own */
    struct list link; /* in cf.makings */
    struct cf *cf;
    char *id, *cwd;
    json_t *env;
    int64_t timeout_ms;
    bool nowhere; /* the workspace does not exist */
    struct task again;
    struct list wants;
};

static void making_release(struct call *c)
{
    struct cf_session_making *m = list_entry(c, struct cf_session_making, call);

    while (!list_is_empty(&m->wants))
        list_remove(m->wants.next);
    task_cancel(&m->again);
    list_remove(&m->link);
    json_decref(m->env);
    free(m->id);
    free(m->cwd);
}

static const struct call_kind making_kind = {.release = making_release, .stays = true};

/* Waiters may free themselves or cancel others. */
static void making_over(struct cf_session_making *m, struct session *s, const struct hf_error *err)
{
    while (!list_is_empty(&m->wants)) {
        struct cf_want *w = list_entry(m->wants.next, struct cf_want, link);

        list_remove(&w->link);
        w->fn(w->arg, s, err);
    }
    call_end(&m->call);
}

static void making_on_done(void *arg, struct session *s, const struct hf_error *err)
{
    struct cf_session_making *m = arg;

    if (s == NULL && m->cwd == NULL && !m->nowhere && strcmp(err->path, CF_WORKSPACE) == 0) {
        m->nowhere = true;
        loop_defer(m->cf->base.loop,
                   &m->again); /* the first must have ended before the second starts */
        return;
    }
    making_over(m, s, err);
}

static int making_begin(struct cf_session_making *m, struct hf_error *err)
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
    struct cf_session_making *m = arg;
    struct hf_error err;

    if (making_begin(m, &err) < 0)
        making_over(m, NULL, &err);
}

static struct cf_session_making *making_find(const struct cf *cf, const char *id)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &cf->makings) {
        struct cf_session_making *m = list_entry(it, struct cf_session_making, link);
        if (m->id != NULL && strcmp(m->id, id) == 0)
            return m;
    }
    return NULL;
}

void cf_session_make(struct cf *cf, const struct cf_session_request *request, struct cf_want *w)
{
    struct cf_session_making *m = hf_xalloc(sizeof *m);

    m->cf = cf;
    m->again = (struct task){.fn = making_again, .arg = m};
    m->id = hf_xstrdup(request->id);
    m->cwd = hf_xstrdup(request->cwd);
    m->env = json_incref((json_t *)(uintptr_t)request->env);
    m->timeout_ms = request->timeout_ms;
    list_init(&m->wants);
    list_append(&m->wants, &w->link);
    list_append(&cf->makings, &m->link);
    call_adopt_unattended(&m->call, &cf->base, &making_kind);
    making_again(m);
}

void cf_session_want(struct cf *cf, const char *id, struct cf_want *w)
{
    const struct cf_session_request request = {.id = id};
    struct session *s = session_find(cf->base.engine, id, NULL);
    struct cf_session_making *m = making_find(cf, id);

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

struct cf_session_create {
    struct call call;
    struct cf_want want;
    json_t *body; /* referenced: the request borrows from it */
    struct cf_session_request request;
    struct session *dead; /* its shell has ended: delete it first */
    struct task next;
};

static void create_release(struct call *c)
{
    struct cf_session_create *n = (struct cf_session_create *)c;

    if (n->dead != NULL)
        session_delete_leave(n->dead, n);
    task_cancel(&n->next);
    cf_want_cancel(&n->want);
    json_decref(n->body);
}

static const struct call_kind create_kind = {.release = create_release, .drain = cf_drain};

static void create_done(void *arg, struct session *s, const struct hf_error *err)
{
    struct cf_session_create *n = arg;
    struct json_out o;

    if (s == NULL && err->code == HF_E_session_exists) {
        cf_fail_about(&n->call, 409, "SESSION_ALREADY_EXISTS", err->detail, "sessionId",
                      n->request.id);
        return;
    }
    if (s == NULL) {
        cf_error(&n->call, err);
        return;
    }
    o = cf_ok(&n->call);
    json_kstr(&o, "id", session_id(s));
    json_kstr(&o, "message", "Session created");
    json_key(&o, "data");
    json_open(&o, '{');
    json_close(&o, '}');
    json_knull(&o, "containerPlacementId");
    cf_send(&n->call, 200, &o);
}

static void create_make(void *arg)
{
    struct cf_session_create *n = arg;

    cf_session_make((struct cf *)n->call.base, &n->request, &n->want);
}

/* It still exists until this returns. */
static void create_on_deleted(void *arg, const struct survivors *v, size_t ended)
{
    struct cf_session_create *n = arg;

    (void)v, (void)ended;
    n->dead = NULL;
    loop_defer(n->call.base->loop, &n->next);
}

#define FIELD(n, k, m, ...) CF_FIELD(struct cf_session_request, n, k, m, __VA_ARGS__)

/* A session whose shell has ended does not count as alive: create it again. */
void cf_session_create(struct cf_request *q)
{
    static const struct json_field fields[] = {
        FIELD("id", STR, id),
        FIELD("cwd", STR, cwd),
        FIELD("commandTimeoutMs", INT, timeout_ms, .max = LIMIT_DURATION_MS),
        FIELD("env", OBJECT, env),
    };
    struct cf_session_request request = {0};
    struct cf_session_create *n;
    struct session *old;

    if (!cf_decode(q, fields, CF_COUNT(fields), &request))
        return;
    n = cf_begin(q, &create_kind, sizeof *n);
    n->body = json_incref(q->body);
    n->request = request;
    n->want = (struct cf_want){.fn = create_done, .arg = n};
    n->next = (struct task){.fn = create_make, .arg = n};
    old = request.id != NULL ? session_find(q->cf->base.engine, request.id, NULL) : NULL;
    if (old != NULL && session_shell(old) != NULL && !process_is_running(session_shell(old))) {
        n->dead = old;
        session_delete(old, 0, create_on_deleted, n);
        return;
    }
    create_make(n);
}

/* --- list, delete ----------------------------------------------------------------------------- */

void cf_session_list(struct cf_request *q)
{
    struct json_out o = cf_ok(cf_call(q));
    struct session *s = NULL;

    json_key(&o, "data");
    json_open(&o, '[');
    while ((s = session_next(q->cf->base.engine, s)) != NULL)
        json_str(&o, session_id(s));
    json_close(&o, ']');
    cf_send(q->call, 200, &o);
}

struct cf_session_delete {
    struct call call;
    struct session *session; /* it exists until the deletion has called back */
};

static void delete_release(struct call *c)
{
    session_delete_leave(((struct cf_session_delete *)c)->session, c);
}

static const struct call_kind delete_kind = {.release = delete_release, .drain = cf_drain};

static void delete_done(void *arg, const struct survivors *v, size_t ended)
{
    struct cf_session_delete *d = arg;
    struct json_out o = cf_ok(&d->call);

    (void)v, (void)ended;
    json_kstr(&o, "sessionId", session_id(d->session));
    cf_send(&d->call, 200, &o);
}

void cf_session_delete(struct cf_request *q)
{
    struct wanted {
        const char *id;
    } w = {NULL};
    static const struct json_field field =
        CF_FIELD(struct wanted, "sessionId", STR, id, .required = true, .min = 1);
    struct cf_session_delete *d;
    struct session *s;
    char text[160];

    if (!cf_decode(q, &field, 1, &w))
        return;
    s = session_find(q->cf->base.engine, w.id, NULL);
    if (s == NULL) {
        snprintf(text, sizeof text, "Session '%.100s' not found", w.id);
        cf_fail(cf_call(q), 500, "INTERNAL_ERROR", text);
        return;
    }
    d = cf_begin(q, &delete_kind, sizeof *d);
    d->session = s;
    session_delete(s, DELETE_GRACE_MS, delete_done, d);
}

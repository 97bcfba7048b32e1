/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_pty.c - PTYs: find, list, describe, resize, terminate
 *
 * A PTY is a running terminal of the daemon. One that has ended no longer counts: its id is free,
 * though the daemon keeps its own record. Layer: dialects.
 */
#include <string.h>

#include "dialects/daytona/daytona.h"

/* --- lookup ------------------------------------------------------------------------------ */

/* What it was created with here: {"daytona":{"id","lazy"}}; NULL: created elsewhere. */
static json_t *pty_facts(const struct process_view *v, json_t **keep)
{
    *keep = NULL;
    if (strstr(v->metadata_json, "\"daytona\"") == NULL)
        return NULL;
    *keep = json_loads(v->metadata_json, 0, NULL);
    return json_object_get(*keep, "pty");
}

static bool pty_is(struct process *p, const char *id)
{
    json_auto_t *keep = NULL;
    struct process_view v;
    const char *mine;

    process_view(p, &v);
    if (!v.pty || !v.running)
        return false;
    mine = json_string_value(json_object_get(pty_facts(&v, &keep), "id"));
    return strcmp(mine != NULL ? mine : v.id, id) == 0;
}

struct process *dt_pty_find(struct dt *dt, const char *id)
{
    struct process *p = NULL;

    while ((p = engine_next(dt->base.engine, p)) != NULL)
        if (pty_is(p, id))
            return p;
    return NULL;
}

static struct process *pty_of(struct http_request *rq, int status, const char *code)
{
    const char *id = http_param(rq, "id");
    struct process *p = dt_pty_find(dt_of(rq), id);

    if (p == NULL)
        dt_fail(rq, status, code, "PTY session %.100s not found", id);
    return p;
}

/* --- JSON ------------------------------------------------------------------------------------ */

/* Values of variables are often secrets, so they are never revealed. */
static void write_pty(struct json_out *o, struct process *p)
{
    json_auto_t *keep = NULL;
    const json_t *facts;
    struct process_view v;
    const char *id;

    process_view(p, &v);
    facts = pty_facts(&v, &keep);
    id = json_string_value(json_object_get(facts, "id"));
    json_kstr(o, "id", id != NULL ? id : v.id);
    json_kstr(o, "cwd", v.cwd);
    json_key(o, "envs");
    json_raw(o, "{}", 2);
    json_kint(o, "cols", v.cols);
    json_kint(o, "rows", v.rows);
    json_ktime(o, "createdAt", v.created_ms);
    json_kbool(o, "active", v.running);
    json_kbool(o, "lazyStart", json_is_true(json_object_get(facts, "lazy")));
}

static void reply_pty(struct http_request *rq, struct process *p)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    write_pty(&o, p);
    dialect_reply_send(rq, 200, &o);
}

void dt_pty_list(struct http_request *rq)
{
    struct dialect_base *b = dialect_base_of(rq);
    struct json_out o = dialect_reply_open(b);
    struct process *p = NULL;
    struct process_view v;

    json_key(&o, "sessions");
    json_open(&o, '[');
    while ((p = engine_next(b->engine, p)) != NULL) {
        process_view(p, &v);
        if (!v.pty || !v.running)
            continue;
        json_open(&o, '{');
        write_pty(&o, p);
        json_close(&o, '}');
    }
    json_close(&o, ']');
    dialect_reply_send(rq, 200, &o);
}

void dt_pty_get(struct http_request *rq)
{
    struct process *p = pty_of(rq, 404, "PROCESS_NOT_FOUND");

    if (p != NULL)
        reply_pty(rq, p);
}

/* --- resize ----------------------------------------------------------------------------------- */

/* A zero leaves that dimension unchanged: programs divide by it. */
void dt_pty_resize(struct http_request *rq)
{
    struct hf_error err = {0};
    struct process_view v;
    struct dt_request a;
    struct process *p = dt_request(rq, DT_SIZE, &a) ? pty_of(rq, 410, "SESSION_ENDED") : NULL;

    dt_request_fini(&a);
    if (p == NULL)
        return;
    process_view(p, &v);
    if (process_resize(p, a.rows > 0 ? a.rows : v.rows, a.cols > 0 ? a.cols : v.cols, "api", &err) <
        0)
        http_reply_error(rq, &err);
    else
        reply_pty(rq, p);
}

/* --- delete ----------------------------------------------------------------------------------- */

static const struct call_kind deletion_kind = {.stays = true};

static void deletion_done(void *arg, struct process *p, const struct survivors *left)
{
    struct call *c = arg;
    struct json_out o = dialect_reply_open(c->base);

    (void)p, (void)left;
    json_kstr(&o, "message", "PTY session deleted");
    call_send(c, 200, &o);
}

void dt_pty_delete(struct http_request *rq)
{
    struct process *p = pty_of(rq, 404, "PROCESS_NOT_FOUND");

    if (p != NULL)
        process_terminate(p, 0, "api", deletion_done,
                          call_begin(rq, &deletion_kind, sizeof(struct call)));
}

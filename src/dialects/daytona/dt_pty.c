/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_pty.c - PTYs: find, list, describe, resize, terminate
 *
 * A PTY is a running terminal of the daemon. One that has ended no longer counts: its id is free,
 * though the daemon keeps its own record. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
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

    while ((p = engine_next(dt->engine, p)) != NULL)
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
void dt_pty_write(struct json_out *o, struct process *p)
{
    json_auto_t *keep = NULL;
    const json_t *facts;
    struct process_view v;
    const char *id;

    process_view(p, &v);
    facts = pty_facts(&v, &keep);
    id = json_string_value(json_object_get(facts, "id"));
    json_open(o, '{');
    json_kstr(o, "id", id != NULL ? id : v.id);
    json_kstr(o, "cwd", v.cwd);
    json_key(o, "envs");
    json_raw(o, "{}", 2);
    json_kint(o, "cols", v.cols);
    json_kint(o, "rows", v.rows);
    json_ktime(o, "createdAt", v.created_ms);
    json_kbool(o, "active", v.running);
    json_kbool(o, "lazyStart", json_is_true(json_object_get(facts, "lazy")));
    json_close(o, '}');
}

static void reply_pty(struct http_request *rq, struct process *p)
{
    struct dt *dt = dt_of(rq);
    struct json_out o;

    buf_clear(&dt->scratch);
    json_out_init(&o, &dt->scratch);
    dt_pty_write(&o, p);
    http_reply_json(rq, 200, &dt->scratch);
}

void dt_pty_list(struct http_request *rq)
{
    struct dt *dt = dt_of(rq);
    struct json_out o = dt_reply(dt);
    struct process *p = NULL;
    struct process_view v;

    json_key(&o, "sessions");
    json_open(&o, '[');
    while ((p = engine_next(dt->engine, p)) != NULL) {
        process_view(p, &v);
        if (v.pty && v.running)
            dt_pty_write(&o, p);
    }
    json_close(&o, ']');
    dt_send(rq, 200, &o);
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
    json_auto_t *body = dt_body(rq);
    struct hf_error err = {0};
    int64_t rows, cols;
    struct process_view v;
    struct process *p;

    if (body == NULL)
        return;
    if (dt_decode_size(body, &rows, &cols, &err) < 0) {
        dt_error(rq, &err);
        return;
    }
    if ((p = pty_of(rq, 410, "SESSION_ENDED")) == NULL)
        return;
    process_view(p, &v);
    if (process_resize(p, rows > 0 ? rows : v.rows, cols > 0 ? cols : v.cols, "api", &err) < 0)
        dt_error(rq, &err);
    else
        reply_pty(rq, p);
}

/* --- delete ----------------------------------------------------------------------------------- */

struct dt_pty_deletion {
    struct pending pending;
    struct http_request *rq; /* NULL: the client has disconnected */
};

static void deletion_free(struct pending *p)
{
    pending_fini(p);
    free(list_entry(p, struct dt_pty_deletion, pending));
}

static const struct pending_kind deletion_kind = {.drain = NULL, .free = deletion_free};

static void deletion_on_disconnect(void *user)
{
    ((struct dt_pty_deletion *)user)->rq = NULL;
}

static void deletion_done(void *arg, struct process *p, const struct survivors *left)
{
    struct http_request *rq = ((struct dt_pty_deletion *)arg)->rq;
    struct json_out o;

    (void)p, (void)left;
    deletion_free(&((struct dt_pty_deletion *)arg)->pending);
    if (rq == NULL)
        return;
    http_set_user(rq, NULL, NULL);
    o = dt_reply(dt_of(rq));
    json_kstr(&o, "message", "PTY session deleted");
    dt_send(rq, 200, &o);
}

void dt_pty_delete(struct http_request *rq)
{
    struct process *p = pty_of(rq, 404, "PROCESS_NOT_FOUND");
    struct dt_pty_deletion *d;

    if (p == NULL)
        return;
    d = hf_xalloc(sizeof *d);
    d->rq = rq;
    pending_init(&d->pending, &dt_of(rq)->pending, &deletion_kind);
    http_set_user(rq, d, deletion_on_disconnect);
    process_terminate(p, 0, "api", deletion_done, d);
}

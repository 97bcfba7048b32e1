/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_session.c - sessions: create, list, get, delete. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/daytona/daytona.h"

/*
 * A log is kept as long as its session, so the ring is large, unless running processes together
 * would then leave none for others.
 */
int64_t dt_history(struct engine *e)
{
    const struct engine_options *o = engine_options(e);
    uint64_t all = o->history_dir != NULL ? o->history_disk_bytes : o->journal_memory_bytes;
    struct engine_stats stats;

    engine_stats(e, &stats);
    if (o->journal_bytes >= LIMIT_DT_LOG_BYTES ||
        (stats.running + 1) * (uint64_t)LIMIT_DT_LOG_BYTES > all / 2)
        return 0;
    return LIMIT_DT_LOG_BYTES;
}

/* --- a request that waits for a session to be created or deleted --------------------------- */

struct dt_session_waiting {
    struct pending pending;
    struct http_request *rq; /* NULL: the client has disconnected */
    struct session *session; /* the session that is being deleted */
};

static void waiting_free(struct pending *p)
{
    pending_fini(p);
    free(list_entry(p, struct dt_session_waiting, pending));
}

static const struct pending_kind waiting_kind = {.drain = NULL, .free = waiting_free};

static void waiting_on_disconnect(void *user)
{
    ((struct dt_session_waiting *)user)->rq = NULL;
}

static struct dt_session_waiting *waiting_new(struct http_request *rq)
{
    struct dt_session_waiting *w = hf_xalloc(sizeof *w);

    w->rq = rq;
    pending_init(&w->pending, &dt_of(rq)->pending, &waiting_kind);
    http_set_user(rq, w, waiting_on_disconnect);
    return w;
}

/* The request, if the client still waits for its reply. */
static struct http_request *waiting_over(struct dt_session_waiting *w)
{
    struct http_request *rq = w->rq;

    if (rq != NULL)
        http_set_user(rq, NULL, NULL);
    waiting_free(&w->pending);
    return rq;
}

/* --- create ---------------------------------------------------------------------------------- */

static void create_done(void *arg, struct session *s, const struct hf_error *err)
{
    struct http_request *rq = waiting_over(arg);

    if (rq == NULL)
        return;
    if (s != NULL)
        http_reply_empty(rq, 201);
    else
        dt_error(rq, err);
}

static void create(struct http_request *rq, const char *id)
{
    struct dt *dt = dt_of(rq);
    json_auto_t *kept = NULL;
    struct session_spec spec = {
        .id = id, .metadata = DT_METADATA, .history_bytes = dt_history(dt->engine)};
    struct spec_env *env = dt_env(dt, NULL, 0, &spec.env_count, &kept);
    struct dt_session_waiting *w = waiting_new(rq);
    struct hf_error err = {0};

    spec.env = env;
    if (session_create(dt->engine, &spec, create_done, w, &err) < 0)
        create_done(w, NULL, &err);
    free(env);
}

void dt_session_create(struct http_request *rq)
{
    json_auto_t *body = dt_body(rq);
    struct hf_error err = {0};
    const char *id;

    if (body == NULL)
        return;
    if (json_object_get(body, "sessionId") == NULL) {
        dt_fail(rq, 400, "INVALID_REQUEST_BODY", "sessionId is required");
        return;
    }
    id = json_text(json_object_get(body, "sessionId"), "sessionId", &err);
    if (id == NULL)
        dt_error(rq, &err);
    else if (strcmp(id, "entrypoint") == 0)
        dt_fail(rq, 400, "BAD_REQUEST", "the session id 'entrypoint' is reserved");
    else
        create(rq, id);
}

/* --- list, get -------------------------------------------------------------------------------- */

static void write_session(struct json_out *o, struct dt *dt, struct session *s)
{
    json_open(o, '{');
    json_kstr(o, "sessionId", session_id(s));
    json_key(o, "commands");
    dt_commands_write(o, dt, s);
    json_close(o, '}');
}

void dt_session_list(struct http_request *rq)
{
    struct dt *dt = dt_of(rq);
    struct session *s = NULL;
    struct json_out o;

    buf_clear(&dt->scratch);
    json_out_init(&o, &dt->scratch);
    json_open(&o, '[');
    while ((s = session_next(dt->engine, s)) != NULL)
        write_session(&o, dt, s);
    json_close(&o, ']');
    http_reply_json(rq, 200, &dt->scratch);
}

void dt_session_get(struct http_request *rq)
{
    struct dt *dt = dt_of(rq);
    struct session *s = dt_session(rq);
    struct json_out o;

    if (s == NULL)
        return;
    buf_clear(&dt->scratch);
    json_out_init(&o, &dt->scratch);
    write_session(&o, dt, s);
    http_reply_json(rq, 200, &dt->scratch);
}

/* There is none: the daemon starts nothing by itself. */
void dt_entrypoint(struct http_request *rq)
{
    dt_fail(rq, 404, "PROCESS_NOT_FOUND", "there is no entrypoint: this daemon starts none");
}

/* --- delete ----------------------------------------------------------------------------------- */

static void delete_done(void *arg, const struct survivors *left, size_t ended)
{
    struct http_request *rq = waiting_over(arg);

    (void)left, (void)ended;
    if (rq != NULL)
        http_reply_empty(rq, 204);
}

static void delete_ended(void *user)
{
    struct dt_session_waiting *w = user;

    session_delete_leave(w->session, w);
    waiting_free(&w->pending);
}

void dt_session_delete(struct http_request *rq)
{
    struct session *s = dt_session(rq);
    struct dt_session_waiting *w;

    if (s == NULL)
        return;
    w = waiting_new(rq);
    w->session = s;
    http_set_user(rq, w, delete_ended);
    session_delete(s, DT_DELETE_GRACE_MS, delete_done, w);
}

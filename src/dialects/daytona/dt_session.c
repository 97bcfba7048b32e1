/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_session.c - sessions: create, list, get, delete. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "dialects/daytona/daytona.h"
#include "dialects/daytona/daytona_limits.h"

/*
 * A log is kept as long as its session, so the ring is large, unless running processes together
 * would then leave none for others.
 */
static int64_t history_bytes(struct engine *e)
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

/* --- create ---------------------------------------------------------------------------------- */

/* The session is created or deleted even if the client disconnects. */
static const struct call_kind session_kind = {.stays = true};

static void create_done(void *arg, struct session *s, const struct hf_error *err)
{
    if (s != NULL)
        call_send_empty(arg, 201);
    else
        call_fail(arg, err);
}

static void create(struct http_request *rq, const char *id)
{
    struct dt *dt = dt_of(rq);
    json_auto_t *kept = NULL;
    struct session_spec spec = {
        .id = id, .metadata = DT_METADATA, .history_bytes = history_bytes(dt->base.engine)};
    struct spec_env *env = dt_env(dt, NULL, 0, &spec.env_count, &kept);
    struct call *c = call_begin(rq, &session_kind, sizeof *c);
    struct hf_error err = {0};

    spec.env = env;
    if (session_create(dt->base.engine, &spec, create_done, c, &err) < 0)
        call_fail(c, &err);
    free(env);
}

void dt_session_create(struct http_request *rq)
{
    json_auto_t *body = dialect_object(rq);
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
        http_reply_error(rq, &err);
    else if (strcmp(id, "entrypoint") == 0)
        dt_fail(rq, 400, "BAD_REQUEST", "the session id 'entrypoint' is reserved");
    else
        create(rq, id);
}

/* --- list, get -------------------------------------------------------------------------------- */

static void write_session(struct json_out *o, struct dt *dt, struct session *s)
{
    json_kstr(o, "sessionId", session_id(s));
    json_key(o, "commands");
    dt_commands_write(o, dt, s);
}

void dt_session_list(struct http_request *rq)
{
    struct dt *dt = dt_of(rq);
    struct session *s = NULL;
    struct json_out o;

    buf_clear(&dt->base.scratch);
    json_out_init(&o, &dt->base.scratch);
    json_open(&o, '[');
    while ((s = session_next(dt->base.engine, s)) != NULL) {
        json_open(&o, '{');
        write_session(&o, dt, s);
        json_close(&o, '}');
    }
    json_close(&o, ']');
    http_reply_json(rq, 200, &dt->base.scratch);
}

void dt_session_get(struct http_request *rq)
{
    struct session *s = dt_session(rq);
    struct json_out o;

    if (s == NULL)
        return;
    o = dialect_reply_open(dialect_base_of(rq));
    write_session(&o, dt_of(rq), s);
    dialect_reply_send(rq, 200, &o);
}

/* There is none: the daemon starts nothing by itself. */
void dt_entrypoint(struct http_request *rq)
{
    dt_fail(rq, 404, "PROCESS_NOT_FOUND", "there is no entrypoint: this daemon starts none");
}

/* --- delete ----------------------------------------------------------------------------------- */

static void delete_done(void *arg, const struct survivors *left, size_t ended)
{
    (void)left, (void)ended;
    call_send_empty(arg, 204);
}

void dt_session_delete(struct http_request *rq)
{
    struct session *s = dt_session(rq);

    if (s != NULL)
        session_delete(s, DT_DELETE_GRACE_MS, delete_done,
                       call_begin(rq, &session_kind, sizeof(struct call)));
}

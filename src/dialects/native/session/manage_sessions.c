/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manage_sessions.c - sessions: create, list, get, delete. Layer: dialects.
 */
#include "engine/session/session.h"

#include <stdio.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"

#define LIST_DEFAULT 100
#define LIST_MAX 1000

static void reply_session(struct http_request *rq, int status, struct session *s)
{
    struct native *n = native_of(rq);
    struct json_out o;

    buf_clear(&n->base.scratch);
    json_out_init(&o, &n->base.scratch);
    session_write_json(s, &o);
    http_reply_json(rq, status, &n->base.scratch);
}

/* --- create ------------------------------------------------------------------- */

/* A creation finishes soon, and a shutdown waits for it. */
static const struct call_kind creation_kind = {.stays = true};

static void create_on_done(void *arg, struct session *s, const struct hf_error *err)
{
    struct http_request *rq = call_end(arg);
    char location[200];

    if (rq == NULL)
        return;
    if (s == NULL) {
        http_reply_error(rq, err);
        return;
    }
    snprintf(location, sizeof location, "/v1/sessions/%s", session_id(s));
    http_add_header(rq, "Location", location);
    reply_session(rq, 201, s);
}

int session_create_handle(struct http_request *rq, struct hf_error *err)
{
    json_auto_t *body = NULL;
    struct session_request request;
    struct call *c;
    int rc;

    if (dialect_check_open(dialect_base_of(rq), err) < 0 ||
        (body = native_decode_json(rq, err)) == NULL)
        return -1;
    rc = session_request_decode(&request, body, err);
    if (rc == 0) {
        c = call_begin(rq, &creation_kind, sizeof *c);
        rc = session_create(c->base->engine, &request.spec, create_on_done, c, err);
        if (rc < 0)
            call_end(c);
    }
    session_request_fini(&request);
    return rc;
}

/* --- get and list --------------------------------------------------------------- */

static struct session *decode_session(const struct http_request *rq, struct hf_error *err)
{
    return session_find(native_of(rq)->base.engine, http_param(rq, "id"), err);
}

int session_get_handle(struct http_request *rq, struct hf_error *err)
{
    struct session *s = decode_session(rq, err);

    if (s == NULL)
        return -1;
    reply_session(rq, 200, s);
    return 0;
}

static int decode_page(const struct http_request *rq, int64_t *limit, struct session **after,
                       struct hf_error *err)
{
    const char *id = http_query(rq, "after");

    if (native_decode_i64(rq, "limit", 1, LIST_MAX, limit, err) < 0)
        return -1;
    if (id == NULL)
        return 0;
    *after = session_find(native_of(rq)->base.engine, id, NULL);
    if (*after != NULL)
        return 0;
    return hf_fail_field(
        err, HF_E_bad_query, "after",
        "the session of \"after\" no longer exists; start again from the first page");
}

int session_list_handle(struct http_request *rq, struct hf_error *err)
{
    struct engine *e = native_of(rq)->base.engine;
    struct session *s = NULL, *last = NULL;
    int64_t limit = LIST_DEFAULT;
    struct json_out o;

    if (decode_page(rq, &limit, &s, err) < 0)
        return -1;
    o = dialect_reply_open(dialect_base_of(rq));
    json_kopen(&o, "sessions", '[');
    for (; limit > 0 && (s = session_next(e, s)) != NULL; limit--) {
        session_write_json(s, &o);
        last = s;
    }
    json_close(&o, ']');
    json_kstr(&o, "next", last != NULL && session_next(e, last) != NULL ? session_id(last) : NULL);
    dialect_reply_send(rq, 200, &o);
    return 0;
}

/* --- delete ----------------------------------------------------------------------- */

struct session_deletion {
    struct call call;
    struct session *session; /* until it is deleted */
};

/* The dialect is freed before the engine, which must not call back into it. */
static void deletion_release(struct call *c)
{
    struct session_deletion *d = list_entry(c, struct session_deletion, call);

    if (d->session != NULL)
        session_delete_leave(d->session, d);
}

/* A termination may outlast the shutdown, and continues under the next worker. */
static const struct call_kind deletion_kind = {
    .stays = true,
    .release = deletion_release,
    .drain_text = "the daemon is shutting down; the requested operation continues",
};

static void deletion_on_done(void *arg, const struct survivors *v, size_t ended)
{
    struct session_deletion *d = arg;
    struct json_out o = dialect_reply_open(d->call.base);

    d->session = NULL;
    json_ku64(&o, "ended", ended);
    process_json_survivors(&o, v);
    call_send(&d->call, 200, &o);
}

int session_delete_handle(struct http_request *rq, struct hf_error *err)
{
    struct session *s = decode_session(rq, err);
    struct session_deletion *d;
    int64_t grace_ms = -1;

    if (s == NULL || native_decode_i64(rq, "grace_ms", 0, LIMIT_DURATION_MS, &grace_ms, err) < 0)
        return -1;
    d = call_begin(rq, &deletion_kind, sizeof *d);
    d->session = s;
    session_delete(s, grace_ms, deletion_on_done, d);
    return 0;
}

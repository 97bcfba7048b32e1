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
#include "dialects/native/session/session_decode.h"

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

/* A request whose reply is sent when the engine is done, if the client is still connected. */
struct manage_sessions_later {
    struct op op;
    struct http_request *rq; /* NULL: the client has disconnected */
    struct session *session; /* of a deletion, until it is done */
};

static void later_free(struct manage_sessions_later *l)
{
    native_op_fini(&l->op);
    free(l);
}

/* The dialect is freed before the engine, which must not call back into it. */
static void later_on_free(struct op *op)
{
    struct manage_sessions_later *l = list_entry(op, struct manage_sessions_later, op);

    if (l->session != NULL)
        session_delete_leave(l->session, l);
    later_free(l);
}

/* A creation finishes soon, and a shutdown waits for it. A termination may outlast the shutdown,
 * and continues under the next worker. */
static void later_on_drain(struct op *op)
{
    struct manage_sessions_later *l = list_entry(op, struct manage_sessions_later, op);
    struct hf_error err;

    if (l->session == NULL)
        return;
    if (l->rq != NULL) {
        hf_fail(&err, HF_E_shutting_down,
                "the daemon is shutting down; the requested operation continues");
        http_reply_error(l->rq, &err);
    }
    later_on_free(op);
}

static const struct op_kind later_kind = {.on_drain = later_on_drain, .on_free = later_on_free};

static void later_on_disconnect(void *user)
{
    struct manage_sessions_later *l = user;

    l->rq = NULL;
}

static struct manage_sessions_later *later_new(struct http_request *rq)
{
    struct manage_sessions_later *l = hf_xalloc(sizeof *l);

    native_op_init(&l->op, native_of(rq), &later_kind);
    l->rq = rq;
    http_set_user(rq, l, later_on_disconnect);
    return l;
}

static void create_on_done(void *arg, struct session *s, const struct hf_error *err)
{
    struct manage_sessions_later *l = arg;
    struct http_request *rq = l->rq;
    char location[200];

    later_free(l);
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

static int create_begin(struct http_request *rq, struct hf_error *err)
{
    json_auto_t *body = NULL;
    struct session_request request;
    struct manage_sessions_later *l;
    int rc;

    if (dialect_check_open(dialect_base_of(rq), err) < 0)
        return -1;
    body = native_decode_json(rq, err);
    if (body == NULL)
        return -1;
    rc = session_request_decode(&request, body, err);
    if (rc == 0) {
        l = later_new(rq);
        rc = session_create(native_of(rq)->base.engine, &request.spec, create_on_done, l, err);
        if (rc < 0) {
            http_set_user(rq, NULL, NULL);
            later_free(l);
        }
    }
    session_request_fini(&request);
    return rc;
}

void session_create_handle(struct http_request *rq)
{
    struct hf_error err;

    if (create_begin(rq, &err) < 0)
        http_reply_error(rq, &err);
}

/* --- get and list --------------------------------------------------------------- */

static struct session *decode_session(struct http_request *rq)
{
    struct hf_error err;
    struct session *s = session_find(native_of(rq)->base.engine, http_param(rq, "id"), &err);

    if (s == NULL)
        http_reply_error(rq, &err);
    return s;
}

void session_get_handle(struct http_request *rq)
{
    struct session *s = decode_session(rq);

    if (s != NULL)
        reply_session(rq, 200, s);
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

void session_list_handle(struct http_request *rq)
{
    struct engine *e = native_of(rq)->base.engine;
    struct session *s = NULL, *last = NULL;
    int64_t limit = LIST_DEFAULT;
    struct hf_error err;
    struct json_out o;

    if (decode_page(rq, &limit, &s, &err) < 0) {
        http_reply_error(rq, &err);
        return;
    }
    o = json_reply_open(native_of(rq));
    json_key(&o, "sessions");
    json_open(&o, '[');
    for (; limit > 0 && (s = session_next(e, s)) != NULL; limit--) {
        session_write_json(s, &o);
        last = s;
    }
    json_close(&o, ']');
    json_kstr(&o, "next", last != NULL && session_next(e, last) != NULL ? session_id(last) : NULL);
    json_reply_send(rq, 200, &o);
}

/* --- delete ----------------------------------------------------------------------- */

static void delete_on_done(void *arg, const struct survivors *v, size_t ended)
{
    struct manage_sessions_later *l = arg;
    struct http_request *rq = l->rq;
    struct json_out o;

    if (rq != NULL) {
        o = json_reply_open(l->op.native);
        json_ku64(&o, "ended", ended);
        process_json_survivors(&o, v);
        json_reply_send(rq, 200, &o);
    }
    later_free(l);
}

void session_delete_handle(struct http_request *rq)
{
    struct session *s = decode_session(rq);
    struct hf_error err;
    int64_t grace_ms = -1;
    struct manage_sessions_later *l;

    if (s == NULL)
        return;
    if (native_decode_i64(rq, "grace_ms", 0, LIMIT_DURATION_MS, &grace_ms, &err) < 0) {
        http_reply_error(rq, &err);
        return;
    }
    l = later_new(rq);
    l->session = s;
    session_delete(s, grace_ms, delete_on_done, l);
}

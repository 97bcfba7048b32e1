/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_in_session.c - POST /v1/sessions/{id}/run: a command in the session's shell, one reply at its
 * end. Clients that request events are served by session_events.c. Layer: dialects.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"
#include "dialects/native/session/session_result.h"
#include "transport/sse.h"

struct session_reply {
    struct op op;
    struct http_request *rq;
    struct session_run *run;
    char *session_id;
    bool base64, keep;
};

static void session_reply_free(struct session_reply *a)
{
    native_wait_end(a->op.native);
    native_op_fini(&a->op);
    free(a->session_id);
    free(a);
}

static void session_reply_on_free(struct op *op)
{
    struct session_reply *a = list_entry(op, struct session_reply, op);

    session_run_leave(a->run, false);
    session_reply_free(a);
}

/* If the command has begun, it keeps running under the worker that replaces this one. */
static void session_reply_on_drain(struct op *op)
{
    struct session_reply *a = list_entry(op, struct session_reply, op);
    uint64_t number = session_run_number(a->run);
    struct hf_error err;

    session_run_leave(a->run, number == 0);
    session_run_draining(number, &err);
    http_reply_error(a->rq, &err);
    session_reply_free(a);
}

static const struct op_kind session_reply_kind = {.on_drain = session_reply_on_drain,
                                                  .on_free = session_reply_on_free};

static void session_reply_on_disconnect(void *user)
{
    struct session_reply *a = user;

    session_run_leave(a->run, !a->keep);
    session_reply_free(a);
}

static void session_reply_on_done(void *arg, const struct session_result *r,
                                  const struct hf_error *err)
{
    struct session_reply *a = arg;
    struct json_out o;

    if (r != NULL) {
        o = json_reply_open(a->op.native);
        session_result_write(a->op.native, &o, a->session_id, a->base64, r);
        json_reply_send(a->rq, 200, &o);
    } else {
        http_reply_error(a->rq, err);
    }
    session_reply_free(a);
}

static int session_reply_begin(struct http_request *rq, struct session *s,
                               const struct session_run_request *request, struct hf_error *err)
{
    struct session_reply *a = hf_xalloc(sizeof *a);
    int rc;

    native_op_init(&a->op, native_of(rq), &session_reply_kind);
    a->rq = rq;
    a->base64 = request->base64;
    a->keep = request->keep;
    a->session_id = hf_xstrdup(session_id(s));
    rc = session_run(s, &request->spec, session_reply_on_done, a, &a->run, err);
    if (rc == 0)
        http_set_user(rq, a, session_reply_on_disconnect);
    else
        session_reply_free(a);
    return rc;
}

static int decode_events(const struct http_request *rq, bool *events, struct hf_error *err)
{
    *events = http_wants(rq, SSE_TYPE) && !http_wants(rq, "application/json");
    if (*events || http_query(rq, "output") == NULL)
        return 0;
    return hf_fail_field(err, HF_E_bad_query, "output", "\"output\" requires Accept: " SSE_TYPE "");
}

static int run_begin(struct http_request *rq, struct hf_error *err)
{
    struct native *n = native_of(rq);
    struct session *s = session_find(n->base.engine, http_param(rq, "id"), err);
    json_auto_t *body = NULL;
    struct session_run_request request;
    bool events;
    int rc;

    if (s == NULL || dialect_check_open(&n->base, err) < 0 || decode_events(rq, &events, err) < 0 ||
        (body = native_decode_json(rq, err)) == NULL)
        return -1;
    rc = session_run_request_decode(&request, body, err);
    if (rc == 0)
        rc = native_wait_begin(n, rq, err);
    if (rc == 0)
        rc = events ? session_events_begin(rq, s, &request, err)
                    : session_reply_begin(rq, s, &request, err);
    session_run_request_fini(&request);
    return rc;
}

void session_run_handle(struct http_request *rq)
{
    struct hf_error err;

    if (run_begin(rq, &err) < 0)
        http_reply_error(rq, &err);
}

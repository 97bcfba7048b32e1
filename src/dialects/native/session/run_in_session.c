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
    struct call call;
    struct session_run *run; /* NULL: it has ended, or the request left it */
    char *session_id;
    bool base64, keep;
};

static struct session_reply *session_reply_of(struct call *c)
{
    return list_entry(c, struct session_reply, call);
}

static void session_reply_leave(struct session_reply *a, bool cancel)
{
    if (a->run != NULL)
        session_run_leave(a->run, cancel);
    a->run = NULL;
}

static void session_reply_release(struct call *c)
{
    struct session_reply *a = session_reply_of(c);

    session_reply_leave(a, false);
    native_wait_end(native_of_call(c));
    free(a->session_id);
}

/* If the command has begun, it keeps running under the worker that replaces this one. */
static void session_reply_drain(struct call *c)
{
    struct session_reply *a = session_reply_of(c);
    uint64_t number = session_run_number(a->run);
    struct hf_error err;

    session_reply_leave(a, number == 0);
    session_run_draining(number, &err);
    call_fail(c, &err);
}

static void session_reply_disconnected(struct call *c)
{
    struct session_reply *a = session_reply_of(c);

    session_reply_leave(a, !a->keep);
}

static const struct call_kind session_reply_kind = {
    .release = session_reply_release,
    .disconnected = session_reply_disconnected,
    .drain = session_reply_drain,
};

static void session_reply_on_done(void *arg, const struct session_result *r,
                                  const struct hf_error *err)
{
    struct session_reply *a = arg;
    struct json_out o;

    a->run = NULL;
    if (r == NULL) {
        call_fail(&a->call, err);
        return;
    }
    o = dialect_reply_open(a->call.base);
    session_result_write(native_of_call(&a->call), &o, a->session_id, a->base64, r);
    call_send(&a->call, 200, &o);
}

static int session_reply_begin(struct http_request *rq, struct session *s,
                               const struct session_run_request *request, struct hf_error *err)
{
    struct session_reply *a = call_begin(rq, &session_reply_kind, sizeof *a);
    int rc;

    a->base64 = request->base64;
    a->keep = request->keep;
    a->session_id = hf_xstrdup(session_id(s));
    rc = session_run(s, &request->spec, session_reply_on_done, a, &a->run, err);
    if (rc < 0)
        call_end(&a->call);
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

    if (s == NULL || native_check_open(n, err) < 0 || decode_events(rq, &events, err) < 0 ||
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_in_session.c - POST /v1/sessions/{id}/run: a command in the session's shell
 *
 * One reply at its end; or events, for clients that want output as it arrives, and for those that
 * cannot wait in silence as long as a command may take: `started` when its turn has come, `output`
 * and `gap` if requested, then `finished` or `error`. A client that stops reading the output pauses
 * the command. Layer: dialects.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/session_follow.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"
#include "dialects/native/output/output_events.h"
#include "transport/sse.h"

static void write_result(struct native *n, struct json_out *o, const char *session_id, bool base64,
                         const struct session_result *r)
{
    uint64_t omitted;

    json_kstr(o, "session_id", session_id);
    json_ku64(o, "number", r->number);
    json_reply_headtail(n, o, "stdout", r->out, base64);
    json_reply_headtail(n, o, "stderr", r->err, base64);
    omitted = json_reply_headtail(n, o, "output", r->all, base64);
    json_kstr(o, "encoding", base64 ? "base64" : "utf8");
    process_json_exit(o, &r->exit);
    json_kbool(o, "timed_out", r->exit.kind == EXIT_TIMED_OUT);
    json_ku64(o, "omitted_bytes", omitted);
    json_kbool(o, "shell_replaced", r->shell_replaced);
    json_key(o, "cwd");
    if (r->cwd.len > 0)
        json_strn(o, r->cwd.bytes, r->cwd.len);
    else
        json_nil(o);
    json_kstr(o, "process_id", r->process_id);
    json_ku64(o, "offset", r->from);
    json_ku64(o, "next", r->to);
    json_ktime(o, "started_at", r->started_wall_ms);
    json_ktime(o, "ended_at", r->ended_wall_ms);
}

/* Why a command has no result when the daemon shuts down. 0: it had not begun. */
static int fail_draining(uint64_t number, struct hf_error *err)
{
    if (number == 0)
        return hf_fail(err, HF_E_shutting_down,
                       "the daemon is shutting down; the command was not started");
    return hf_fail(err, HF_E_shutting_down,
                   "the daemon is shutting down; look up command %llu in the transcript afterwards",
                   (unsigned long long)number);
}

/* --- one reply ---------------------------------------------------------------------------- */

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
    fail_draining(number, &err);
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
    write_result(native_of_call(&a->call), &o, a->session_id, a->base64, r);
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

/* --- events ------------------------------------------------------------------------------- */

struct run_events {
    struct call call;
    struct session_follow *follow; /* NULL: all of its output is sent */
    struct output_events out;
    struct buf result; /* `finished`, once the command has ended */
    char *session_id;
    uint64_t number; /* 0: it is still queued */
    bool output, base64, keep;
};

static struct run_events *events_of(struct call *c)
{
    return list_entry(c, struct run_events, call);
}

static void send_event(struct run_events *x, const char *event, const struct buf *json)
{
    sse_send(x->out.stream, event, NULL, buf_data(json), json->len);
}

static void send_error(struct run_events *x, const struct hf_error *err)
{
    struct json_out o = dialect_reply_open(x->call.base);

    json_write_problem(&o, err);
    json_close(&o, '}');
    send_event(x, "error", o.buf);
    call_stream_end(&x->call);
}

/* Do not queue it behind unsent data: it may be long, and the buffer per peer is limited. */
static void send_result(struct run_events *x)
{
    if (x->follow != NULL || !http_stream_ready(x->out.stream))
        return;
    send_event(x, "finished", &x->result);
    call_stream_end(&x->call);
}

static void on_started(void *arg, const struct session_begin *b)
{
    struct run_events *x = arg;
    struct json_out o = dialect_reply_open(x->call.base);

    x->number = b->number;
    json_kstr(&o, "session_id", x->session_id);
    json_ku64(&o, "number", b->number);
    json_kstr(&o, "process_id", b->process_id);
    json_ku64(&o, "offset", b->from);
    json_ktime(&o, "started_at", b->started_wall_ms);
    json_close(&o, '}');
    send_event(x, "started", o.buf);
}

static bool on_ready(void *arg)
{
    const struct run_events *x = arg;

    return !x->output || http_stream_ready(x->out.stream);
}

static void on_bytes(void *arg, const struct slice *s)
{
    struct run_events *x = arg;

    if (x->output)
        output_events_bytes(&x->out, s);
}

static void on_gap(void *arg, uint64_t from, uint64_t to)
{
    struct run_events *x = arg;

    if (x->output)
        output_events_gap(&x->out, from, to);
}

static void on_failed(void *arg, const struct hf_error *err)
{
    struct run_events *x = arg;

    x->follow = NULL;
    send_error(x, err);
}

static void on_result(void *arg, const struct session_result *r)
{
    struct run_events *x = arg;
    struct json_out o = dialect_reply_open(x->call.base);

    write_result(x->out.native, &o, x->session_id, x->base64, r);
    json_close(&o, '}');
    buf_put(&x->result, buf_data(o.buf), o.buf->len);
}

static void on_done(void *arg, const struct session_followed *f)
{
    struct run_events *x = arg;

    (void)f;
    x->follow = NULL;
    output_events_flush(&x->out);
    send_result(x);
}

static const struct session_follow_ops follow_ops = {
    .started = on_started,
    .ready = on_ready,
    .bytes = on_bytes,
    .gap = on_gap,
    .result = on_result,
    .failed = on_failed,
    .done = on_done,
};

static void events_room(struct call *c)
{
    struct run_events *x = events_of(c);

    if (x->follow != NULL)
        session_follow_pump(x->follow);
    else
        send_result(x);
}

static void leave(struct run_events *x, bool cancel)
{
    if (x->follow != NULL)
        session_follow_leave(x->follow, cancel);
    x->follow = NULL;
}

static void events_disconnected(struct call *c)
{
    leave(events_of(c), !events_of(c)->keep);
}

static void events_release(struct call *c)
{
    struct run_events *x = events_of(c);

    leave(x, false);
    native_wait_end(x->out.native);
    buf_fini(&x->result);
    free(x->session_id);
}

/* If the command has begun, it keeps running under the worker that replaces this one. */
static void events_drain(struct call *c)
{
    struct run_events *x = events_of(c);
    struct hf_error err;

    if (x->follow == NULL)
        return; /* its result waits for room; it is sent, or lost with the connection */
    leave(x, x->number == 0);
    fail_draining(x->number, &err);
    send_error(x, &err);
}

static const struct call_kind events_kind = {
    .release = events_release,
    .disconnected = events_disconnected,
    .drain = events_drain,
    .room = events_room,
};

static int events_begin(struct http_request *rq, struct session *s,
                        struct session_run_request *request, struct hf_error *err)
{
    struct native *n = native_of(rq);
    struct run_events *x = call_begin(rq, &events_kind, sizeof *x);
    int rc;

    x->out.native = n;
    x->base64 = request->base64;
    x->keep = request->keep;
    x->session_id = hf_xstrdup(session_id(s));
    rc = native_decode_bool(rq, "output", &x->output, err);
    if (rc == 0)
        rc = session_follow_start(n->base.engine, s, &request->spec, &follow_ops, x, &x->follow,
                                  err);
    if (rc < 0) {
        call_end(&x->call);
        return rc;
    }
    http_add_header(rq, "Cache-Control", "no-store");
    call_stream_sse(&x->call);
    x->out.stream = x->call.out;
    return 0;
}

/* --- the request -------------------------------------------------------------------------- */

static int decode_events(const struct http_request *rq, bool *events, struct hf_error *err)
{
    *events = http_wants(rq, SSE_TYPE) && !http_wants(rq, "application/json");
    if (*events || http_query(rq, "output") == NULL)
        return 0;
    return hf_fail_field(err, HF_E_bad_query, "output", "\"output\" requires Accept: " SSE_TYPE "");
}

int session_run_handle(struct http_request *rq, struct hf_error *err)
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
        rc =
            events ? events_begin(rq, s, &request, err) : session_reply_begin(rq, s, &request, err);
    session_run_request_fini(&request);
    return rc;
}

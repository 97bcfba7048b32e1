/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_events.c - a command in a session, as events
 *
 * For clients that want output as it arrives, and for those that cannot wait in silence as long as
 * a command may take: `started` when its turn has come, `output` and `gap` if requested, then
 * `finished` or `error`. A client that stops reading the output pauses the command. Layer:
 * dialects.
 */
#include "base/mem.h"
#include "dialects/common/session_follow.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/output/output_events.h"
#include "dialects/native/problem.h"
#include "dialects/native/session/session_result.h"
#include "transport/sse.h"

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

    problem_write(&o, err);
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

/* --- callbacks of the command --------------------------------------------------------------- */

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

    session_result_write(x->out.native, &o, x->session_id, x->base64, r);
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

/* --- callbacks of the client and the daemon ------------------------------------------------- */

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
    session_run_draining(x->number, &err);
    send_error(x, &err);
}

static const struct call_kind events_kind = {
    .release = events_release,
    .disconnected = events_disconnected,
    .drain = events_drain,
    .room = events_room,
};

int session_events_begin(struct http_request *rq, struct session *s,
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_run.c - POST /v1/sessions/{id}/run: a command in the session's shell
 *
 * One answer at the end, or, for those who cannot wait in silence for as long as a command may
 * take, events: `started` when its turn has come, then `finished` or `error`. Layer: dialects.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "dialects/native/answer.h"
#include "dialects/native/ask.h"
#include "dialects/native/handlers.h"
#include "dialects/native/problem.h"
#include "dialects/native/session_ask.h"
#include "transport/sse.h"

struct asked {
    struct op op;
    struct http_request *rq;    /* NULL: it is answered by the stream */
    struct http_stream *stream; /* NULL: one answer at the end */
    struct session_run *run;
    char *session_id;
    bool base64, keep;
};

static void asked_free(struct asked *a)
{
    native_wait_end(a->op.native);
    op_fini(&a->op);
    free(a->session_id);
    free(a);
}

/* --- what is said -------------------------------------------------------------------------- */

static void send_event(struct asked *a, const char *event, struct json_out *o)
{
    json_shut(o, '}');
    sse_send(a->stream, event, NULL, buf_data(o->buf), o->buf->len);
}

static void asked_fail(struct asked *a, const struct hf_error *err)
{
    struct json_out o;

    if (a->stream == NULL) {
        http_reply_error(a->rq, err);
    } else {
        o = answer_open(a->op.native);
        problem_write(&o, err);
        send_event(a, "error", &o);
        http_stream_end(a->stream);
    }
    asked_free(a);
}

static void asked_began(void *arg, const struct session_begin *b)
{
    struct asked *a = arg;
    struct json_out o;

    if (a->stream == NULL)
        return;
    o = answer_open(a->op.native);
    json_kstr(&o, "session_id", a->session_id);
    json_ku64(&o, "number", b->number);
    json_kstr(&o, "process_id", b->process_id);
    json_ku64(&o, "offset", b->from);
    json_ktime(&o, "started_at", b->started_wall_ms);
    send_event(a, "started", &o);
}

static void write_result(struct asked *a, struct json_out *o, const struct session_result *r)
{
    struct native *n = a->op.native;
    uint64_t omitted;

    json_kstr(o, "session_id", a->session_id);
    json_ku64(o, "number", r->number);
    write_headtail(n, o, "stdout", r->out, a->base64);
    write_headtail(n, o, "stderr", r->err, a->base64);
    omitted = write_headtail(n, o, "output", r->all, a->base64);
    json_kstr(o, "encoding", a->base64 ? "base64" : "utf8");
    write_exit(o, &r->exit);
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

static void asked_on_done(void *arg, const struct session_result *r, const struct hf_error *err)
{
    struct asked *a = arg;
    struct json_out o;

    if (r == NULL) {
        asked_fail(a, err);
        return;
    }
    o = answer_open(a->op.native);
    write_result(a, &o, r);
    if (a->stream != NULL) {
        send_event(a, "finished", &o);
        http_stream_end(a->stream);
    } else {
        answer_send(a->rq, 200, &o);
    }
    asked_free(a);
}

/* --- the others go ------------------------------------------------------------------------- */

static void asked_on_free(struct op *op)
{
    struct asked *a = list_entry(op, struct asked, op);

    session_run_leave(a->run, false);
    asked_free(a);
}

/* The command goes on, if it has begun: whoever replaces this worker has it. */
static void asked_on_going(struct op *op)
{
    struct asked *a = list_entry(op, struct asked, op);
    uint64_t number = session_run_number(a->run);
    struct hf_error err;

    session_run_leave(a->run, number == 0);
    if (number == 0)
        hf_fail(&err, HF_E_shutting_down, "the daemon is going; the command was not begun");
    else
        hf_fail(&err, HF_E_shutting_down,
                "the daemon is going; look for command %llu in the transcript afterwards",
                (unsigned long long)number);
    asked_fail(a, &err);
}

static const struct op_kind asked_kind = {.on_drain = asked_on_going, .on_free = asked_on_free};

static void asked_on_gone(void *user)
{
    struct asked *a = user;

    session_run_leave(a->run, !a->keep);
    asked_free(a);
}

static void stream_on_room(void *arg)
{
    (void)arg; /* nothing waits for it: what is said is little, but for the last */
}

static const struct http_stream_ops stream_ops = {.on_drain = stream_on_room,
                                                  .on_gone = asked_on_gone};

/* --- asking ---------------------------------------------------------------------------------- */

static void asked_make_stream(struct asked *a)
{
    http_add_header(a->rq, "Cache-Control", "no-store");
    a->stream = sse_start(a->rq, &stream_ops, a);
    a->rq = NULL;
}

static int asked_begin(struct asked *a, struct session *s, struct session_run_ask *ask,
                       struct hf_error *err)
{
    int rc;

    a->base64 = ask->base64;
    a->keep = ask->keep;
    a->session_id = hf_xstrdup(session_id(s));
    ask->spec.began = asked_began;
    rc = session_run(s, &ask->spec, asked_on_done, a, &a->run, err);
    if (rc < 0)
        return rc;
    http_set_user(a->rq, a, asked_on_gone);
    if (http_wants(a->rq, SSE_TYPE) && !http_wants(a->rq, "application/json"))
        asked_make_stream(a);
    return 0;
}

static int run_begin(struct http_request *rq, struct hf_error *err)
{
    struct native *n = native_of(rq);
    struct session *s = session_find(n->engine, http_param(rq, "id"), err);
    json_auto_t *body = NULL;
    struct session_run_ask ask;
    struct asked *a;
    int rc;

    if (s == NULL || native_check_open(n, err) < 0 || (body = ask_json(rq, err)) == NULL)
        return -1;
    rc = session_run_ask_decode(&ask, body, err);
    if (rc == 0)
        rc = native_wait_begin(n, err);
    if (rc == 0) {
        a = hf_xalloc(sizeof *a);
        op_init(&a->op, n, &asked_kind);
        a->rq = rq;
        rc = asked_begin(a, s, &ask, err);
        if (rc < 0)
            asked_free(a);
    }
    session_run_ask_fini(&ask);
    return rc;
}

void session_run_handle(struct http_request *rq)
{
    struct hf_error err;

    if (run_begin(rq, &err) < 0)
        http_reply_error(rq, &err);
}

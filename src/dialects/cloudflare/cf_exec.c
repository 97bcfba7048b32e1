/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_exec.c - POST /api/execute and /api/execute/stream
 *
 * A disconnect does not terminate the command: the platform keeps it running too, as it does a
 * session's shell. Layer: dialects.
 */
#include "dialects/cloudflare/cf_exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/cloudflare/cf_run.h"

struct cf_exec_kept {
    struct buf bytes;
    uint64_t total;
};

struct cf_exec {
    struct cf_call *call;
    struct cf_run *run;
    char *session;
    int64_t timeout_ms;
    bool sessionless;
    struct cf_exec_kept out, err; /* of a plain call */
    struct cf_text text;          /* of a stream */
};

static void exec_free(struct cf_exec *e)
{
    buf_fini(&e->out.bytes);
    buf_fini(&e->err.bytes);
    free(e->session);
    free(e);
}

static void exec_closed(void *arg, enum cf_close_reason why)
{
    struct cf_exec *e = arg;

    (void)why;
    if (e->run != NULL)
        cf_run_leave(e->run, false);
    exec_free(e);
}

/* --- decoding ------------------------------------------------------------------------------ */

static bool exec_decode(struct cf_call *c, struct cf_run_request *a)
{
    if (cf_body(c) == NULL || !cf_text(c, "command", true, &a->command) ||
        !cf_text(c, "cwd", false, &a->cwd) ||
        !cf_int(c, "timeoutMs", 0, LIMIT_DURATION_MS, &a->timeout_ms) || !cf_env_object(c, &a->env))
        return false;
    a->session = cf_session_id(c);
    if (strcmp(a->session, CF_NO_SESSION) == 0)
        a->session = NULL;
    return true;
}

static void exec_begin(struct cf_call *c, const struct cf_run_request *a,
                       const struct cf_wait_ops *wait, const struct cf_run_ops *ops)
{
    struct cf_exec *e = hf_xalloc(sizeof *e);

    e->call = c;
    e->sessionless = a->session == NULL;
    e->session = hf_xstrdup(cf_session_id(c));
    e->timeout_ms = a->timeout_ms;
    cf_wait(c, wait, e);
    cf_run(cf_call_cf(c), a, ops, e, &e->run);
}

static void timeout_text(const struct cf_exec *e, char *out, size_t size)
{
    if (e->timeout_ms > 0)
        snprintf(out, size, "Command timed out after %lld ms", (long long)e->timeout_ms);
    else
        snprintf(out, size, "Command timed out");
}

/* True if it did not end with an exit status; the call has been replied to. */
static bool exec_odd_end(struct cf_exec *e, const struct session_followed *f)
{
    struct cf_call *c = e->call;
    char text[200];

    if (f->exit.kind == EXIT_TIMED_OUT && !e->sessionless) {
        timeout_text(e, text, sizeof text);
        cf_fail(c, 500, "COMMAND_EXECUTION_ERROR", text);
    } else if (f->exit.kind == EXIT_LOST) {
        cf_fail(c, 500, "COMMAND_EXECUTION_ERROR", "the command's exit status is unknown");
    } else if (f->shell_ended) {
        snprintf(text, sizeof text, "The command ended the shell of session '%.100s'", e->session);
        cf_fail_about(c, 410, "SESSION_TERMINATED", text, "sessionId", e->session);
    } else {
        return false;
    }
    exec_free(e);
    return true;
}

static void exec_failed(void *arg, const struct hf_error *err)
{
    struct cf_exec *e = arg;
    struct cf_call *c = e->call;

    exec_free(e);
    if (err->code == HF_E_spawn_failed)
        cf_fail(c, 500, "COMMAND_EXECUTION_ERROR", err->detail);
    else
        cf_error(c, err);
}

/* --- the whole output at once ----------------------------------------------------------------- */

static void plain_bytes(void *arg, const struct slice *s)
{
    struct cf_exec *e = arg;
    struct cf_exec_kept *k = s->stream == STREAM_STDERR ? &e->err : &e->out;
    size_t room = LIMIT_CF_OUTPUT_BYTES - k->bytes.len;

    buf_put(&k->bytes, s->bytes, s->len < room ? s->len : room);
    k->total += s->len;
}

static void plain_gap(void *arg, uint64_t from, uint64_t to)
{
    struct cf_exec *e = arg;

    e->out.total += to - from;
}

/* Never omit output silently. */
static void write_kept(struct json_out *o, const char *key, struct cf_exec_kept *k)
{
    if (k->total > k->bytes.len)
        buf_printf(&k->bytes, "\n[%llu more bytes omitted]\n",
                   (unsigned long long)(k->total - k->bytes.len));
    json_key(o, key);
    json_strn(o, buf_data(&k->bytes), k->bytes.len);
}

static void plain_done(void *arg, const struct session_followed *f)
{
    struct cf_exec *e = arg;
    int code = f->exit.exit_code;
    const char *command = "";
    struct json_out o;
    char text[80];

    if (exec_odd_end(e, f))
        return;
    if (f->exit.kind == EXIT_TIMED_OUT) {
        timeout_text(e, text, sizeof text);
        buf_printf(&e->err.bytes, "%s\n", text);
        e->err.total = e->err.bytes.len;
        code = CF_TIMEOUT_CODE;
    }
    (void)cf_text(e->call, "command", true, &command);
    o = dialect_reply_open(&cf_call_cf(e->call)->base);
    json_kbool(&o, "success", code == 0);
    json_kint(&o, "exitCode", code);
    write_kept(&o, "stdout", &e->out);
    write_kept(&o, "stderr", &e->err);
    json_kstr(&o, "command", command);
    json_kint(&o, "duration", 0);
    json_kstr(&o, "sessionId", e->session);
    cf_send(e->call, 200, &o);
    exec_free(e);
}

static const struct cf_run_ops plain_ops = {
    .bytes = plain_bytes,
    .gap = plain_gap,
    .failed = exec_failed,
    .done = plain_done,
};

static const struct cf_wait_ops plain_wait = {.closed = exec_closed};

void cf_execute(struct cf_call *c)
{
    struct cf_run_request a = {0};
    bool background = false;

    if (cf_body(c) == NULL || !cf_bool(c, "background", &background))
        return;
    if (background)
        cf_process_start(c);
    else if (exec_decode(c, &a))
        exec_begin(c, &a, &plain_wait, &plain_ops);
}

/* --- a stream of output ----------------------------------------------------------------------- */

static void stream_started(void *arg)
{
    struct cf_exec *e = arg;
    const char *command = "";
    struct json_out o;

    (void)cf_text(e->call, "command", true, &command);
    cf_stream_begin(e->call);
    o = cf_event(e->call, "start");
    json_kstr(&o, "command", command);
    json_kstr(&o, "sessionId", e->session);
    cf_event_send(e->call, &o);
}

static bool stream_ready(void *arg)
{
    struct cf_exec *e = arg;

    return cf_stream_ready(e->call);
}

static void stream_bytes(void *arg, const struct slice *s)
{
    struct cf_exec *e = arg;

    cf_send_output(e->call, &e->text, s, NULL);
}

static void stream_gap(void *arg, uint64_t from, uint64_t to)
{
    struct cf_exec *e = arg;

    cf_send_gap(e->call, from, to, NULL);
}

static const char *stream_error(const struct cf_exec *e, const struct session_followed *f,
                                char *text, size_t size)
{
    if (f->exit.kind == EXIT_LOST)
        return "the command's exit status is unknown";
    if (f->exit.kind != EXIT_TIMED_OUT)
        return NULL;
    timeout_text(e, text, size);
    return text;
}

static void stream_done(void *arg, const struct session_followed *f)
{
    struct cf_exec *e = arg;
    char text[80];
    const char *wrong = stream_error(e, f, text, sizeof text);
    struct json_out o;

    cf_send_output_end(e->call, &e->text, NULL);
    o = cf_event(e->call, wrong != NULL ? "error" : "complete");
    if (wrong != NULL) {
        json_kstr(&o, "error", wrong);
        json_kstr(&o, "data", wrong);
    } else {
        json_kint(&o, "exitCode", f->exit.exit_code);
    }
    cf_event_send(e->call, &o);
    cf_stream_end(e->call);
    exec_free(e);
}

static void stream_drain(void *arg)
{
    struct cf_exec *e = arg;

    cf_run_pump(e->run);
}

static const struct cf_run_ops stream_ops = {
    .started = stream_started,
    .ready = stream_ready,
    .bytes = stream_bytes,
    .gap = stream_gap,
    .failed = exec_failed,
    .done = stream_done,
};

static const struct cf_wait_ops stream_wait = {.closed = exec_closed, .drain = stream_drain};

void cf_execute_stream(struct cf_call *c)
{
    struct cf_run_request a = {0};

    if (cf_body(c) != NULL && exec_decode(c, &a))
        exec_begin(c, &a, &stream_wait, &stream_ops);
}

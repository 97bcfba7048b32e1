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
    struct cf_run run;
    char *session, *command;
    int64_t timeout_ms;
    bool sessionless;
    struct cf_exec_kept out, err; /* of a plain call */
    struct cf_text text;          /* of a stream */
};

static struct cf_exec *exec_of(struct cf_run *r)
{
    return list_entry(r, struct cf_exec, run);
}

static void exec_release(struct cf_run *r)
{
    struct cf_exec *e = exec_of(r);

    buf_fini(&e->out.bytes);
    buf_fini(&e->err.bytes);
    free(e->session);
    free(e->command);
}

static void exec_begin(struct cf_request *q, const struct cf_run_ops *ops)
{
    static const struct json_field fields[] = {CF_COMMAND_FIELDS};
    struct cf_launch_request a = {0};
    struct cf_exec *e;

    if (!cf_decode(q, fields, CF_COUNT(fields), &a))
        return;
    a.session = cf_session_or_none(q);
    e = cf_begin(q, &cf_run_kind, sizeof *e);
    e->sessionless = a.session == NULL;
    e->session = hf_xstrdup(cf_session_id(q));
    e->command = hf_xstrdup(a.command);
    e->timeout_ms = a.timeout_ms;
    cf_run_begin(&e->run, ops, &a);
}

/* --- odd ends --------------------------------------------------------------------------------- */

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
    struct call *c = &e->run.call;
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
    return true;
}

static void exec_failed(struct cf_run *r, const struct hf_error *err)
{
    if (err->code == HF_E_spawn_failed)
        cf_fail(&r->call, 500, "COMMAND_EXECUTION_ERROR", err->detail);
    else
        cf_error(&r->call, err);
}

/* --- the whole output at once ----------------------------------------------------------------- */

static void plain_bytes(struct cf_run *r, const struct slice *s)
{
    struct cf_exec *e = exec_of(r);
    struct cf_exec_kept *k = s->stream == STREAM_STDERR ? &e->err : &e->out;
    size_t room = LIMIT_CF_OUTPUT_BYTES - k->bytes.len;

    buf_put(&k->bytes, s->bytes, s->len < room ? s->len : room);
    k->total += s->len;
}

static void plain_gap(struct cf_run *r, uint64_t from, uint64_t to)
{
    exec_of(r)->out.total += to - from;
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

static void plain_done(struct cf_run *r, const struct session_followed *f)
{
    struct cf_exec *e = exec_of(r);
    int code = f->exit.exit_code;
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
    o = dialect_reply_open(r->call.base);
    json_kbool(&o, "success", code == 0);
    json_kint(&o, "exitCode", code);
    write_kept(&o, "stdout", &e->out);
    write_kept(&o, "stderr", &e->err);
    json_kstr(&o, "command", e->command);
    json_kint(&o, "duration", 0);
    json_kstr(&o, "sessionId", e->session);
    cf_send(&r->call, 200, &o);
}

void cf_execute(struct cf_request *q)
{
    static const struct cf_run_ops ops = {
        .bytes = plain_bytes,
        .gap = plain_gap,
        .failed = exec_failed,
        .done = plain_done,
        .drain = cf_drain,
        .release = exec_release,
    };
    struct background {
        bool wanted;
    } b = {false};
    static const struct json_field field = CF_FIELD(struct background, "background", BOOL, wanted);

    if (!cf_decode(q, &field, 1, &b))
        return;
    if (b.wanted)
        cf_process_start(q);
    else
        exec_begin(q, &ops);
}

/* --- a stream of output ----------------------------------------------------------------------- */

static void stream_started(struct cf_run *r)
{
    const struct cf_exec *e = exec_of(r);
    struct json_out o;

    cf_stream_begin(&r->call);
    o = cf_event(&r->call, "start");
    json_kstr(&o, "command", e->command);
    json_kstr(&o, "sessionId", e->session);
    cf_event_send(&r->call, &o);
}

static bool stream_ready(struct cf_run *r)
{
    return call_is_ready(&r->call);
}

static void stream_bytes(struct cf_run *r, const struct slice *s)
{
    cf_send_output(&r->call, &exec_of(r)->text, s, NULL);
}

static void stream_gap(struct cf_run *r, uint64_t from, uint64_t to)
{
    cf_send_gap(&r->call, from, to, NULL);
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

static void stream_done(struct cf_run *r, const struct session_followed *f)
{
    struct cf_exec *e = exec_of(r);
    char text[80];
    const char *wrong = stream_error(e, f, text, sizeof text);
    struct json_out o;

    cf_send_output_end(&r->call, &e->text, NULL);
    o = cf_event(&r->call, wrong != NULL ? "error" : "complete");
    if (wrong != NULL) {
        json_kstr(&o, "error", wrong);
        json_kstr(&o, "data", wrong);
    } else {
        json_kint(&o, "exitCode", f->exit.exit_code);
    }
    cf_event_send(&r->call, &o);
    call_stream_end(&r->call);
}

void cf_execute_stream(struct cf_request *q)
{
    static const struct cf_run_ops ops = {
        .started = stream_started,
        .ready = stream_ready,
        .bytes = stream_bytes,
        .gap = stream_gap,
        .failed = exec_failed,
        .done = stream_done,
        .drain = cf_drain,
        .release = exec_release,
    };

    exec_begin(q, &ops);
}

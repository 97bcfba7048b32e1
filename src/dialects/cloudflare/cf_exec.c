/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_exec.c - POST /api/execute and /api/execute/stream
 *
 * A disconnect does not terminate the command: the platform keeps it running too, as it does a
 * session's shell. Layer: dialects.
 */
#include "dialects/cloudflare/cf_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/cloudflare/cf_run.h"
#include "dialects/cloudflare/cloudflare_limits.h"
#include "dialects/common/collect.h"

struct cf_exec {
    struct cf_run run;
    char *session, *command;
    bool sessionless;
    struct collect_kept out, err; /* of a plain call */
    struct whole_text text;       /* of a stream */
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
    static const struct json_field fields[] = {CF_COMMAND_FIELDS,
                                               CF_LAUNCH_FIELD("background", BOOL, background)};
    struct cf_launch_request a = {0};
    struct cf_exec *e;

    /* A stream is never in the background. */
    if (!cf_decode(q, fields, CF_COUNT(fields) - (ops->started != NULL), &a))
        return;
    if (a.background) {
        cf_process_start(q);
        return;
    }
    a.session = cf_session_or_none(q);
    e = cf_begin(q, &cf_run_kind, sizeof *e);
    e->sessionless = a.session == NULL;
    e->session = hf_xstrdup(cf_session_id(q));
    e->command = hf_xstrdup(a.command);
    cf_run_begin(&e->run, ops, &a);
}

/* --- odd ends --------------------------------------------------------------------------------- */

/* The reason why it has no exit status; NULL: it has one. */
static const char *exec_wrong(const struct cf_exec *e, const struct session_followed *f, char *text,
                              size_t size)
{
    if (f->exit.kind == EXIT_LOST)
        return "the command's exit status is unknown";
    if (f->exit.kind != EXIT_TIMED_OUT)
        return NULL;
    /* Clients search for these words, which differ. */
    snprintf(text, size, "Command %s after %lldms", e->sessionless ? "timed out" : "timeout",
             (long long)e->run.timeout_ms);
    return text;
}

static void exec_failed(struct cf_run *r, const struct hf_error *err)
{
    if (err->code == HF_E_spawn_failed)
        cf_fail(&r->follow.call, 500, "COMMAND_EXECUTION_ERROR", err->detail);
    else
        cf_error(&r->follow.call, err);
}

/* --- the whole output at once ----------------------------------------------------------------- */

static void plain_bytes(struct cf_run *r, const struct slice *s)
{
    struct cf_exec *e = exec_of(r);

    collect_keep(s->stream == STREAM_STDERR ? &e->err : &e->out, s, LIMIT_CF_OUTPUT_BYTES);
}

static void plain_gap(struct cf_run *r, uint64_t from, uint64_t to)
{
    exec_of(r)->out.total += to - from;
}

/* Never omit output silently. */
static void write_kept(struct json_out *o, const char *key, struct collect_kept *k)
{
    if (k->total > k->bytes.len)
        buf_printf(&k->bytes, "\n[%llu more bytes omitted]\n",
                   (unsigned long long)(k->total - k->bytes.len));
    json_key(o, key);
    json_strn(o, buf_data(&k->bytes), k->bytes.len);
}

static void plain_reply(struct cf_exec *e, int code)
{
    struct json_out o = dialect_reply_open(e->run.follow.call.base);

    json_kbool(&o, "success", code == 0);
    json_kint(&o, "exitCode", code);
    write_kept(&o, "stdout", &e->out);
    write_kept(&o, "stderr", &e->err);
    json_kstr(&o, "command", e->command);
    json_kint(&o, "duration", 0);
    json_kstr(&o, "sessionId", e->session);
    cf_send(&e->run.follow.call, 200, &o);
}

/* A time-out is an exit status of a command without a session only. */
static void plain_done(struct cf_run *r, const struct session_followed *f)
{
    struct cf_exec *e = exec_of(r);
    char text[200];
    const char *wrong = exec_wrong(e, f, text, sizeof text);

    if (wrong != NULL && f->exit.kind == EXIT_TIMED_OUT && e->sessionless) {
        buf_printf(&e->err.bytes, "%s\n", wrong);
        e->err.total = e->err.bytes.len;
        plain_reply(e, CF_TIMEOUT_CODE);
    } else if (wrong != NULL) {
        cf_fail(&r->follow.call, 500, "COMMAND_EXECUTION_ERROR", wrong);
    } else if (f->shell_ended) {
        snprintf(text, sizeof text, "The command ended the shell of session '%.100s'", e->session);
        cf_fail_about(&r->follow.call, 410, "SESSION_TERMINATED", text, "sessionId", e->session);
    } else {
        plain_reply(e, f->exit.exit_code);
    }
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

    exec_begin(q, &ops);
}

/* --- a stream of output ----------------------------------------------------------------------- */

static void stream_started(struct cf_run *r)
{
    const struct cf_exec *e = exec_of(r);
    struct json_out o;

    cf_stream_begin(&r->follow.call);
    o = cf_event(&r->follow.call, "start");
    json_kstr(&o, "command", e->command);
    json_kstr(&o, "sessionId", e->session);
    cf_event_send(&r->follow.call, &o);
}

static void stream_bytes(struct cf_run *r, const struct slice *s)
{
    cf_send_output(&r->follow.call, &exec_of(r)->text, s, NULL);
}

static void stream_gap(struct cf_run *r, uint64_t from, uint64_t to)
{
    cf_send_gap(&r->follow.call, from, to, NULL);
}

static void stream_done(struct cf_run *r, const struct session_followed *f)
{
    struct cf_exec *e = exec_of(r);
    char text[80];
    const char *wrong = exec_wrong(e, f, text, sizeof text);
    struct json_out o;

    cf_send_output_end(&r->follow.call, &e->text, NULL);
    o = cf_event(&r->follow.call, wrong != NULL ? "error" : "complete");
    if (wrong != NULL) {
        json_kstr(&o, "error", wrong);
        json_kstr(&o, "data", wrong);
    } else {
        json_kint(&o, "exitCode", f->exit.exit_code);
    }
    cf_event_send(&r->follow.call, &o);
    call_stream_end(&r->follow.call);
}

void cf_execute_stream(struct cf_request *q)
{
    static const struct cf_run_ops ops = {
        .started = stream_started,
        .bytes = stream_bytes,
        .gap = stream_gap,
        .failed = exec_failed,
        .done = stream_done,
        .drain = cf_drain,
        .release = exec_release,
    };

    exec_begin(q, &ops);
}

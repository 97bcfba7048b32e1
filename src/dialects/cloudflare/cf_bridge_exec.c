/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_bridge_exec.c - POST /v1/sandbox/{id}/exec: a program with its arguments, its output as base64
 * events
 *
 * Clients decode each event as text on its own, so no character may be split across events.
 * Comments keep the stream of a silent command alive. A disconnect terminates the command, because
 * no client could reach it again. Layer: dialects.
 */
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "dialects/cloudflare/cf_bridge.h"
#include "dialects/cloudflare/cf_run.h"
#include "dialects/cloudflare/cf_wire.h"
#include "dialects/common/whole_text.h"

struct cf_bridge_exec {
    struct cf_run run;
    struct whole_text text;
};

static struct cf_bridge_exec *exec_of(struct cf_run *r)
{
    return list_entry(r, struct cf_bridge_exec, run);
}

/* --- events ----------------------------------------------------------------------------------- */

static void send_bytes(struct cf_run *r, bool is_err, const struct buf *bytes)
{
    struct buf *out = &r->follow.call.base->scratch;

    if (bytes->len == 0)
        return;
    buf_clear(out);
    base64_encode(out, buf_data(bytes), bytes->len);
    call_event(&r->follow.call, is_err ? "stderr" : "stdout", out);
}

static void exec_started(struct cf_run *r)
{
    cf_stream_begin(&r->follow.call);
}

static void exec_bytes(struct cf_run *r, const struct slice *s)
{
    bool is_err = s->stream == STREAM_STDERR;
    struct buf whole = {0};

    whole_text_feed(&exec_of(r)->text, is_err, s->bytes, s->len, &whole);
    send_bytes(r, is_err, &whole);
    buf_fini(&whole);
}

/* Never drop output silently. */
static void exec_gap(struct cf_run *r, uint64_t from, uint64_t to)
{
    struct buf text = {0};

    buf_printf(&text, "[%llu bytes of output were lost]\n", (unsigned long long)(to - from));
    send_bytes(r, true, &text);
    buf_fini(&text);
}

static void exec_done(struct cf_run *r, const struct session_followed *f)
{
    bool lost = f->exit.kind == EXIT_LOST, timed_out = f->exit.kind == EXIT_TIMED_OUT;
    struct json_out o;

    for (int is_err = 0; is_err < 2; is_err++) {
        struct buf rest = {0};

        whole_text_end(&exec_of(r)->text, is_err, &rest);
        send_bytes(r, is_err, &rest);
        buf_fini(&rest);
    }
    o = dialect_reply_open(r->follow.call.base);
    if (lost) {
        json_kstr(&o, "error", "the command's exit status is unknown");
        json_kstr(&o, "code", "exec_error");
    } else {
        json_kint(&o, "exit_code", timed_out ? CF_TIMEOUT_CODE : f->exit.exit_code);
    }
    json_close(&o, '}');
    call_event(&r->follow.call, lost ? "error" : "exit", o.buf);
    call_stream_end(&r->follow.call);
}

/* Do not invent an exit: the stream just ends. */
static void exec_drain(struct call *c)
{
    if (c->streams)
        call_stream_end(c);
    else
        bridge_error(call_end(c), 503, "exec_transport_error", "the daemon is shutting down");
}

static const struct cf_run_ops run_ops = {
    .started = exec_started,
    .bytes = exec_bytes,
    .gap = exec_gap,
    .done = exec_done,
    .drain = exec_drain,
    .end_if_disconnected = true,
};

/* --- decoding --------------------------------------------------------------------------------- */

/* The path must be in the workspace and must not leave it again. */
static bool is_inside(const char *path)
{
    size_t len = strlen(CF_WORKSPACE);
    const char *at = path;

    while ((at = strstr(at, "..")) != NULL) {
        if ((at == path || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'))
            return false;
        at += 2;
    }
    return path[0] != '/' ||
           (strncmp(path, CF_WORKSPACE, len) == 0 && (path[len] == '/' || path[len] == '\0'));
}

static const struct json_field fields[] = {
    CF_LAUNCH_FIELD("argv", ANY, argv),
    CF_LAUNCH_FIELD("cwd", STR, cwd),
    CF_LAUNCH_FIELD("timeout_ms", INT, timeout_ms, .max = LIMIT_DURATION_MS),
};

void cf_bridge_exec(struct http_request *rq)
{
    const char *sandbox = bridge_sandbox(rq), *name = http_header(rq, "Session-Id");
    struct cf_launch_request a = {.group = sandbox};
    json_auto_t *body = sandbox == NULL ? NULL : bridge_decode(rq, fields, CF_COUNT(fields), &a);
    char id[BRIDGE_ID_BYTES];
    struct cf_bridge_exec *e;

    if (body == NULL)
        return;
    if (!cf_is_argv(a.argv)) {
        bridge_error(rq, 400, "invalid_request", "argv must be a list of strings");
    } else if (a.cwd != NULL && !is_inside(a.cwd)) {
        bridge_error(rq, 403, "invalid_request", "cwd must be in " CF_WORKSPACE);
    } else if (name == NULL || (a.session = bridge_session(rq, sandbox, name, id)) != NULL) {
        e = call_begin(rq, &cf_run_kind, sizeof *e);
        cf_run_begin(&e->run, &run_ops, &a);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_bridge_exec.c - POST /v1/sandbox/{id}/exec: a program with its arguments, its output as base64
 * events
 *
 * Clients decode each event as text on its own, so no character may be split across events.
 * Comments keep the stream of a silent command alive. A disconnect terminates the command, because
 * no client could reach it again. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "dialects/cloudflare/cf_bridge.h"
#include "dialects/cloudflare/cf_exec.h"
#include "dialects/cloudflare/cf_run.h"
#include "dialects/common/call.h"
#include "transport/sse.h"

struct cf_bridge_exec {
    struct call call;
    struct cf *cf;
    struct cf_run *run; /* NULL: it has ended, or nobody follows it */
    struct cf_text text;
};

static void exec_leave(struct cf_bridge_exec *e, bool end)
{
    if (e->run != NULL)
        cf_run_leave(e->run, end);
    e->run = NULL;
}

static void exec_release(struct call *c)
{
    exec_leave((struct cf_bridge_exec *)c, false);
}

static void exec_disconnected(struct call *c)
{
    exec_leave((struct cf_bridge_exec *)c, true);
}

/* Do not invent an exit: the stream just ends. */
static void exec_drain(struct call *c)
{
    exec_leave((struct cf_bridge_exec *)c, false);
    if (c->out != NULL)
        call_stream_end(c);
    else
        bridge_error(call_end(c), 503, "exec_transport_error", "the daemon is shutting down");
}

static void exec_room(struct call *c)
{
    struct cf_bridge_exec *e = (struct cf_bridge_exec *)c;

    if (e->run != NULL)
        cf_run_pump(e->run);
}

static const struct call_kind exec_kind = {
    .release = exec_release,
    .disconnected = exec_disconnected,
    .drain = exec_drain,
    .room = exec_room,
};

/* --- events ----------------------------------------------------------------------------------- */

static void send_event(struct cf_bridge_exec *e, const char *event, const struct buf *data)
{
    sse_send(e->call.out, event, NULL, buf_data(data), data->len);
}

static void send_bytes(struct cf_bridge_exec *e, bool is_err, const struct buf *bytes)
{
    if (bytes->len == 0)
        return;
    buf_clear(&e->cf->base.scratch);
    base64_encode(&e->cf->base.scratch, buf_data(bytes), bytes->len);
    send_event(e, is_err ? "stderr" : "stdout", &e->cf->base.scratch);
}

/* --- command callbacks ------------------------------------------------------------------------ */

static void exec_started(void *arg)
{
    struct cf_bridge_exec *e = arg;

    http_add_header(e->call.rq, "Cache-Control", "no-cache");
    call_stream_sse(&e->call);
}

static bool exec_ready(void *arg)
{
    struct cf_bridge_exec *e = arg;

    return e->call.out != NULL && http_stream_ready(e->call.out);
}

static void exec_bytes(void *arg, const struct slice *s)
{
    struct cf_bridge_exec *e = arg;
    bool is_err = s->stream == STREAM_STDERR;
    struct buf whole = {0};

    cf_text_feed(&e->text, is_err, s->bytes, s->len, &whole);
    send_bytes(e, is_err, &whole);
    buf_fini(&whole);
}

/* Never drop output silently. */
static void exec_gap(void *arg, uint64_t from, uint64_t to)
{
    struct buf text = {0};

    buf_printf(&text, "[%llu bytes of output were lost]\n", (unsigned long long)(to - from));
    send_bytes(arg, true, &text);
    buf_fini(&text);
}

static void exec_failed(void *arg, const struct hf_error *err)
{
    struct cf_bridge_exec *e = arg;

    e->run = NULL;
    bridge_fail(call_end(&e->call), err);
}

static void exec_done(void *arg, const struct session_followed *f)
{
    struct cf_bridge_exec *e = arg;
    bool timed_out = f->exit.kind == EXIT_TIMED_OUT;
    struct json_out o;

    for (int is_err = 0; is_err < 2; is_err++) {
        struct buf rest = {0};

        cf_text_end(&e->text, is_err, &rest);
        send_bytes(e, is_err, &rest);
        buf_fini(&rest);
    }
    o = dialect_reply_open(&e->cf->base);
    if (f->exit.kind == EXIT_LOST) {
        json_kstr(&o, "error", "the command's exit status is unknown");
        json_kstr(&o, "code", "exec_error");
    } else {
        json_kint(&o, "exit_code", timed_out ? CF_TIMEOUT_CODE : f->exit.exit_code);
    }
    json_close(&o, '}');
    send_event(e, f->exit.kind == EXIT_LOST ? "error" : "exit", o.buf);
    e->run = NULL;
    call_stream_end(&e->call);
}

static const struct cf_run_ops run_ops = {
    .started = exec_started,
    .ready = exec_ready,
    .bytes = exec_bytes,
    .gap = exec_gap,
    .failed = exec_failed,
    .done = exec_done,
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

/* null counts as absent, as it does for the routes. */
static const json_t *given(const json_t *body, const char *key)
{
    const json_t *value = json_object_get(body, key);

    return json_is_null(value) ? NULL : value;
}

/* False: the request has been replied to. */
static bool exec_decode(struct http_request *rq, const json_t *body, struct cf_run_request *a)
{
    const json_t *timeout = given(body, "timeout_ms"), *cwd = given(body, "cwd");

    a->argv = json_object_get(body, "argv");
    if (!cf_is_argv(a->argv)) {
        bridge_error(rq, 400, "invalid_request", "argv must be a list of strings");
        return false;
    }
    if ((cwd != NULL && !json_is_string(cwd)) ||
        (timeout != NULL && (!json_is_integer(timeout) || json_integer_value(timeout) < 0 ||
                             json_integer_value(timeout) > LIMIT_DURATION_MS))) {
        bridge_error(rq, 400, "invalid_request", "cwd must be a string, timeout_ms a number");
        return false;
    }
    a->cwd = json_string_value(cwd);
    a->timeout_ms = json_integer_value(timeout);
    if (a->cwd == NULL || is_inside(a->cwd))
        return true;
    bridge_error(rq, 403, "invalid_request", "cwd must be in " CF_WORKSPACE);
    return false;
}

void cf_bridge_exec(struct http_request *rq)
{
    const char *sandbox = bridge_sandbox(rq), *name = http_header(rq, "Session-Id");
    json_auto_t *body = sandbox == NULL ? NULL : bridge_body(rq);
    struct cf_run_request a = {.group = sandbox};
    char id[BRIDGE_ID_BYTES];
    struct cf_bridge_exec *e;

    if (body == NULL || !exec_decode(rq, body, &a))
        return;
    if (name != NULL && (a.session = bridge_session(rq, sandbox, name, id)) == NULL)
        return;
    e = call_begin(rq, &exec_kind, sizeof *e);
    e->cf = cf_of(rq);
    cf_run(e->cf, &a, &run_ops, e, &e->run);
}

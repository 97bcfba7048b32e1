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
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/cloudflare/cf_bridge.h"
#include "dialects/cloudflare/cf_exec.h"
#include "dialects/cloudflare/cf_run.h"
#include "transport/sse.h"

struct cf_bridge_exec {
    struct pending pending;
    struct cf *cf;
    struct http_request *rq; /* until the stream begins */
    struct http_stream *stream;
    struct cf_run *run;
    struct cf_text text;
};

static void exec_free(struct cf_bridge_exec *e)
{
    pending_fini(&e->pending);
    free(e);
}

static void exec_on_free(struct pending *p)
{
    struct cf_bridge_exec *e = list_entry(p, struct cf_bridge_exec, pending);

    cf_run_leave(e->run, false);
    exec_free(e);
}

/* Do not invent an exit: the stream just ends. */
static void exec_drain(struct pending *p)
{
    struct cf_bridge_exec *e = list_entry(p, struct cf_bridge_exec, pending);

    cf_run_leave(e->run, false);
    if (e->stream != NULL)
        http_stream_end(e->stream);
    else
        bridge_error(e->rq, 503, "exec_transport_error", "the daemon is shutting down");
    exec_free(e);
}

static const struct pending_kind exec_kind = {.drain = exec_drain, .free = exec_on_free};

static void exec_on_disconnect(void *arg)
{
    struct cf_bridge_exec *e = arg;

    cf_run_leave(e->run, true);
    exec_free(e);
}

/* --- events ----------------------------------------------------------------------------------- */

static void send_event(struct cf_bridge_exec *e, const char *event, const struct buf *data)
{
    sse_send(e->stream, event, NULL, buf_data(data), data->len);
}

static void send_bytes(struct cf_bridge_exec *e, bool is_err, const struct buf *bytes)
{
    if (bytes->len == 0)
        return;
    buf_clear(&e->cf->scratch);
    base64_encode(&e->cf->scratch, buf_data(bytes), bytes->len);
    send_event(e, is_err ? "stderr" : "stdout", &e->cf->scratch);
}

static void stream_on_drain(void *arg)
{
    cf_run_pump(((struct cf_bridge_exec *)arg)->run);
}

static const struct http_stream_ops stream_ops = {.on_drain = stream_on_drain,
                                                  .on_disconnect = exec_on_disconnect};

/* --- command callbacks ------------------------------------------------------------------------ */

static void exec_started(void *arg)
{
    struct cf_bridge_exec *e = arg;

    http_add_header(e->rq, "Cache-Control", "no-cache");
    e->stream = sse_start(e->rq, &stream_ops, e);
}

static bool exec_ready(void *arg)
{
    struct cf_bridge_exec *e = arg;

    return e->stream != NULL && http_stream_ready(e->stream);
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

    bridge_fail(e->rq, err);
    exec_free(e);
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
    o = cf_reply(e->cf);
    if (f->exit.kind == EXIT_LOST) {
        json_kstr(&o, "error", "the command's exit status is unknown");
        json_kstr(&o, "code", "exec_error");
    } else {
        json_kint(&o, "exit_code", timed_out ? CF_TIMEOUT_CODE : f->exit.exit_code);
    }
    json_close(&o, '}');
    send_event(e, f->exit.kind == EXIT_LOST ? "error" : "exit", o.buf);
    http_stream_end(e->stream);
    exec_free(e);
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
    e = hf_xalloc(sizeof *e);
    e->cf = cf_of(rq);
    e->rq = rq;
    pending_init(&e->pending, &e->cf->pending, &exec_kind);
    http_set_user(rq, e, exec_on_disconnect);
    cf_run(e->cf, &a, &run_ops, e, &e->run);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_remote_command.c - decodes an exec or attach, runs it and reports its Status. Layer:
 * dialects.
 */
#include "dialects/kubernetes/kube_remote_command.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/kubernetes/kube_container.h"

/* --- decoding requests ---------------------------------------------------------------------- */

static void decode_command(struct http_request *rq, struct remote_request *request)
{
    const char *name, *value;
    size_t i = 0, n = 0;

    while (http_query_each(rq, &i, &name, &value))
        n += strcmp(name, "command") == 0;
    request->argv = hf_xalloc((n + 1) * sizeof *request->argv);
    for (i = 0; http_query_each(rq, &i, &name, &value);)
        if (strcmp(name, "command") == 0)
            request->argv[request->argc++] = hf_xstrdup(value);
}

static bool decode_container(struct http_request *rq, struct remote_request *request)
{
    const char *name = http_query(rq, "container");
    bool main = name == NULL || name[0] == '\0' || strcmp(name, KUBE_MAIN) == 0;
    struct process *p = container_find(dialect_base_of(rq)->engine, main ? KUBE_MAIN : name);

    if (p == NULL && !main) {
        kube_refuse(rq, 400, "container %.253s is not valid for pod " KUBE_POD, name);
        return false;
    }
    if (p == NULL && !request->exec) {
        kube_refuse(rq, 400, "no process in pod " KUBE_POD " to attach to");
        return false;
    }
    if (!request->exec)
        request->process = process_ref(p);
    return true;
}

static bool decode_check(struct http_request *rq, const struct remote_request *request)
{
    if (!request->in && !request->out && !request->err)
        kube_refuse(rq, 400, "you must specify at least 1 of stdin, stdout, stderr");
    else if (request->exec && (request->argc == 0 || request->argv[0][0] == '\0'))
        kube_refuse(rq, 400, "you must specify at least 1 command for the container");
    else if (request->in && http_role(rq) < ROLE_TYPE)
        kube_refuse(rq, 403, "this token may only watch: attach without standard input");
    else
        return true;
    return false;
}

bool remote_request_decode(struct http_request *rq, bool exec, struct remote_request *request)
{
    *request = (struct remote_request){
        .exec = exec,
        .in = kube_flag(rq, "stdin"),
        .out = kube_flag(rq, "stdout"),
        .err = kube_flag(rq, "stderr"),
        .tty = kube_flag(rq, "tty"),
        .role = http_role(rq),
        .peer = hf_xstrdup(http_peer(rq)),
    };
    if (request->tty && request->err) { /* a terminal has one stream */
        request->out = true;
        request->err = false;
    }
    if (exec)
        decode_command(rq, request);
    if (kube_is_pod(rq) && decode_check(rq, request) && decode_container(rq, request))
        return true;
    remote_request_fini(request);
    return false;
}

void remote_request_fini(struct remote_request *request)
{
    for (size_t i = 0; i < request->argc; i++)
        free(request->argv[i]);
    free(request->argv);
    free(request->peer);
    process_unref(request->process);
    *request = (struct remote_request){0};
}

/* --- the end ---------------------------------------------------------------------------------- */

static void remote_end(struct remote *r, const struct kube_status *s, bool draining)
{
    if (r->ended)
        return;
    r->ended = true;
    timer_stop(r->size);
    kube_stream_fini(&r->tap);
    r->ops->end(r, s, draining);
}

static void on_ended(void *arg, const struct exit_record *x)
{
    struct remote *r = arg;
    struct kube_status s;

    kube_status_exit(&s, x);
    if (r->lost > 0)
        kube_status_failure(&s, "%llu bytes of output were lost; exit code %d",
                            (unsigned long long)r->lost, x->exit_code);
    remote_end(r, &s, false);
}

static void on_failed(void *arg, const struct hf_error *err)
{
    struct kube_status s;

    kube_status_failure(&s, "%s", err->detail);
    remote_end(arg, &s, false);
}

/* The process keeps running under the next worker. */
static void remote_drain(struct pending *p)
{
    struct remote *r = list_entry(p, struct remote, pending);
    char name[CONTAINER_NAME_BYTES];
    struct kube_status s;

    if (r->tap.process == NULL) {
        kube_status_failure(&s, "the daemon is shutting down; nothing was started");
    } else {
        container_name(r->kube->base.engine, r->tap.process, name);
        kube_status_failure(
            &s, "the daemon is shutting down; if it is replaced, attach to container %s", name);
    }
    remote_end(r, &s, true);
}

static void remote_free(struct pending *p)
{
    struct remote *r = list_entry(p, struct remote, pending);

    r->ops->free(r);
}

static const struct pending_kind remote_kind = {.drain = remote_drain, .free = remote_free};

void remote_leave(struct remote *r, bool in_order)
{
    if (in_order && r->tap.viewer != NULL)
        viewer_leave(r->tap.viewer);
    if (in_order && !r->ended && r->request.exec && r->request.in && !r->request.tty)
        kube_stream_type_eof(&r->tap);
}

/* --- output and input ----------------------------------------------------------------------- */

static bool on_ready(void *arg)
{
    struct remote *r = arg;

    return r->ops->ready(r);
}

static void on_bytes(void *arg, enum stream stream, const char *bytes, size_t len)
{
    struct remote *r = arg;

    if (stream == STREAM_STDERR && r->request.err)
        r->ops->send(r, CHANNEL_STDERR, bytes, len);
    else if (stream != STREAM_STDERR && r->request.out)
        r->ops->send(r, CHANNEL_STDOUT, bytes, len);
}

static uint64_t on_sent(void *arg)
{
    struct remote *r = arg;

    return r->ops->sent(r);
}

static uint64_t on_confirmed(void *arg)
{
    struct remote *r = arg;

    return r->ops->confirmed(r);
}

/* A terminal is redrawn from its screen; other readers must learn that output is missing. */
static void on_gap(void *arg, uint64_t bytes)
{
    struct remote *r = arg;

    if (!r->tap.draw)
        r->lost += bytes;
}

static void on_room(void *arg)
{
    struct remote *r = arg;

    r->ops->room(r);
}

static const struct tap_ops tap_ops = {
    .ready = on_ready,
    .bytes = on_bytes,
    .sent = on_sent,
    .confirmed = on_confirmed,
    .gap = on_gap,
    .room = on_room,
    .ended = on_ended,
    .failed = on_failed,
};

size_t remote_type(struct remote *r, const char *bytes, size_t len)
{
    return r->ended || !r->request.in ? len : kube_stream_type(&r->tap, bytes, len);
}

bool remote_type_all(struct remote *r, const char *bytes, size_t len)
{
    return r->ended || !r->request.in || kube_stream_type_all(&r->tap, bytes, len);
}

void remote_type_eof(struct remote *r)
{
    if (!r->ended && r->request.in)
        kube_stream_type_eof(&r->tap);
}

void remote_pump(struct remote *r)
{
    kube_stream_pump(&r->tap);
}

/* --- setup ---------------------------------------------------------------------------------- */

static struct viewer_options view(const struct remote *r)
{
    return (struct viewer_options){
        .only_stream = -1,
        .read_only = r->request.role < ROLE_TYPE,
        .guest = r->request.role < ROLE_TYPE,
        .role = (enum viewer_role)r->request.role,
        .name = r->request.peer,
        .rows = r->rows,
        .cols = r->cols,
        .terminal = r->request.tty,
        .verbatim = !r->request.tty,
    };
}

/* A pipe's writer waits for its reader while the reader is attached: a copy must be complete. */
static void begin_exec(struct remote *r)
{
    struct viewer_options v = view(r);
    struct spawn_spec spec;

    spec_init(&spec);
    spec.command = r->request.argv[0];
    spec.args = (const char *const *)r->request.argv + 1;
    spec.arg_count = r->request.argc - 1;
    spec.pty = r->request.tty;
    spec.rows = r->rows;
    spec.cols = r->cols;
    if (!r->request.tty)
        spec.stdin_mode = r->request.in ? STDIN_PIPE : STDIN_NULL;
    v.since = SINCE_OFFSET;
    v.lossless = !r->request.tty;
    kube_stream_spawn(&r->tap, r->kube->base.engine, &r->kube->base.pending, &spec, &v);
}

static void begin_attach(struct remote *r)
{
    struct viewer_options v = view(r);
    struct hf_error err;

    v.since = r->tap.draw ? SINCE_SCREEN : SINCE_LAST;
    v.offset = r->tap.draw ? 0 : KUBE_REPLAY_BYTES;
    if (!kube_stream_attach(&r->tap, r->request.process, &v, &err))
        on_failed(r, &err);
    else
        r->ops->room(r);
}

static void begin(struct remote *r)
{
    if (r->begun || r->ended)
        return;
    r->begun = true;
    timer_stop(r->size);
    if (r->request.exec)
        begin_exec(r);
    else
        begin_attach(r);
}

static void on_size_late(struct timer *t, void *arg)
{
    (void)t;
    begin(arg);
}

/* The size arrives as the first message, but a program reads it right after its start. Not every
 * client sends one. */
void remote_begin(struct remote *r)
{
    if (!r->request.exec || !r->request.tty || r->rows > 0) {
        begin(r);
        return;
    }
    timer_start(r->size, KUBE_REPLY_MS);
    r->ops->ping(r);
}

void remote_heard(struct remote *r)
{
    if (timer_is_active(r->size))
        timer_start(r->size, KUBE_SIZE_MS);
}

static void on_size(void *arg, int64_t rows, int64_t cols)
{
    struct remote *r = arg;

    r->rows = rows < TERMINAL_SIZE_MAX ? rows : TERMINAL_SIZE_MAX;
    r->cols = cols < TERMINAL_SIZE_MAX ? cols : TERMINAL_SIZE_MAX;
    if (r->tap.viewer != NULL)
        kube_stream_resize(&r->tap, r->rows, r->cols);
}

void remote_sizes(struct remote *r, const char *text, size_t len)
{
    if (r->ended || !r->request.tty)
        return;
    channel_sizes(text, len, on_size, r);
    if (timer_is_active(r->size) && r->rows > 0)
        begin(r);
}

static bool has_terminal(struct process *p)
{
    struct process_view v;

    process_view(p, &v);
    return v.pty;
}

void remote_init(struct remote *r, struct kube *k, const struct remote_ops *ops,
                 struct remote_request *request)
{
    r->kube = k;
    r->ops = ops;
    r->request = *request;
    *request = (struct remote_request){0};
    kube_stream_init(&r->tap, &tap_ops, r, r->request.role >= ROLE_TYPE, LIMIT_KUBE_HELD_BYTES);
    r->tap.draw = r->request.tty && (r->request.exec || has_terminal(r->request.process));
    r->size = timer_new(k->base.loop, on_size_late, r);
    pending_init(&r->pending, &k->base.pending, &remote_kind);
}

void remote_fini(struct remote *r)
{
    timer_close(r->size);
    kube_stream_fini(&r->tap);
    remote_request_fini(&r->request);
    pending_fini(&r->pending);
}

/* --- calls ---------------------------------------------------------------------------------- */

static void remote_open(struct http_request *rq, bool exec)
{
    struct remote_request request;

    if (!remote_request_decode(rq, exec, &request))
        return;
    if (http_is_websocket(rq))
        remote_ws(rq, &request);
    else
        remote_spdy(rq, &request);
    remote_request_fini(&request);
}

void kube_exec(struct http_request *rq)
{
    remote_open(rq, true);
}

void kube_attach(struct http_request *rq)
{
    remote_open(rq, false);
}

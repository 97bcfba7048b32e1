/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pty.c - GET /ws/pty: the terminal of the stable generation
 *
 * Bytes are binary frames both ways. A client that comes back gets a snapshot, which begins with a
 * reset, so that what its terminal still shows does not matter; `ready` follows. The original
 * replays bytes into whatever is left on the screen, and keeps the dead terminal of
 * an ended shell for ever; here the end is told, and the next client has a new shell. Layer: dialects.
 */
#include "dialects/cloudflare/pty.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/signals.h"
#include "base/text.h"
#include "dialects/cloudflare/wire.h"
#include "dialects/common/console.h"

/* --- to the client -------------------------------------------------------------------------- */

static void send_json(struct console *c, struct json_out *o)
{
    json_shut(o, '}');
    ws_send_text(console_ws(c), buf_data(o->buf), o->buf->len);
}

static struct json_out message(struct console *c, const char *type)
{
    struct json_out o = cf_answer(console_user(c));

    json_kstr(&o, "type", type);
    return o;
}

static void send_error(struct console *c, const char *text)
{
    struct json_out o = message(c, "error");

    json_kstr(&o, "message", text);
    send_json(c, &o);
}

static void pty_ready(struct console *c, uint64_t offset)
{
    struct json_out o = message(c, "ready");

    (void)offset;
    send_json(c, &o);
}

static void pty_snapshot(struct console *c, uint64_t offset, size_t len)
{
    (void)c, (void)offset, (void)len;
}

static void pty_snapshot_bytes(struct console *c, const char *bytes, size_t len)
{
    struct iovec iov = {(void *)(uintptr_t)bytes, len};

    ws_send(console_ws(c), WS_BINARY, &iov, 1);
}

/* A snapshot follows, which says it all; without one it is said in words. */
static void fresh_gap(struct console *c, uint64_t from, uint64_t to)
{
    char text[100];

    snprintf(text, sizeof text, "%llu bytes of output are gone: too slow",
             (unsigned long long)(to - from));
    send_error(c, text);
}

static void pty_exited(struct console *c, const struct exit_record *x)
{
    struct json_out o = message(c, "exit");

    json_kint(&o, "code", x->exit_code >= 0 ? x->exit_code : 1);
    if (x->signum > 0)
        json_kstr(&o, "signal", signal_name(x->signum));
    send_json(c, &o);
    console_close(c, 1000, "Terminal exited");
}

/* --- from the client ---------------------------------------------------------------------------- */

static void pty_refused(struct console *c, const struct hf_error *err)
{
    send_error(c, err->detail);
}

/* The addon sends its size by itself, so one that may only watch is not told each time. */
static void pty_text(struct console *c, const char *text, size_t len)
{
    int64_t cols, rows;
    struct hf_error err;

    switch (cf_control_decode(text, len, &cols, &rows)) {
    case CF_CONTROL_BAD: send_error(c, "Invalid control message"); break;
    case CF_CONTROL_SIZE:
        send_error(c, "Invalid dimensions: cols and rows must be positive");
        break;
    case CF_CONTROL_RESIZE:
        if (ws_role(console_ws(c)) >= ROLE_TYPE &&
            viewer_resize(console_viewer(c), rows, cols, &err) < 0)
            send_error(c, err.detail);
        break;
    default: break;
    }
}

static const struct console_ops snapshot_ops = {
    .snapshot = pty_snapshot,
    .snapshot_bytes = pty_snapshot_bytes,
    .replay_done = pty_ready,
    .exited = pty_exited,
    .text = pty_text,
    .refused = pty_refused,
};

static const struct console_ops fresh_ops = {
    .gap = fresh_gap,
    .replay_done = pty_ready,
    .exited = pty_exited,
    .text = pty_text,
    .refused = pty_refused,
};

/* --- attach ---------------------------------------------------------------------------------------- */

void cf_pty_attach(struct http_request *rq, struct process *p, bool fresh)
{
    struct cf *cf = cf_of(rq);
    const struct console_open o = {
        .process = p,
        .viewer = {.since = fresh ? SINCE_OFFSET : SINCE_SCREEN,
                   .terminal = true,
                   .only_stream = -1},
        .ops = fresh ? &fresh_ops : &snapshot_ops,
        .user = cf,
        .pending = &cf->pending,
    };
    struct hf_error err;

    if (console_open(rq, &o, &err) == NULL && err.code != HF_OK)
        cf_refuse_socket(rq, 1011, err.detail);
}

static size_t refused_binary(void *arg, const void *bytes, size_t len, bool last)
{
    (void)arg, (void)bytes, (void)last;
    return len;
}

static void refused_text(void *arg, const char *text, size_t len)
{
    (void)arg, (void)text, (void)len;
}

static void refused_nothing(void *arg)
{
    (void)arg;
}

static void refused_closed(void *arg, int code)
{
    (void)arg, (void)code;
}

static const struct ws_ops refused_ops = {
    .on_text = refused_text,
    .on_binary = refused_binary,
    .on_drain = refused_nothing,
    .on_closed = refused_closed,
};

#define CLOSE_REASON_BYTES 123 /* of a close frame */

void cf_refuse_socket(struct http_request *rq, int code, const char *text)
{
    struct json_out o = cf_answer(cf_of(rq));
    struct ws *ws = ws_accept(rq, NULL, &refused_ops, NULL);
    char reason[CLOSE_REASON_BYTES + 1];

    if (ws == NULL)
        return;
    json_kstr(&o, "type", "error");
    json_kstr(&o, "message", text);
    json_shut(&o, '}');
    ws_send_text(ws, buf_data(o.buf), o.buf->len);
    snprintf(reason, sizeof reason, "%s", text);
    reason[strlen(reason) - utf8_open_tail(reason, strlen(reason))] = '\0';
    ws_close(ws, code, reason);
}

void cf_refuse_text(struct http_request *rq, int status, const char *text)
{
    http_reply(rq, status, "text/plain; charset=utf-8", text, strlen(text));
}

void cf_query_size(const struct http_request *rq, int64_t *cols, int64_t *rows)
{
    const char *c = http_query(rq, "cols"), *r = http_query(rq, "rows");

    if (c != NULL)
        (void)text_to_i64(c, 1, TERMINAL_SIZE_MAX, cols);
    if (r != NULL)
        (void)text_to_i64(r, 1, TERMINAL_SIZE_MAX, rows);
}

/* --- the terminal of a session -------------------------------------------------------------------------- */

/* Clients that wait for a terminal that is being started. */
struct start {
    struct pending pending; /* in cf.works */
    struct list link;       /* in cf.starts */
    struct cf *cf;
    char *session; /* NULL: of this connection alone */
    struct cf_launch *launch;
    struct list waiting; /* struct waiter */
};

struct waiter {
    struct pending pending; /* in cf.pending */
    struct list link;
    struct http_request *rq;
};

static void waiter_free(struct pending *p)
{
    struct waiter *w = list_entry(p, struct waiter, pending);

    list_remove(&w->link);
    pending_fini(p);
    free(w);
}

static void waiter_drain(struct pending *p)
{
    struct http_request *rq = list_entry(p, struct waiter, pending)->rq;

    waiter_free(p);
    cf_refuse_text(rq, 503, "the daemon is going; connect again");
}

static const struct pending_kind waiter_kind = {.drain = waiter_drain, .free = waiter_free};

static void waiter_on_gone(void *user)
{
    waiter_free(&((struct waiter *)user)->pending);
}

static void start_free(struct pending *p)
{
    struct start *s = list_entry(p, struct start, pending);

    while (!list_is_empty(&s->waiting))
        list_remove(s->waiting.next);
    list_remove(&s->link);
    pending_fini(p);
    free(s->session);
    free(s);
}

static const struct pending_kind start_kind = {.drain = NULL, .free = start_free};

static void ignore_end(void *arg, struct process *p, const struct survivors *v)
{
    (void)arg, (void)p, (void)v;
}

static void start_done(void *arg, struct process *p, const struct hf_error *err)
{
    struct start *s = arg;
    bool alone = s->session == NULL;

    /* Nobody could ever come to it. */
    if (p != NULL && alone && list_is_empty(&s->waiting))
        process_end(p, -1, "detach", ignore_end, NULL);
    while (!list_is_empty(&s->waiting)) {
        struct waiter *w = list_entry(s->waiting.next, struct waiter, link);
        struct http_request *rq = w->rq;

        http_set_user(rq, NULL, NULL);
        waiter_free(&w->pending);
        if (p != NULL)
            cf_pty_attach(rq, p, alone);
        else
            cf_refuse_socket(rq, 1011, err->detail);
    }
    start_free(&s->pending);
}

static void start_wait(struct start *s, struct http_request *rq)
{
    struct waiter *w = hf_xalloc(sizeof *w);

    w->rq = rq;
    list_append(&s->waiting, &w->link);
    pending_init(&w->pending, &s->cf->pending, &waiter_kind);
    http_set_user(rq, w, waiter_on_gone);
}

static void start_begin(struct http_request *rq, const char *session, struct cf_launch_ask *a)
{
    struct cf *cf = cf_of(rq);
    struct start *s = hf_xalloc(sizeof *s);

    s->cf = cf;
    s->session = hf_xstrdup(session);
    list_init(&s->waiting);
    list_append(&cf->starts, &s->link);
    pending_init(&s->pending, &cf->works, &start_kind);
    start_wait(s, rq);
    a->pty = true;
    a->impatient = true;
    a->rows = 24;
    a->cols = 80;
    a->shell = http_query(rq, "shell");
    if (a->shell != NULL && a->shell[0] == '\0')
        a->shell = NULL;
    cf_query_size(rq, &a->cols, &a->rows);
    cf_launch(cf, a, start_done, s, &s->launch);
}

static struct start *start_find(struct cf *cf, const char *session)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &cf->starts) {
        struct start *s = list_entry(it, struct start, link);
        if (s->session != NULL && strcmp(s->session, session) == 0)
            return s;
    }
    return NULL;
}

static struct process *session_terminal(struct cf *cf, const char *session)
{
    struct process *p = NULL;

    while ((p = engine_next(cf->engine, p)) != NULL) {
        struct process_view v;

        process_view(p, &v);
        if (v.running && v.pty && v.session_id != NULL && strcmp(v.session_id, session) == 0 &&
            strcmp(v.metadata_json, CF_TERMINAL_METADATA) == 0)
            return p;
    }
    return NULL;
}

static bool may_start(struct http_request *rq)
{
    if (http_role(rq) == ROLE_OWN)
        return true;
    cf_refuse_socket(rq, 1008, "there is no terminal yet, and this token may not start one");
    return false;
}

void cf_pty_session(struct http_request *rq, const char *session)
{
    struct cf *cf = cf_of(rq);
    struct process *p = session_terminal(cf, session);
    struct start *s = start_find(cf, session);
    struct cf_launch_ask a = {.session = session, .metadata = CF_TERMINAL_METADATA};

    if (p != NULL)
        cf_pty_attach(rq, p, false);
    else if (s != NULL)
        start_wait(s, rq);
    else if (may_start(rq))
        start_begin(rq, session, &a);
}

void cf_pty_alone(struct http_request *rq, const char *group)
{
    struct cf_launch_ask a = {.group = group, .kill_on_detach = true};

    if (may_start(rq))
        start_begin(rq, NULL, &a);
}

/* A session's id, or that of any terminal of the daemon. */
void cf_pty(struct http_request *rq)
{
    const char *id = http_query(rq, "sessionId");
    struct process *p;
    struct process_view v;

    if (id == NULL || id[0] == '\0') {
        cf_refuse_text(rq, 400, "sessionId query parameter required");
        return;
    }
    p = engine_find(cf_of(rq)->engine, id, NULL);
    if (p == NULL) {
        cf_pty_session(rq, id);
        return;
    }
    process_view(p, &v);
    if (v.pty)
        cf_pty_attach(rq, p, false);
    else
        cf_refuse_socket(rq, 1011, "this process has no terminal");
}

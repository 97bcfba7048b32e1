/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_watch.c - GET /v1/files/watch: what changes in a directory, as events or by WebSocket
 *
 * The reply begins when all watches are set, so an error has a status, and a client that then reads
 * the directory misses nothing. Each report is one event or one text message with the same JSON.
 * Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "dialects/common/file_watch.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"
#include "transport/sse.h"
#include "transport/ws.h"

#define CLOSE_END 1000
#define CLOSE_FAILED 1011

/* --- both forms ----------------------------------------------------------------------------- */

static struct json_out error_open(struct dialect_base *b, const struct hf_error *err)
{
    struct json_out o = dialect_reply_open(b);

    json_kstr(&o, "type", "error");
    json_kstr(&o, "code", hf_code_name(err->code));
    json_kstr(&o, "detail", err->detail);
    if (err->errno_name != NULL)
        json_kstr(&o, "errno", err->errno_name);
    if (err->limit != NULL)
        json_kstr(&o, "limit", err->limit);
    json_close(&o, '}');
    return o;
}

static struct json_out report_json(struct dialect_base *b, const struct file_report *r)
{
    struct json_out o;

    buf_clear(&b->scratch);
    json_out_init(&o, &b->scratch);
    file_report_write(&o, r);
    json_close(&o, '}');
    return o;
}

/* --- by WebSocket --------------------------------------------------------------------------- */

struct watch_socket {
    struct call call;         /* without a request */
    struct file_watch *watch; /* NULL: it has ended */
    struct ws *ws;
};

static void socket_release(struct call *c)
{
    file_watch_stop(((struct watch_socket *)c)->watch);
}

/* A draining server closes its WebSockets itself, with 1001. */
static const struct call_kind socket_kind = {.release = socket_release, .stays = true};

static void socket_send(struct watch_socket *s, const struct json_out *o)
{
    ws_send_text(s->ws, buf_data(o->buf), o->buf->len);
}

static void socket_report(void *arg, const struct file_report *r)
{
    struct watch_socket *s = arg;
    const struct json_out o = report_json(s->call.base, r);

    socket_send(s, &o);
}

static void socket_ended(void *arg, const struct hf_error *err)
{
    struct watch_socket *s = arg;
    struct json_out o;

    s->watch = NULL;
    if (err != NULL) {
        o = error_open(s->call.base, err);
        socket_send(s, &o);
    }
    ws_close(s->ws, err != NULL ? CLOSE_FAILED : CLOSE_END,
             err != NULL ? hf_code_name(err->code) : "end");
}

static bool socket_room(void *arg)
{
    const struct watch_socket *s = arg;

    return s->ws != NULL && ws_ready(s->ws);
}

static const struct file_watch_ops socket_watch_ops = {
    .report = socket_report,
    .ended = socket_ended,
    .room = socket_room,
};

/* Messages of the client mean nothing. */
static void socket_on_text(void *arg, const char *text, size_t len)
{
    (void)arg, (void)text, (void)len;
}

static size_t socket_on_binary(void *arg, const void *bytes, size_t len, bool last)
{
    (void)arg, (void)bytes, (void)last;
    return len;
}

static void socket_on_drain(void *arg)
{
    const struct watch_socket *s = arg;

    if (s->watch != NULL)
        file_watch_pump(s->watch);
}

static void socket_on_closed(void *arg, int code)
{
    struct watch_socket *s = arg;

    (void)code;
    call_end(&s->call);
}

static const struct ws_ops socket_ops = {
    .on_text = socket_on_text,
    .on_binary = socket_on_binary,
    .on_drain = socket_on_drain,
    .on_closed = socket_on_closed,
};

static void socket_begin(struct http_request *rq, struct file_watch *watch,
                         const struct file_report *ready)
{
    struct watch_socket *s = hf_xalloc(sizeof *s);

    call_adopt_unattended(&s->call, dialect_base_of(rq), &socket_kind);
    s->watch = watch;
    file_watch_set_ops(watch, &socket_watch_ops, s);
    s->ws = ws_accept(rq, NULL, &socket_ops, s);
    socket_report(s, ready);
}

/* --- as events ------------------------------------------------------------------------------ */

struct watch_call {
    struct call call;
    struct file_watch *watch; /* NULL: it has ended, or belongs to a socket */
    uint64_t id;              /* of the last event */
};

static void call_release_watch(struct call *c)
{
    file_watch_stop(((struct watch_call *)c)->watch);
}

static void watch_send(struct watch_call *w, const char *type, const struct json_out *o)
{
    char id[24];

    snprintf(id, sizeof id, "%llu", (unsigned long long)++w->id);
    sse_send(w->call.out, type, id, buf_data(o->buf), o->buf->len);
}

static void watch_fail(struct watch_call *w, const struct hf_error *err)
{
    struct json_out o;

    if (!w->call.streams) {
        call_fail(&w->call, err);
        return;
    }
    o = error_open(w->call.base, err);
    watch_send(w, "error", &o);
    call_stream_end(&w->call);
}

static void watch_drain(struct call *c)
{
    struct hf_error err = {0};

    hf_fail(&err, HF_E_shutting_down, "the daemon is shutting down; watch again");
    watch_fail((struct watch_call *)c, &err);
}

static void watch_room(struct call *c)
{
    file_watch_pump(((struct watch_call *)c)->watch);
}

static const struct call_kind watch_kind = {
    .release = call_release_watch,
    .drain = watch_drain,
    .room = watch_room,
};

static void watch_report(struct watch_call *w, const struct file_report *r)
{
    const struct json_out o = report_json(w->call.base, r);

    if (w->call.out != NULL)
        watch_send(w, r->type, &o);
}

/* The reply begins, in the form that the client requested. */
static void watch_ready(struct watch_call *w, const struct file_report *r)
{
    struct file_watch *watch = w->watch;

    if (http_is_websocket(w->call.rq)) {
        w->watch = NULL;
        socket_begin(call_end(&w->call), watch, r);
        return;
    }
    http_add_header(w->call.rq, "Cache-Control", "no-store");
    call_stream_sse(&w->call);
    watch_report(w, r);
}

static void watch_on_report(void *arg, const struct file_report *r)
{
    struct watch_call *w = arg;

    if (w->call.streams)
        watch_report(w, r);
    else
        watch_ready(w, r);
}

static void watch_ended(void *arg, const struct hf_error *err)
{
    struct watch_call *w = arg;

    w->watch = NULL;
    if (err != NULL)
        watch_fail(w, err);
    else
        call_stream_end(&w->call);
}

static bool watch_has_room(void *arg)
{
    const struct watch_call *w = arg;

    return !w->call.streams || call_is_ready(&w->call);
}

static const struct file_watch_ops watch_ops = {
    .report = watch_on_report,
    .ended = watch_ended,
    .room = watch_has_room,
};

/* --- the request ---------------------------------------------------------------------------- */

static int check_form(const struct http_request *rq, struct hf_error *err)
{
    if (http_is_websocket(rq)) {
        if (ws_version_is_ours(rq) && ws_key_is_valid(rq))
            return 0;
        return hf_fail(
            err, HF_E_bad_request,
            "use version 13 of the WebSocket protocol, with a key of 16 bytes in base64");
    }
    if (http_accepts(rq, SSE_TYPE))
        return 0;
    return hf_fail(err, HF_E_not_acceptable,
                   "changes are available as text/event-stream, or by WebSocket");
}

static int decode(const struct http_request *rq, struct file_watch_open *o, struct hf_error *err)
{
    *o = (struct file_watch_open){
        .path = http_query(rq, "path"),
        .user = http_query(rq, "user"),
        .client = http_peer(rq),
    };
    if (o->path == NULL || o->path[0] != '/')
        return hf_fail_field(err, HF_E_bad_query, "path",
                             "\"path\" must be the absolute path of a directory");
    return native_decode_bool(rq, "recursive", &o->recursive, err);
}

void files_watch_handle(struct http_request *rq)
{
    struct watch_call *w = call_begin(rq, &watch_kind, sizeof *w);
    struct file_watch_open o;
    struct hf_error err = {0};

    if (check_form(rq, &err) < 0 || decode(rq, &o, &err) < 0 ||
        dialect_check_open(w->call.base, &err) < 0)
        call_fail(&w->call, &err);
    else if (http_method(rq) == HTTP_HEAD_M)
        http_reply(call_end(&w->call), 200, SSE_TYPE, "", 0);
    else if (file_watch_start(w->call.base->engine, &o, &watch_ops, w, &w->watch, &err) < 0)
        call_fail(&w->call, &err);
}

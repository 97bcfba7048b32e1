/* SPDX-License-Identifier: Apache-2.0 */
/*
 * console.c - a WebSocket attached to a process. Layer: dialects.
 */
#include "dialects/common/console.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "dialects/common/caller.h"
#include "dialects/common/dialect_base.h"
#include "dialects/common/stdin_feed.h"
#include "engine/engine.h"

struct console {
    struct call call;
    const struct console_ops *ops;
    void *user;
    struct stdin_feed feed; /* has the process and the viewer; holds at most one text frame */
    struct ws *ws;
    struct timer *gate; /* NULL: the client is known to listen */
    int code;           /* of the close frame, for `closed` */
    bool may_type, closing;
};

static void console_detach(struct console *c)
{
    struct viewer *v = c->feed.viewer;

    stdin_feed_stop(&c->feed);
    viewer_detach(v);
}

static void console_release(struct call *call)
{
    struct console *c = list_entry(call, struct console, call);

    console_detach(c);
    if (c->ws != NULL && c->ops->closed != NULL)
        c->ops->closed(c, c->code);
    stdin_feed_fini(&c->feed);
    timer_close(c->gate);
}

/* A draining server closes its WebSockets itself, with 1001. */
static const struct call_kind console_kind = {.release = console_release, .stays = true};

void console_close(struct console *c, int code, const char *reason)
{
    if (c->closing)
        return;
    c->closing = true;
    console_detach(c);
    ws_close(c->ws, code, reason);
}

/* --- to the client -------------------------------------------------------------------- */

static bool on_ready(void *arg)
{
    struct console *c = arg;

    if (c->ws == NULL || c->gate != NULL || !ws_ready(c->ws))
        return false;
    return c->ops->ahead == NULL || (c->ops->ahead(c) && ws_ready(c->ws));
}

static void on_bytes(void *arg, const struct slice *s)
{
    struct console *c = arg;
    struct iovec iov = {(void *)(uintptr_t)s->bytes, s->len};

    if (c->ops->bytes != NULL)
        c->ops->bytes(c, s);
    else
        ws_send(c->ws, WS_BINARY, &iov, 1);
}

static uint64_t on_sent(void *arg)
{
    const struct console *c = arg;

    return c->ws != NULL ? ws_count_sent(c->ws) : 0;
}

static uint64_t on_confirmed(void *arg)
{
    const struct console *c = arg;

    return c->ws != NULL ? ws_count_received(c->ws) : 0;
}

static void on_gap(void *arg, uint64_t from, uint64_t to)
{
    struct console *c = arg;

    if (c->ops->gap != NULL)
        c->ops->gap(c, from, to);
}

static void on_replay_done(void *arg, uint64_t offset)
{
    struct console *c = arg;

    if (c->ops->replay_done != NULL)
        c->ops->replay_done(c, offset);
}

static void on_snapshot(void *arg, uint64_t offset, size_t len)
{
    struct console *c = arg;

    c->ops->snapshot(c, offset, len);
}

static void on_snapshot_bytes(void *arg, const char *bytes, size_t len)
{
    struct console *c = arg;

    c->ops->snapshot_bytes(c, bytes, len);
}

static void on_exited(void *arg, const struct exit_record *x)
{
    struct console *c = arg;

    if (c->ops->exited != NULL)
        c->ops->exited(c, x);
    else
        console_close(c, 1000, "exit");
}

static void on_notice(void *arg, const struct viewer_notice *n)
{
    struct console *c = arg;

    if (c->ops->notice != NULL)
        c->ops->notice(c, n);
}

#define CONSOLE_OPS                                                                                \
    .ready = on_ready, .bytes = on_bytes, .sent = on_sent, .confirmed = on_confirmed,              \
    .gap = on_gap, .replay_done = on_replay_done, .exited = on_exited, .notice = on_notice

static const struct viewer_ops plain_ops = {CONSOLE_OPS};
static const struct viewer_ops snapshot_ops = {
    CONSOLE_OPS,
    .snapshot = on_snapshot,
    .snapshot_bytes = on_snapshot_bytes,
};

/* --- from the client ------------------------------------------------------------------- */

static void console_refused(struct console *c, const struct hf_error *err)
{
    if (c->ops->refused != NULL)
        c->ops->refused(c, err);
}

static int console_forbid(struct hf_error *err)
{
    return hf_fail(err, HF_E_forbidden, "this connection may only watch");
}

static void console_typed(struct console *c, size_t len, const struct hf_error *err)
{
    if (c->ops->typed != NULL && len > 0)
        c->ops->typed(c, len, err);
}

/* Drops input that cannot be accepted, and reports it once per message. */
size_t console_type(struct console *c, const void *bytes, size_t len, bool last)
{
    struct hf_error err;
    ssize_t n;

    if (c->closing)
        return len;
    if (c->feed.process == NULL)
        return 0; /* console_begin() continues */
    n = c->may_type ? stdin_feed_put(&c->feed, bytes, len, &err) : console_forbid(&err);
    if (n >= 0) {
        console_typed(c, (size_t)n, NULL);
        return (size_t)n;
    }
    console_typed(c, len, &err);
    if (last)
        console_refused(c, &err);
    return len;
}

void console_type_all(struct console *c, const void *bytes, size_t len)
{
    size_t n = console_type(c, bytes, len, true);

    if (n == len || c->closing)
        return;
    stdin_feed_hold(&c->feed, (const char *)bytes + n, len - n);
    ws_pause(c->ws);
}

void console_resize(struct console *c, int64_t rows, int64_t cols)
{
    struct hf_error err;
    int rc;

    if (c->feed.viewer == NULL)
        return;
    rc = c->may_type ? viewer_resize(c->feed.viewer, rows, cols, &err) : console_forbid(&err);
    if (rc < 0)
        console_refused(c, &err);
}

static void console_on_room(void *arg)
{
    struct console *c = arg;
    struct hf_error err;
    size_t held = c->feed.held.len;
    bool may = c->may_type || held == 0;
    int rc = may ? stdin_feed_flush(&c->feed, &err) : console_forbid(&err);
    size_t left = c->feed.held.len;

    console_typed(c, held - left, NULL);
    if (rc == 0)
        return;
    if (rc < 0) {
        buf_fini(&c->feed.held);
        console_typed(c, left, &err);
        console_refused(c, &err);
    }
    if (!c->closing)
        ws_resume(c->ws);
}

/* The client listens: it has sent a pong or a message. */
static void console_on_pong(void *arg)
{
    struct console *c = arg;

    if (c->gate == NULL)
        return;
    timer_close(c->gate);
    c->gate = NULL;
    if (c->feed.viewer != NULL)
        viewer_pump(c->feed.viewer);
}

/* Some clients never reply to a ping. */
static void console_on_gate(struct timer *t, void *arg)
{
    (void)t;
    console_on_pong(arg);
}

static void console_on_text(void *arg, const char *text, size_t len)
{
    struct console *c = arg;

    console_on_pong(c);
    if (c->closing)
        return;
    if (c->ops->text != NULL)
        c->ops->text(c, text, len);
    else
        console_type_all(c, text, len);
}

static void console_on_too_long(void *arg)
{
    struct console *c = arg;

    console_on_pong(c);
    if (!c->closing)
        c->ops->too_long(c);
}

static size_t console_on_binary(void *arg, const void *bytes, size_t len, bool last)
{
    struct console *c = arg;

    console_on_pong(c);
    if (c->closing)
        return len;
    return c->ops->binary != NULL ? c->ops->binary(c, bytes, len, last)
                                  : console_type(c, bytes, len, last);
}

static void console_on_drain(void *arg)
{
    struct console *c = arg;

    if (c->ops->room != NULL)
        c->ops->room(c);
    if (c->feed.viewer != NULL)
        viewer_pump(c->feed.viewer);
}

static void console_on_closed(void *arg, int code)
{
    struct console *c = arg;

    if (ws_has_left(code) && c->feed.viewer != NULL)
        viewer_leave(c->feed.viewer);
    c->code = code;
    call_end(&c->call);
}

#define CONSOLE_WS_OPS                                                                             \
    .on_text = console_on_text, .on_binary = console_on_binary, .on_drain = console_on_drain,      \
    .on_pong = console_on_pong, .on_receipt = console_on_drain, .on_closed = console_on_closed

static const struct ws_ops strict_ops = {CONSOLE_WS_OPS};
static const struct ws_ops lenient_ops = {
    CONSOLE_WS_OPS,
    .on_text_too_long = console_on_too_long,
};

/* --- the beginning ------------------------------------------------------------------------ */

static struct console *console_new(struct http_request *rq, const struct console_open *o)
{
    struct console *c = hf_xalloc(sizeof *c);

    c->ops = o->ops;
    c->user = o->user;
    stdin_feed_init(&c->feed, console_on_room, c);
    if (o->process != NULL)
        stdin_feed_bind(&c->feed, o->process);
    c->may_type = http_role(rq) >= ROLE_TYPE && !o->viewer.read_only;
    call_adopt_unattended(&c->call, dialect_base_of(rq), &console_kind);
    return c;
}

static int console_attach(struct http_request *rq, struct console *c, const struct console_open *o,
                          struct hf_error *err)
{
    struct viewer_options v = o->viewer;

    v.read_only = !c->may_type;
    v.guest = caller_is_guest(rq);
    if (v.role == 0)
        v.role = (enum viewer_role)http_role(rq);
    if (v.name == NULL)
        v.name = http_peer(rq);
    return viewer_attach(c->feed.process, &v,
                         o->ops->snapshot_bytes != NULL ? &snapshot_ops : &plain_ops, c,
                         &c->feed.viewer, err);
}

static void console_shut_gate(struct console *c)
{
    c->gate = timer_new(engine_loop(process_engine(c->feed.process)), console_on_gate, c);
    timer_start(c->gate, CONSOLE_GATE_MS);
    ws_ping(c->ws);
}

struct console *console_open(struct http_request *rq, const struct console_open *o,
                             struct hf_error *err)
{
    struct console *c = console_new(rq, o);

    *err = (struct hf_error){0};
    if (o->process != NULL && console_attach(rq, c, o, err) < 0) {
        call_end(&c->call);
        return NULL;
    }
    c->ws = ws_accept(rq, o->protocol, o->ops->too_long != NULL ? &lenient_ops : &strict_ops, c);
    if (c->ws == NULL) {
        call_end(&c->call);
        return NULL;
    }
    if (o->text_max > 0)
        ws_allow_text(c->ws, o->text_max);
    if (o->gate && o->process != NULL)
        console_shut_gate(c);
    return c;
}

struct console *console_serve(struct http_request *rq, struct console_open *o)
{
    struct hf_error err;
    struct console *c;

    o->user = dialect_base_of(rq);
    c = console_open(rq, o, &err);
    if (c == NULL && err.code != HF_OK)
        http_reply_error(rq, &err);
    return c;
}

int console_begin(struct console *c, struct process *p, const struct viewer_options *viewer,
                  struct hf_error *err)
{
    struct viewer_options v = *viewer;
    int rc;

    v.read_only = !c->may_type;
    v.guest = ws_role(c->ws) < ROLE_TYPE;
    if (v.role == 0)
        v.role = (enum viewer_role)ws_role(c->ws);
    if (v.name == NULL)
        v.name = ws_peer(c->ws);
    rc = viewer_attach(p, &v, c->ops->snapshot_bytes != NULL ? &snapshot_ops : &plain_ops, c,
                       &c->feed.viewer, err);
    if (rc < 0)
        return rc;
    stdin_feed_bind(&c->feed, p);
    console_on_room(c);
    return 0;
}

void *console_user(const struct console *c)
{
    return c->user;
}

struct process *console_process(const struct console *c)
{
    return c->feed.process;
}

struct viewer *console_viewer(const struct console *c)
{
    return c->feed.viewer;
}

void console_send_json(struct console *c, struct json_out *o)
{
    json_close(o, '}');
    ws_send_text(c->ws, buf_data(o->buf), o->buf->len);
}

void console_send_error(struct console *c, const char *fmt, ...)
{
    char message[sizeof((struct hf_error *)NULL)->detail + 64];
    struct buf text = {0};
    struct json_out o;
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    json_out_init(&o, &text);
    json_open(&o, '{');
    json_kstr(&o, "type", "error");
    json_kstr(&o, "message", message);
    console_send_json(c, &o);
    buf_fini(&text);
}

struct ws *console_ws(const struct console *c)
{
    return c->ws;
}

bool console_is_closing(const struct console *c)
{
    return c->closing;
}

/* --- refusals -------------------------------------------------------------------------------- */

static void refused_on_text(void *arg, const char *text, size_t len)
{
    (void)arg, (void)text, (void)len;
}

static size_t refused_on_binary(void *arg, const void *bytes, size_t len, bool last)
{
    (void)arg, (void)bytes, (void)last;
    return len;
}

static void refused_on_drain(void *arg)
{
    (void)arg;
}

static void refused_on_closed(void *arg, int code)
{
    (void)arg, (void)code;
}

struct ws *console_refuse(struct http_request *rq)
{
    static const struct ws_ops ops = {
        .on_text = refused_on_text,
        .on_binary = refused_on_binary,
        .on_drain = refused_on_drain,
        .on_closed = refused_on_closed,
    };

    return ws_accept(rq, NULL, &ops, NULL);
}

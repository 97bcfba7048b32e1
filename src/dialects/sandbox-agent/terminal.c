/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal.c - GET …/terminal/ws: bytes out as binary frames, JSON frames in
 *
 * The original replays nothing, so a page that is loaded again stays blank, and
 * what was written before the attach is lost. Here what is held of the output comes right
 * after `ready`, which is what its React component shows as history. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/sandbox-agent/agent.h"
#include "engine/viewer.h"
#include "transport/ws.h"

#define REPLAY_BYTES 65536
#define FRAME_BYTES (1 << 20) /* of JSON: the longest input with every byte escaped, and more */

struct terminal {
    struct pending pending;
    struct agent *agent;
    struct process *process; /* referenced */
    struct viewer *viewer;
    struct ws *ws;
    struct input_waiter waiter;
    struct buf held; /* one frame's input that the queue has no room for */
    bool may_type, closing;
};

static void terminal_detach(struct terminal *t)
{
    struct viewer *v = t->viewer;

    t->viewer = NULL;
    input_waiter_cancel(&t->waiter);
    viewer_detach(v);
}

static void terminal_free(struct pending *p)
{
    struct terminal *t = list_entry(p, struct terminal, pending);

    terminal_detach(t);
    process_unref(t->process);
    buf_fini(&t->held);
    pending_fini(p);
    free(t);
}

/* A going server closes its WebSockets itself, with 1001. */
static const struct pending_kind terminal_kind = {.drain = NULL, .free = terminal_free};

static void terminal_close(struct terminal *t, const char *reason)
{
    if (t->closing)
        return;
    t->closing = true;
    terminal_detach(t);
    ws_close(t->ws, 1000, reason);
}

/* --- to the client ------------------------------------------------------------------ */

static void send_json(struct terminal *t, struct json_out *o)
{
    json_shut(o, '}');
    ws_send_text(t->ws, buf_data(o->buf), o->buf->len);
}

static void send_error(struct terminal *t, const char *message)
{
    struct json_out o = agent_answer(t->agent);

    json_kstr(&o, "type", "error");
    json_kstr(&o, "message", message);
    send_json(t, &o);
}

static void send_ready(struct terminal *t)
{
    struct json_out o = agent_answer(t->agent);
    struct process_view v;

    process_view(t->process, &v);
    json_kstr(&o, "type", "ready");
    json_kstr(&o, "processId", v.id);
    send_json(t, &o);
}

static bool terminal_ready(void *arg)
{
    struct terminal *t = arg;

    return t->ws != NULL && ws_ready(t->ws);
}

static void terminal_bytes(void *arg, const struct slice *s)
{
    struct terminal *t = arg;
    struct iovec iov = {(void *)(uintptr_t)s->bytes, s->len};

    ws_send(t->ws, WS_BINARY, &iov, 1);
}

/* Never a silent hole. */
static void terminal_gap(void *arg, uint64_t from, uint64_t to)
{
    char message[100];

    snprintf(message, sizeof message, "%llu bytes of output are gone: too slow",
             (unsigned long long)(to - from));
    send_error(arg, message);
}

static void terminal_exited(void *arg, const struct exit_record *x)
{
    struct terminal *t = arg;
    struct json_out o = agent_answer(t->agent);

    json_kstr(&o, "type", "exit");
    if (x->code >= 0)
        json_kint(&o, "exitCode", x->code);
    else
        json_knull(&o, "exitCode");
    send_json(t, &o);
    terminal_close(t, "exit");
}

static const struct viewer_ops viewer_ops = {
    .ready = terminal_ready,
    .bytes = terminal_bytes,
    .gap = terminal_gap,
    .exited = terminal_exited,
};

/* --- from the client -------------------------------------------------------------------- */

/* What the queue has no room for is held; whatever follows waits in the client's socket. */
static void terminal_type(struct terminal *t)
{
    while (t->held.len > 0 && !t->closing) {
        struct hf_error err;
        ssize_t n = process_input(t->process, buf_data(&t->held), t->held.len, &err);

        if (n < 0) {
            send_error(t, err.detail);
            buf_clear(&t->held);
        } else if (n == 0) {
            ws_pause(t->ws);
            process_wait_for_room(t->process, &t->waiter);
            return;
        } else {
            buf_drop(&t->held, (size_t)n);
        }
    }
}

static void terminal_on_room(void *arg)
{
    struct terminal *t = arg;

    terminal_type(t);
    if (t->held.len == 0)
        ws_resume(t->ws);
}

static void frame_input(struct terminal *t, const json_t *frame)
{
    const json_t *data = json_object_get(frame, "data");
    const char *wrong = "invalid terminal frame: missing field `data`";
    char detail[100];

    if (!t->may_type) {
        send_error(t, "this token may only watch");
        return;
    }
    if (json_is_string(data))
        wrong =
            agent_decode(json_string_value(data), json_string_length(data),
                         json_string_value(json_object_get(frame, "encoding")), "utf8", &t->held);
    if (wrong == NULL && t->held.len > (size_t)t->agent->config.max_input) {
        snprintf(detail, sizeof detail, "input payload exceeds maxInputBytesPerRequest (%lld)",
                 (long long)t->agent->config.max_input);
        wrong = detail;
    }
    if (wrong != NULL) {
        buf_clear(&t->held);
        send_error(t, wrong);
        return;
    }
    terminal_type(t);
}

static void frame_resize(struct terminal *t, const json_t *frame)
{
    const json_t *rows = json_object_get(frame, "rows"), *cols = json_object_get(frame, "cols");
    struct hf_error err;

    if (!json_is_integer(rows) || !json_is_integer(cols))
        send_error(t, "invalid terminal frame: cols and rows must be numbers");
    else if (!t->may_type)
        send_error(t, "this token may only watch");
    else if (viewer_resize(t->viewer, json_integer_value(rows), json_integer_value(cols), &err) < 0)
        send_error(t, err.detail);
}

static void terminal_on_text(void *arg, const char *text, size_t len)
{
    struct terminal *t = arg;
    struct hf_error err;
    json_auto_t *frame = json_parse(text, len, &err);
    const char *type = json_string_value(json_object_get(frame, "type"));

    if (t->closing)
        return;
    if (type != NULL && strcmp(type, "input") == 0)
        frame_input(t, frame);
    else if (type != NULL && strcmp(type, "resize") == 0)
        frame_resize(t, frame);
    else if (type != NULL && strcmp(type, "close") == 0)
        terminal_close(t, "detached");
    else
        send_error(t, frame == NULL ? "invalid terminal frame: not JSON"
                                    : "invalid terminal frame: unknown type");
}

static size_t terminal_on_binary(void *arg, const void *bytes, size_t len, bool last)
{
    struct terminal *t = arg;

    (void)bytes;
    if (last && !t->closing)
        send_error(t, "binary input is not supported; use text JSON frames");
    return len;
}

static void terminal_on_drain(void *arg)
{
    struct terminal *t = arg;

    if (t->viewer != NULL)
        viewer_pump(t->viewer);
}

static void terminal_on_closed(void *arg, int code)
{
    (void)code;
    terminal_free(&((struct terminal *)arg)->pending);
}

static const struct ws_ops ws_ops = {
    .on_text = terminal_on_text,
    .on_binary = terminal_on_binary,
    .on_drain = terminal_on_drain,
    .on_closed = terminal_on_closed,
};

/* --- the beginning ------------------------------------------------------------------------ */

static struct terminal *terminal_new(struct http_request *rq, struct process *p)
{
    struct terminal *t = hf_xalloc(sizeof *t);

    t->agent = agent_of(rq);
    t->process = process_ref(p);
    t->may_type = http_role(rq) >= ROLE_TYPE;
    list_init(&t->waiter.link);
    t->waiter.fn = terminal_on_room;
    t->waiter.arg = t;
    pending_init(&t->pending, &t->agent->pending, &terminal_kind);
    return t;
}

static void terminal_open(struct http_request *rq, struct process *p)
{
    const struct viewer_options o = {
        .since = SINCE_LAST,
        .offset = REPLAY_BYTES,
        .read_only = http_role(rq) < ROLE_TYPE,
        .name = http_peer(rq),
        .only_stream = -1,
    };
    struct terminal *t = terminal_new(rq, p);
    struct hf_error err;

    if (viewer_attach(p, &o, &viewer_ops, t, &t->viewer, &err) < 0) {
        terminal_free(&t->pending);
        agent_error(rq, &err);
        return;
    }
    t->ws = ws_accept(rq, NULL, &ws_ops, t);
    if (t->ws == NULL) {
        terminal_free(&t->pending);
        return;
    }
    ws_allow_text(t->ws, FRAME_BYTES);
    send_ready(t);
}

void agent_terminal(struct http_request *rq)
{
    struct process *p = agent_process(rq);
    struct process_view v;

    if (p == NULL)
        return;
    process_view(p, &v);
    if (!v.pty)
        agent_conflict(rq, "process is not a tty");
    else
        terminal_open(rq, p);
}

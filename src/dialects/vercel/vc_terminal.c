/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_terminal.c - GET /interactive/{session}: a WebSocket that starts a terminal
 *
 * The client's first text frame describes what to start. After that, frames are plain bytes in both
 * directions, and {"type":"exit"} follows the last. The terminal keeps running when its client
 * disconnects, and is listed like any other. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/console.h"
#include "dialects/vercel/vercel.h"
#include "dialects/vercel/vercel_limits.h"

/*
 * A call without a request. The console refers to it from its start to its end, and the engine
 * while a process is being started; the last of the two ends it.
 */
struct vc_terminal {
    struct call call;
    struct vercel *vercel;
    struct console *console; /* NULL: the client has disconnected */
    struct timer *patience;  /* for the first frame */
    char session[BOX_SESSION_BYTES + 1];
    bool requested; /* the first frame has arrived */
    bool starting;  /* the engine will call back */
    int64_t rows, cols;
};

static void terminal_release(struct call *c)
{
    timer_close(list_entry(c, struct vc_terminal, call)->patience);
}

static const struct call_kind terminal_kind = {.release = terminal_release, .stays = true};

/* --- to the client -------------------------------------------------------------------------- */

static void send_exit(struct console *c, int code)
{
    char text[64];
    int len = snprintf(text, sizeof text, "{\"type\":\"exit\",\"code\":%d}", code);

    ws_send_text(console_ws(c), text, (size_t)len);
    console_close(c, 1000, "exit");
}

static void terminal_exited(struct console *c, const struct exit_record *x)
{
    send_exit(c, x->exit_code >= 0 ? x->exit_code : 1);
}

/* As in a shell: a message in the terminal, and the exit code. */
static void send_failure(struct console *c, const struct hf_error *err)
{
    bool missing = err->errno_name != NULL && strcmp(err->errno_name, "ENOENT") == 0;
    char text[400];
    int len = snprintf(text, sizeof text, "%s\r\n", err->detail);

    ws_send(console_ws(c), WS_BINARY, &(struct iovec){text, (size_t)len}, 1);
    send_exit(c, missing ? 127 : 126);
}

/* --- the start ------------------------------------------------------------------------------ */

static void terminal_begin(struct vc_terminal *t, struct process *p)
{
    const struct viewer_options o = {.since = SINCE_OFFSET,
                                     .terminal = true,
                                     .only_stream = -1,
                                     .rows = t->rows,
                                     .cols = t->cols};
    struct hf_error err = {0};

    if (console_begin(t->console, p, &o, &err) == 0)
        return;
    process_terminate(p, -1, "detach", NULL, NULL);
    console_close(t->console, 1011, err.detail);
}

/* No client has seen it: terminate it if its client has disconnected, or if the session has
 * ended. */
static void terminal_on_spawned(void *arg, struct process *p, const struct hf_error *err)
{
    struct vc_terminal *t = arg;
    const struct vc_sandbox *b = vc_sandbox_of_session(&t->vercel->boxes, t->session);
    bool gone = t->console == NULL || console_is_closing(t->console);

    t->starting = false;
    if (p != NULL && (gone || b == NULL || b->stopped))
        process_terminate(p, 0, "detach", NULL, NULL);
    if (!gone && p == NULL)
        send_failure(t->console, err);
    else if (!gone && (b == NULL || b->stopped))
        console_close(t->console, 1008, "the session was stopped");
    else if (!gone)
        terminal_begin(t, p);
    if (t->console == NULL)
        call_end(&t->call);
}

static void terminal_start(struct vc_terminal *t, struct vc_command *start)
{
    struct hf_error err = {0};

    timer_stop(t->patience);
    t->requested = t->starting = true;
    t->rows = start->body.spec.rows;
    t->cols = start->body.spec.cols;
    start->body.spec.session_id = t->session;
    if (engine_spawn(t->vercel->base.engine, &start->body.spec, terminal_on_spawned, t, &err) < 0)
        terminal_on_spawned(t, NULL, &err);
}

static void terminal_on_patience(struct timer *timer, void *arg)
{
    struct vc_terminal *t = arg;

    (void)timer;
    console_close(t->console, 1008, "no start frame was received");
}

/* --- from the client -------------------------------------------------------------------------- */

/* A size that arrives before the terminal exists becomes its first size. */
static void terminal_resize(struct console *c, int64_t rows, int64_t cols)
{
    struct vc_terminal *t = console_user(c);
    struct hf_error err = {0};

    t->rows = rows;
    t->cols = cols;
    if (console_viewer(c) != NULL && viewer_resize(console_viewer(c), rows, cols, &err) < 0)
        console_close(c, 1008, err.detail);
}

static void terminal_text(struct console *c, const char *text, size_t len)
{
    struct vc_terminal *t = console_user(c);
    struct vc_sandbox *b = vc_sandbox_of_session(&t->vercel->boxes, t->session);
    struct hf_error err = {0};
    struct vc_frame f;

    if (vc_decode_frame(&f, text, len, b != NULL ? b->env : NULL, &err) < 0)
        console_close(c, 1007, err.detail);
    else if (f.kind == VC_FRAME_RESIZE && t->requested)
        terminal_resize(c, f.rows, f.cols);
    else if (f.kind == VC_FRAME_RESIZE || t->requested)
        console_close(c, 1008,
                      t->requested ? "already started" : "the first frame must be a start");
    else
        terminal_start(t, &f.start);
    vc_frame_fini(&f);
}

static size_t terminal_binary(struct console *c, const void *bytes, size_t len, bool last)
{
    const struct vc_terminal *t = console_user(c);

    if (t->requested)
        return console_type(c, bytes, len, last);
    console_close(c, 1008, "the first frame must be a start");
    return len;
}

static void terminal_closed(struct console *c, int code)
{
    struct vc_terminal *t = console_user(c);

    (void)code;
    t->console = NULL;
    timer_stop(t->patience);
    if (!t->starting)
        call_end(&t->call);
}

static const struct console_ops ops = {
    .exited = terminal_exited,
    .text = terminal_text,
    .binary = terminal_binary,
    .closed = terminal_closed,
};

void vc_terminal(struct http_request *rq)
{
    struct vercel *v = vc_of(rq);
    struct vc_sandbox *b = vc_session(rq);
    struct console_open o = {.ops = &ops, .text_max = LIMIT_JSON_BODY_BYTES};
    struct hf_error err = {0};
    struct vc_terminal *t;

    if (b == NULL)
        return;
    t = hf_xalloc(sizeof *t);
    o.user = t;
    t->console = console_open(rq, &o, &err);
    if (t->console == NULL) {
        free(t);
        return;
    }
    /* After the console, so that the dialect frees that first. */
    call_adopt_unattended(&t->call, &v->base, &terminal_kind);
    t->vercel = v;
    memcpy(t->session, b->session, sizeof t->session);
    t->patience = timer_new(v->base.loop, terminal_on_patience, t);
    timer_start(t->patience, VERCEL_START_MS);
}

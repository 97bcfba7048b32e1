/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_terminal.c - GET /ws/terminal, and what the terminals of both generations have in common
 *
 * In the stable generation, a client that reconnects gets a snapshot, which begins with a reset, so
 * what its terminal still shows does not matter; `ready` follows. The original replays bytes onto
 * whatever is left on the screen.
 *
 * In the next generation a cursor is an offset into the output, so a client that reconnects gets
 * exactly the bytes it has missed. If they are no longer held, it is notified and gets a snapshot.
 * A snapshot in several pieces cannot be resumed in the middle; until its last piece the cursor is
 * the word "screen", which requests a new one. Layer: dialects.
 */
#include "dialects/cloudflare/cf.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/signals.h"
#include "base/text.h"
#include "dialects/cloudflare/cf_wire.h"
#include "dialects/common/console.h"
#include "dialects/common/request_checks.h"

#define CURSOR_SCREEN "screen"
#define CURSOR_BYTES 24
#define TERMINATE_GRACE_MS 500

struct cf_terminal {
    struct cf *cf;
    bool next;            /* of the next generation */
    bool resumed;         /* the client sent a cursor */
    uint64_t snapshot_at; /* where the output continues after the snapshot that is being sent */
    size_t snapshot_left;
};

/* --- to the client -------------------------------------------------------------------------- */

static struct json_out message_of(struct cf *cf, const char *type)
{
    struct json_out o = dialect_reply_open(&cf->base);

    json_kstr(&o, "type", type);
    return o;
}

static struct json_out message(struct console *c, const char *type)
{
    return message_of(((const struct cf_terminal *)console_user(c))->cf, type);
}

static void send_error(struct console *c, const char *text)
{
    struct json_out o = message(c, "error");

    json_kstr(&o, "message", text);
    console_send_json(c, &o);
}

static void send_ready(struct console *c, const char *cursor)
{
    struct json_out o = message(c, "ready");

    if (cursor != NULL)
        json_kstr(&o, "cursor", cursor);
    console_send_json(c, &o);
}

static void terminal_snapshot(struct console *c, uint64_t offset, size_t len)
{
    struct cf_terminal *t = console_user(c);

    t->snapshot_at = offset;
    t->snapshot_left = len;
}

/* --- output of the stable generation ---------------------------------------------------------- */

static void pty_ready(struct console *c, uint64_t offset)
{
    (void)offset;
    send_ready(c, NULL);
}

static void pty_snapshot_bytes(struct console *c, const char *bytes, size_t len)
{
    struct iovec iov = {(void *)(uintptr_t)bytes, len};

    ws_send(console_ws(c), WS_BINARY, &iov, 1);
}

/* A snapshot follows and covers the gap; without one, report it as text. */
static void fresh_gap(struct console *c, uint64_t from, uint64_t to)
{
    char text[100];

    snprintf(text, sizeof text, "%llu bytes of output were lost: the client reads too slowly",
             (unsigned long long)(to - from));
    send_error(c, text);
}

static void pty_exited(struct console *c, const struct exit_record *x)
{
    struct json_out o = message(c, "exit");

    json_kint(&o, "code", x->exit_code >= 0 ? x->exit_code : 1);
    if (x->signum > 0)
        json_kstr(&o, "signal", signal_name(x->signum));
    console_send_json(c, &o);
    console_close(c, 1000, "Terminal exited");
}

/* --- output of the next generation ------------------------------------------------------------ */

static void put_cursor(struct json_out *o, uint64_t at)
{
    char text[CURSOR_BYTES];

    snprintf(text, sizeof text, "%llu", (unsigned long long)at);
    json_kstr(o, "cursor", text);
}

/* Two frames in a row: the description, and the bytes. */
static void send_chunk(struct console *c, const char *bytes, size_t len, const uint64_t *cursor)
{
    struct json_out o = message(c, "chunk");
    struct iovec iov = {(void *)(uintptr_t)bytes, len};

    if (cursor != NULL)
        put_cursor(&o, *cursor);
    else
        json_kstr(&o, "cursor", CURSOR_SCREEN);
    json_ku64(&o, "byteLength", len);
    console_send_json(c, &o);
    ws_send(console_ws(c), WS_BINARY, &iov, 1);
}

static void terminal_bytes(struct console *c, const struct slice *s)
{
    uint64_t cursor = s->at + s->len;

    send_chunk(c, s->bytes, s->len, &cursor);
}

/* A client that requested no particular place has lost none. */
static void terminal_gap(struct console *c, uint64_t from, uint64_t to)
{
    const struct cf_terminal *t = console_user(c);
    struct json_out o;

    (void)to;
    if (!t->resumed && from == 0)
        return;
    o = message(c, "truncated");
    json_kstr(&o, "cursor", CURSOR_SCREEN);
    console_send_json(c, &o);
}

static void terminal_snapshot_bytes(struct console *c, const char *bytes, size_t len)
{
    struct cf_terminal *t = console_user(c);

    t->snapshot_left -= len < t->snapshot_left ? len : t->snapshot_left;
    send_chunk(c, bytes, len, t->snapshot_left == 0 ? &t->snapshot_at : NULL);
}

static void terminal_exited(struct console *c, const struct exit_record *x)
{
    struct json_out o = message(c, "exit");

    put_cursor(&o, x->offset);
    json_key(&o, "exit");
    json_open(&o, '{');
    json_kint(&o, "code", x->exit_code >= 0 ? x->exit_code : 1);
    if (x->signum > 0)
        json_kint(&o, "signal", x->signum);
    json_kbool(&o, "timedOut", x->kind == EXIT_TIMED_OUT);
    json_close(&o, '}');
    console_send_json(c, &o);
    console_close(c, 1000, "Terminal exited");
}

/* --- from the client -------------------------------------------------------------------------- */

static void terminal_refused(struct console *c, const struct hf_error *err)
{
    send_error(c, err->detail);
}

static void terminal_interrupt(struct console *c)
{
    struct hf_error err;

    if (check_signal_role(SIGINT, ws_role(console_ws(c)), &err) < 0 ||
        process_signal(console_process(c), SIGINT, TARGET_TREE, NULL, NULL, &err) < 0)
        send_error(c, err.detail);
}

static void terminal_terminate(struct console *c)
{
    if (ws_role(console_ws(c)) < ROLE_OWN)
        send_error(c, "this token may not end the terminal");
    else
        process_terminate(console_process(c), TERMINATE_GRACE_MS, "api", NULL, NULL);
}

/* The addon sends its size on its own, so a client that may only watch gets no error each time. */
static void terminal_resize(struct console *c, int64_t cols, int64_t rows)
{
    struct hf_error err;

    if (ws_role(console_ws(c)) >= ROLE_TYPE &&
        viewer_resize(console_viewer(c), rows, cols, &err) < 0)
        send_error(c, err.detail);
}

/* The stable generation has nothing but sizes, and ignores what else is well-formed. */
static void terminal_text(struct console *c, const char *text, size_t len)
{
    int64_t cols, rows;
    enum cf_control control = cf_control_decode(text, len, &cols, &rows);
    bool next = ((const struct cf_terminal *)console_user(c))->next;

    if (control == CF_CONTROL_BAD || control == CF_CONTROL_UNKNOWN)
        log_debug("cloudflare: ignored or refused a control message of %zu bytes on a terminal",
                  len);
    if (control == CF_CONTROL_RESIZE)
        terminal_resize(c, cols, rows);
    else if (control == CF_CONTROL_SIZE)
        send_error(c, "Invalid dimensions: cols and rows must be positive");
    else if (control == CF_CONTROL_BAD || (next && control == CF_CONTROL_UNKNOWN))
        send_error(c, "Invalid control message");
    else if (next && control == CF_CONTROL_INTERRUPT)
        terminal_interrupt(c);
    else if (next)
        terminal_terminate(c);
}

static void terminal_closed(struct console *c, int code)
{
    (void)code;
    free(console_user(c));
}

#define FROM_CLIENT .text = terminal_text, .refused = terminal_refused, .closed = terminal_closed

static const struct console_ops snapshot_ops = {
    .snapshot = terminal_snapshot,
    .snapshot_bytes = pty_snapshot_bytes,
    .replay_done = pty_ready,
    .exited = pty_exited,
    FROM_CLIENT,
};

static const struct console_ops fresh_ops = {
    .gap = fresh_gap,
    .replay_done = pty_ready,
    .exited = pty_exited,
    FROM_CLIENT,
};

static const struct console_ops cursor_ops = {
    .bytes = terminal_bytes,
    .gap = terminal_gap,
    .snapshot = terminal_snapshot,
    .snapshot_bytes = terminal_snapshot_bytes,
    .exited = terminal_exited,
    FROM_CLIENT,
};

/* --- attach ----------------------------------------------------------------------------------- */

/* False: not a cursor of ours. */
static bool decode_cursor(const char *cursor, struct viewer_options *v)
{
    v->since = SINCE_OFFSET;
    v->offset = 0;
    if (cursor == NULL || cursor[0] == '\0')
        return true;
    if (strcmp(cursor, CURSOR_SCREEN) == 0) {
        v->since = SINCE_SCREEN;
        return true;
    }
    return text_to_u64(cursor, UINT64_MAX, &v->offset);
}

/* NULL: refused. */
static struct console *terminal_open(struct http_request *rq, struct process *p,
                                     const struct console_ops *ops, struct viewer_options v,
                                     const struct cf_terminal *user)
{
    struct cf_terminal *t = hf_xalloc(sizeof *t);
    struct console_open o = {.process = p, .ops = ops, .user = t};
    struct console *c;
    struct hf_error err;

    *t = *user;
    t->cf = cf_of(rq);
    o.viewer = v;
    o.viewer.terminal = true;
    o.viewer.only_stream = -1;
    c = console_open(rq, &o, &err);
    if (c == NULL)
        free(t);
    if (c == NULL && err.code != HF_OK)
        cf_refuse_socket(rq, 1011, err.detail);
    return c;
}

/* The size comes first, so that the snapshot is already drawn for the client's window. A client
 * that may only watch has no say in it. */
static void decode_window(const struct http_request *rq, struct viewer_options *v)
{
    cf_query_size(rq, &v->cols, &v->rows);
    if (v->cols == 0 || v->rows == 0 || http_role(rq) < ROLE_TYPE)
        v->cols = v->rows = 0;
}

void cf_terminal_attach(struct http_request *rq, struct process *p, bool fresh)
{
    struct viewer_options v = {.since = fresh ? SINCE_OFFSET : SINCE_SCREEN};

    decode_window(rq, &v);
    (void)terminal_open(rq, p, fresh ? &fresh_ops : &snapshot_ops, v, &(struct cf_terminal){0});
}

static void terminal_resume(struct http_request *rq, struct process *p, const char *cursor)
{
    const struct cf_terminal user = {.next = true, .resumed = cursor != NULL && cursor[0] != '\0'};
    struct viewer_options v = {.since = SINCE_DEFAULT};
    struct console *c;

    decode_window(rq, &v);
    if (!decode_cursor(cursor, &v)) {
        cf_refuse_socket(rq, 1011, "not a cursor of this terminal");
        return;
    }
    c = terminal_open(rq, p, &cursor_ops, v, &user);
    if (c != NULL)
        send_ready(c, user.resumed ? cursor : NULL);
}

void cf_terminal(struct http_request *rq)
{
    const char *id = http_query(rq, "terminalId");
    struct process *p;

    if (id == NULL || id[0] == '\0') {
        cf_refuse_text(rq, 400, "terminalId query parameter required");
        return;
    }
    p = cf_find(cf_of(rq), id);
    if (p != NULL)
        terminal_resume(rq, p, http_query(rq, "cursor"));
    else
        cf_refuse_socket(rq, 1008, "Terminal not found");
}

/* --- what the selection of a terminal needs, too -------------------------------------------- */

void cf_refuse_socket(struct http_request *rq, int code, const char *text)
{
    struct json_out o = message_of(cf_of(rq), "error");
    struct ws *ws = console_refuse(rq);

    if (ws == NULL)
        return;
    json_kstr(&o, "message", text);
    json_close(&o, '}');
    ws_send_text(ws, buf_data(o.buf), o.buf->len);
    ws_close(ws, code, text);
}

void cf_query_size(const struct http_request *rq, int64_t *cols, int64_t *rows)
{
    const char *c = http_query(rq, "cols"), *r = http_query(rq, "rows");

    if (c != NULL)
        (void)text_to_i64(c, 1, TERMINAL_SIZE_MAX, cols);
    if (r != NULL)
        (void)text_to_i64(r, 1, TERMINAL_SIZE_MAX, rows);
}

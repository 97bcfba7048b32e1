/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_terminal.c - GET /ws/terminal: the terminal of the next generation, with cursors
 *
 * A cursor is an offset into the output, so a client that reconnects gets exactly the bytes it has
 * missed. If they are no longer held, it is notified and gets a snapshot, which begins with a
 * reset. A snapshot in several pieces cannot be resumed in the middle; until its last piece the
 * cursor is the word "screen", which requests a new one. Layer: dialects.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "dialects/cloudflare/cf_pty.h"
#include "dialects/cloudflare/cf_wire.h"
#include "dialects/common/request_checks.h"

#define CURSOR_SCREEN "screen"
#define CURSOR_BYTES 24
#define TERMINATE_GRACE_MS 500

struct cf_terminal {
    struct cf *cf;
    bool resumed;         /* the client sent a cursor */
    uint64_t snapshot_at; /* where the output continues after the snapshot that is being sent */
    size_t snapshot_left;
};

/* --- to the client -------------------------------------------------------------------------- */

static struct json_out message(struct console *c, const char *type)
{
    return cf_message(((const struct cf_terminal *)console_user(c))->cf, type);
}

static void send_error(struct console *c, const char *text)
{
    cf_message_error(((const struct cf_terminal *)console_user(c))->cf, c, text);
}

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

static void terminal_snapshot(struct console *c, uint64_t offset, size_t len)
{
    struct cf_terminal *t = console_user(c);

    t->snapshot_at = offset;
    t->snapshot_left = len;
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

static void terminal_text(struct console *c, const char *text, size_t len)
{
    const struct cf_terminal *t = console_user(c);
    int64_t cols, rows;

    switch (cf_control_decode(text, len, &cols, &rows)) {
    case CF_CONTROL_RESIZE: cf_pty_resize(t->cf, c, cols, rows); break;
    case CF_CONTROL_INTERRUPT: terminal_interrupt(c); break;
    case CF_CONTROL_TERMINATE: terminal_terminate(c); break;
    case CF_CONTROL_SIZE:
        send_error(c, "Invalid dimensions: cols and rows must be positive");
        break;
    default: send_error(c, "Invalid control message"); break;
    }
}

static void terminal_closed(struct console *c, int code)
{
    (void)code;
    free(console_user(c));
}

static const struct console_ops ops = {
    .bytes = terminal_bytes,
    .gap = terminal_gap,
    .snapshot = terminal_snapshot,
    .snapshot_bytes = terminal_snapshot_bytes,
    .exited = terminal_exited,
    .text = terminal_text,
    .refused = terminal_refused,
    .closed = terminal_closed,
};

/* --- attach ----------------------------------------------------------------------------------- */

static void send_ready(struct console *c, const char *cursor)
{
    struct json_out o = message(c, "ready");

    if (cursor != NULL)
        json_kstr(&o, "cursor", cursor);
    console_send_json(c, &o);
}

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

static void terminal_open(struct http_request *rq, struct process *p, const char *cursor)
{
    struct cf_terminal *t = hf_xalloc(sizeof *t);
    struct console_open o = {
        .process = p,
        .viewer = {.terminal = true, .only_stream = -1},
        .ops = &ops,
        .user = t,
        .pending = &cf_of(rq)->base.pending,
    };
    struct console *c = NULL;
    struct hf_error err;

    t->cf = cf_of(rq);
    cf_query_size(rq, &o.viewer.cols, &o.viewer.rows);
    if (o.viewer.cols == 0 || o.viewer.rows == 0 || http_role(rq) < ROLE_TYPE)
        o.viewer.cols = o.viewer.rows = 0;
    t->resumed = cursor != NULL && cursor[0] != '\0';
    if (!decode_cursor(cursor, &o.viewer))
        hf_fail(&err, HF_E_bad_value, "not a cursor of this terminal");
    else
        c = console_open(rq, &o, &err);
    if (c != NULL) {
        send_ready(c, t->resumed ? cursor : NULL);
        return;
    }
    free(t);
    if (err.code != HF_OK)
        cf_refuse_socket(rq, 1011, err.detail);
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
        terminal_open(rq, p, http_query(rq, "cursor"));
    else
        cf_refuse_socket(rq, 1008, "Terminal not found");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_pty.c - GET /ws/pty: the terminal of the stable generation
 *
 * Bytes are binary frames both ways. A client that reconnects gets a snapshot, which begins with a
 * reset, so what its terminal still shows does not matter; `ready` follows. The original replays
 * bytes onto whatever is left on the screen and keeps the dead terminal of an ended shell for ever.
 * Here the client is notified of the end, and the next client gets a new shell. Layer: dialects.
 */
#include "dialects/cloudflare/cf_pty.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/signals.h"
#include "base/text.h"
#include "dialects/cloudflare/cf_wire.h"

/* --- to the client -------------------------------------------------------------------------- */

struct json_out cf_message(struct cf *cf, const char *type)
{
    struct json_out o = dialect_reply_open(&cf->base);

    json_kstr(&o, "type", type);
    return o;
}

void cf_message_error(struct cf *cf, struct console *c, const char *text)
{
    struct json_out o = cf_message(cf, "error");

    json_kstr(&o, "message", text);
    console_send_json(c, &o);
}

static void send_error(struct console *c, const char *text)
{
    cf_message_error(console_user(c), c, text);
}

/* The addon sends its size on its own, so a client that may only watch gets no error each time. */
void cf_pty_resize(struct cf *cf, struct console *c, int64_t cols, int64_t rows)
{
    struct hf_error err;

    if (ws_role(console_ws(c)) >= ROLE_TYPE &&
        viewer_resize(console_viewer(c), rows, cols, &err) < 0)
        cf_message_error(cf, c, err.detail);
}

static void pty_ready(struct console *c, uint64_t offset)
{
    struct json_out o = cf_message(console_user(c), "ready");

    (void)offset;
    console_send_json(c, &o);
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

/* A snapshot follows and covers the gap; without one, report it as text. */
static void fresh_gap(struct console *c, uint64_t from, uint64_t to)
{
    char text[100];

    snprintf(text, sizeof text, "%llu bytes of output were lost: the client is too slow",
             (unsigned long long)(to - from));
    send_error(c, text);
}

static void pty_exited(struct console *c, const struct exit_record *x)
{
    struct json_out o = cf_message(console_user(c), "exit");

    json_kint(&o, "code", x->exit_code >= 0 ? x->exit_code : 1);
    if (x->signum > 0)
        json_kstr(&o, "signal", signal_name(x->signum));
    console_send_json(c, &o);
    console_close(c, 1000, "Terminal exited");
}

/* --- from the client -------------------------------------------------------------------------- */

static void pty_refused(struct console *c, const struct hf_error *err)
{
    send_error(c, err->detail);
}

static void pty_text(struct console *c, const char *text, size_t len)
{
    int64_t cols, rows;

    switch (cf_control_decode(text, len, &cols, &rows)) {
    case CF_CONTROL_BAD: send_error(c, "Invalid control message"); break;
    case CF_CONTROL_SIZE:
        send_error(c, "Invalid dimensions: cols and rows must be positive");
        break;
    case CF_CONTROL_RESIZE: cf_pty_resize(console_user(c), c, cols, rows); break;
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

/* --- attach ----------------------------------------------------------------------------------- */

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
        .pending = &cf->base.pending,
    };
    struct hf_error err;

    if (console_open(rq, &o, &err) == NULL && err.code != HF_OK)
        cf_refuse_socket(rq, 1011, err.detail);
}

#define CLOSE_REASON_BYTES 123 /* of a close frame's reason */

void cf_refuse_socket(struct http_request *rq, int code, const char *text)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));
    struct ws *ws = console_refuse(rq);
    char reason[CLOSE_REASON_BYTES + 1];

    if (ws == NULL)
        return;
    json_kstr(&o, "type", "error");
    json_kstr(&o, "message", text);
    json_close(&o, '}');
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

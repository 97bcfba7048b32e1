/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_terminal.c - the WebSocket of a PTY: bytes both ways, and a few control messages as text
 *
 * The original replays nothing, so a page that is reloaded stays blank, and output from before the
 * attach is lost. Here the output that is held follows right after `connected`. Layer: dialects.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dialects/common/console.h"
#include "dialects/daytona/daytona.h"
#include "dialects/daytona/daytona_limits.h"

#define REPLAY_BYTES 65536
#define CLOSE_REASON_BYTES 123 /* the limit of a close frame */

/* --- control -------------------------------------------------------------------------------- */

static struct json_out control(struct dialect_base *b, const char *status)
{
    struct json_out o = dialect_reply_open(b);

    json_kstr(&o, "type", "control");
    json_kstr(&o, "status", status);
    return o;
}

static void send_control(struct ws *ws, struct json_out *o)
{
    json_close(o, '}');
    ws_send_text(ws, buf_data(o->buf), o->buf->len);
}

/* The reason, in the original's words; NULL: success. */
static const char *exit_reason(const struct exit_record *x, char text[32])
{
    switch (x->exit_code) {
    case 0: return NULL;
    case 130: return "Ctrl+C";
    case 137: return "SIGKILL";
    case 143: return "SIGTERM";
    default: break;
    }
    if (x->exit_code < 0)
        return "lost";
    if (x->exit_code <= 128)
        return "non-zero exit";
    snprintf(text, 32, "signal %d", x->exit_code - 128);
    return text;
}

static void write_exit_of(struct json_out *o, const struct exit_record *x)
{
    char text[32];
    const char *reason = exit_reason(x, text);

    json_kint(o, "exitCode", x->exit_code);
    if (reason != NULL)
        json_kstr(o, "exitReason", reason);
}

static void close_exited(struct console *c, const struct exit_record *x)
{
    struct json_out o = dialect_reply_open(console_user(c));

    write_exit_of(&o, x);
    json_close(&o, '}');
    console_close(c, x->exit_code == 0 ? 1000 : 1011, buf_cstr(o.buf));
}

/* --- the connection --------------------------------------------------------------------------- */

/* Older clients show it as output, so only those that offered to understand it get it. */
static void exited_with_control(struct console *c, const struct exit_record *x)
{
    struct json_out o = control(console_user(c), "exited");

    write_exit_of(&o, x);
    send_control(console_ws(c), &o);
    close_exited(c, x);
}

/*
 * Refuse input from a client that may only watch. Input that came too late for the process is not
 * an error.
 */
static void terminal_refused(struct console *c, const struct hf_error *err)
{
    if (err->code == HF_E_forbidden)
        console_close(c, 1008, err->detail);
}

/* The output is the only place for it. */
static void terminal_gap(struct console *c, uint64_t from, uint64_t to)
{
    char text[80];
    struct iovec iov = {text, 0};

    iov.iov_len = (size_t)snprintf(text, sizeof text, "\r\n[%llu bytes of output were lost]\r\n",
                                   (unsigned long long)(to - from));
    ws_send(console_ws(c), WS_BINARY, &iov, 1);
}

static const struct console_ops ops_with_control = {
    .gap = terminal_gap, .exited = exited_with_control, .refused = terminal_refused};
static const struct console_ops ops_plain = {
    .gap = terminal_gap, .exited = close_exited, .refused = terminal_refused};

void dt_pty_attach(struct http_request *rq, struct process *p)
{
    struct dialect_base *b = dialect_base_of(rq);
    char protocol[DT_PROTOCOL_BYTES];
    const struct console_open o = {
        .process = p,
        .viewer = {.since = SINCE_LAST, .offset = REPLAY_BYTES, .only_stream = -1},
        .ops = ws_is_offered(rq, DT_EXIT_CONTROL) ? &ops_with_control : &ops_plain,
        .user = b,
        .text_max = LIMIT_DT_INPUT_BYTES,
        .protocol = dt_protocol(rq, protocol),
    };
    struct hf_error err = {0};
    struct console *c = console_open(rq, &o, &err);
    struct json_out hello;

    if (c == NULL) {
        if (err.code != HF_OK)
            dt_pty_refuse(rq, "%s", err.detail);
        return;
    }
    hello = control(b, "connected");
    send_control(console_ws(c), &hello);
}

void dt_pty_connect(struct http_request *rq)
{
    const char *id = http_param(rq, "id");
    struct process *p = dt_pty_find(dt_of(rq), id);

    if (p != NULL)
        dt_pty_attach(rq, p);
    else
        dt_pty_refuse(rq, "PTY session %.100s not found", id);
}

/* --- a refusal that the client can show ------------------------------------------------------- */

void dt_pty_refuse(struct http_request *rq, const char *fmt, ...)
{
    static const struct console_ops ops = {0}; /* a closing console ignores what the client sends */
    struct dialect_base *b = dialect_base_of(rq);
    char protocol[DT_PROTOCOL_BYTES];
    const struct console_open open = {.ops = &ops, .protocol = dt_protocol(rq, protocol)};
    struct hf_error err;
    struct console *c = console_open(rq, &open, &err);
    char reason[400], text[440];
    struct json_out o;
    va_list args;

    if (c == NULL)
        return;
    va_start(args, fmt);
    vsnprintf(reason, sizeof reason, fmt, args);
    va_end(args);
    snprintf(text, sizeof text, "Failed to connect to PTY session: %s", reason);
    o = control(b, "error");
    json_kstr(&o, "error", text);
    send_control(console_ws(c), &o);
    console_close(c, 1011, "failed to connect to PTY session");
}

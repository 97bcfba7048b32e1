/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_terminal.c - GET …/terminal/ws: bytes out as binary frames, JSON frames in
 *
 * The original replays nothing, so a reloaded page stays blank, and output before the attach is
 * lost. Here the retained output follows `ready`, and its React component shows it as history.
 * Layer: dialects.
 */
#include <stdio.h>

#include "dialects/common/console.h"
#include "dialects/sandbox-agent/agent.h"

#define REPLAY_BYTES 65536
/* of JSON: the longest input with every byte escaped, and some spare */
#define FRAME_BYTES (1 << 20)

/* --- to the client ------------------------------------------------------------------ */

static void send_error(struct console *c, const char *message)
{
    struct json_out o = dialect_reply_open(console_user(c));

    json_kstr(&o, "type", "error");
    json_kstr(&o, "message", message);
    console_send_json(c, &o);
}

static void send_ready(struct console *c)
{
    struct json_out o = dialect_reply_open(console_user(c));
    struct process_view v;

    process_view(console_process(c), &v);
    json_kstr(&o, "type", "ready");
    json_kstr(&o, "processId", v.id);
    console_send_json(c, &o);
}

/* Never drop output silently. */
static void terminal_gap(struct console *c, uint64_t from, uint64_t to)
{
    char message[100];

    snprintf(message, sizeof message, "%llu bytes of output were lost: the client reads too slowly",
             (unsigned long long)(to - from));
    send_error(c, message);
}

static void terminal_exited(struct console *c, const struct exit_record *x)
{
    struct json_out o = dialect_reply_open(console_user(c));

    json_kstr(&o, "type", "exit");
    agent_write_code(&o, x);
    console_send_json(c, &o);
    console_close(c, 1000, "exit");
}

/* --- from the client -------------------------------------------------------------------- */

static bool may_type(const struct console *c)
{
    return ws_role(console_ws(c)) >= ROLE_TYPE;
}

static void terminal_refused(struct console *c, const struct hf_error *err)
{
    send_error(c, may_type(c) ? err->detail : "this token may only watch");
}

static void frame_resize(struct console *c, const struct agent_frame *f)
{
    struct hf_error err;

    if (!may_type(c))
        send_error(c, "this token may only watch");
    else if (viewer_resize(console_viewer(c), f->rows, f->cols, &err) < 0)
        send_error(c, err.detail);
}

static void frame_wrong(struct console *c, const struct hf_error *err)
{
    char text[400];

    snprintf(text, sizeof text, "%s%s",
             err->code == HF_E_body_too_large ? "" : "invalid terminal frame: ", err->detail);
    send_error(c, text);
}

static void terminal_text(struct console *c, const char *text, size_t len)
{
    const struct agent *agent = console_user(c);
    struct hf_error err = {0};
    struct agent_frame f;

    if (agent_decode_frame(&f, text, len, agent->config.max_input, &err) < 0)
        frame_wrong(c, &err);
    else if (f.kind == AGENT_FRAME_INPUT)
        console_type_all(c, buf_data(&f.bytes), f.bytes.len);
    else if (f.kind == AGENT_FRAME_RESIZE)
        frame_resize(c, &f);
    else
        console_close(c, 1000, "detached");
    buf_fini(&f.bytes);
}

static void terminal_too_long(struct console *c)
{
    char text[100];

    snprintf(text, sizeof text, "terminal frame exceeds %d bytes", FRAME_BYTES);
    send_error(c, text);
}

static size_t terminal_binary(struct console *c, const void *bytes, size_t len, bool last)
{
    (void)bytes;
    if (last)
        send_error(c, "binary input is not supported; use text JSON frames");
    return len;
}

static const struct console_ops ops = {
    .gap = terminal_gap,
    .exited = terminal_exited,
    .text = terminal_text,
    .too_long = terminal_too_long,
    .binary = terminal_binary,
    .refused = terminal_refused,
};

/* --- setup -------------------------------------------------------------------------------- */

static void terminal_open(struct http_request *rq, struct process *p)
{
    struct agent *agent = agent_of(rq);
    const struct console_open o = {
        .process = p,
        .viewer = {.since = SINCE_LAST, .offset = REPLAY_BYTES, .only_stream = -1},
        .ops = &ops,
        .user = agent,
        .pending = &agent->base.pending,
        .text_max = FRAME_BYTES,
    };
    struct hf_error err;
    struct console *c = console_open(rq, &o, &err);

    if (c != NULL)
        send_ready(c);
    else if (err.code != HF_OK)
        http_reply_error(rq, &err);
}

void agent_terminal(struct http_request *rq)
{
    struct process *p = dialect_process(rq, "id");
    struct process_view v;

    if (p == NULL)
        return;
    process_view(p, &v);
    if (!v.pty)
        dialect_fail(rq, HF_E_not_a_terminal, "process is not a tty");
    else
        terminal_open(rq, p);
}

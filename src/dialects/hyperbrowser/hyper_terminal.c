/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper_terminal.c - GET …/ws: JSON frames on a terminal
 *
 * Clients treat every message but `output` as the exit, so nothing else is ever sent: an invalid
 * frame closes the connection with a reason. Clients begin to listen only after the 101, so the
 * gate of the console is used. Layer: dialects.
 */
#include "dialects/common/console.h"
#include "dialects/hyperbrowser/hyper.h"
#include "dialects/hyperbrowser/hyperbrowser_limits.h"

static void send_frame(struct console *c, const struct buf *text)
{
    ws_send_text(console_ws(c), buf_data(text), text->len);
}

static void send_output(struct console *c, const struct slice *s)
{
    struct hyper *h = console_user(c);
    struct json_out o;

    buf_clear(&h->base.scratch);
    json_out_init(&o, &h->base.scratch);
    hyper_write_run(&o, "output", s);
    send_frame(c, &h->base.scratch);
}

static void terminal_exited(struct console *c, const struct exit_record *x)
{
    struct json_out o = dialect_reply_open(console_user(c));

    (void)x;
    json_kstr(&o, "type", "exit");
    json_key(&o, "status");
    hyper_write_terminal(&o, console_process(c), false);
    json_close(&o, '}');
    send_frame(c, o.buf);
    console_close(c, 1000, "exit");
}

/* --- from the client -------------------------------------------------------------------- */

static void frame_resize(struct console *c, const struct hyper_frame *f)
{
    struct hf_error err = {0};

    if (ws_role(console_ws(c)) < ROLE_TYPE)
        console_close(c, 1008, "this token may only watch");
    else if (process_resize(console_process(c), f->rows, f->cols, "api", &err) < 0)
        console_close(c, 1008, err.detail);
}

static void terminal_text(struct console *c, const char *text, size_t len)
{
    struct hf_error err = {0};
    struct hyper_frame f;

    if (hyper_decode_frame(&f, text, len, &err) < 0)
        console_close(c, 1007, err.detail);
    else if (f.resize)
        frame_resize(c, &f);
    else
        console_type_all(c, buf_data(&f.bytes), f.bytes.len);
    buf_fini(&f.bytes);
}

static size_t terminal_binary(struct console *c, const void *bytes, size_t len, bool last)
{
    (void)bytes, (void)last;
    console_close(c, 1003, "frames must be JSON text");
    return len;
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

static const struct console_ops ops = {
    .bytes = send_output,
    .exited = terminal_exited,
    .text = terminal_text,
    .binary = terminal_binary,
    .refused = terminal_refused,
};

/* --- attach ------------------------------------------------------------------------------- */

void hyper_terminal_connect(struct http_request *rq)
{
    struct process *p = hyper_process(rq);
    struct console_open o = {
        .process = p,
        .viewer = {.since = SINCE_OFFSET, .runs = true, .only_stream = -1},
        .ops = &ops,
        .text_max = LIMIT_HYPER_FRAME_BYTES,
        .gate = true,
    };

    if (p == NULL || !hyper_cursor(rq, p, "cursor", UINT64_MAX, &o.viewer.offset))
        return;
    console_serve(rq, &o);
}

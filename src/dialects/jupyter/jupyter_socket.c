/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jupyter_socket.c - GET /terminals/websocket/NAME: terminado's frames
 *
 * A frame is a JSON text, so output is sent by whole runs of the journal, which do not end inside
 * a character. The protocol has no message for lost output: the socket closes then, and the client
 * reconnects and gets the history again. Layer: dialects.
 */
#include <string.h>

#include "dialects/common/console.h"
#include "dialects/common/dialect_base.h"
#include "dialects/jupyter/jupyter.h"

#define REPLAY_BYTES 65536
#define FRAME_BYTES (1 << 20) /* of JSON: what somebody pastes */

/* --- to the client ------------------------------------------------------------------ */

static struct json_out frame_open(struct console *c, const char *kind)
{
    struct json_out o = dialect_array_open(console_user(c));

    json_str(&o, kind);
    return o;
}

static void frame_send(struct console *c, struct json_out *o)
{
    json_close(o, ']');
    ws_send_text(console_ws(c), buf_data(o->buf), o->buf->len);
}

static void send_setup(struct console *c)
{
    struct json_out o = frame_open(c, "setup");

    json_open(&o, '{');
    json_close(&o, '}');
    frame_send(c, &o);
}

static void socket_bytes(struct console *c, const struct slice *s)
{
    struct json_out o = frame_open(c, "stdout");

    json_strn(&o, s->bytes, s->len);
    frame_send(c, &o);
}

static void socket_gap(struct console *c, uint64_t from, uint64_t to)
{
    (void)from, (void)to;
    console_close(c, WS_CODE_GAP, "output was lost: the client reads too slowly; reconnect");
}

static void socket_exited(struct console *c, const struct exit_record *x)
{
    struct json_out o = frame_open(c, "disconnect");

    (void)x;
    json_int(&o, 1);
    frame_send(c, &o);
    console_close(c, 1000, "exit");
}

/* --- from the client -------------------------------------------------------------------- */

int jupyter_decode_frame(struct jupyter_frame *f, const json_t *tree, struct hf_error *err)
{
    const char *kind = json_string_value(json_array_get(tree, 0));
    const json_t *first = json_array_get(tree, 1), *second = json_array_get(tree, 2);

    *f = (struct jupyter_frame){.kind = JUPYTER_FRAME_OTHER};
    if (kind == NULL)
        return hf_fail(err, HF_E_bad_type, "a frame must be an array that begins with its kind");
    if (strcmp(kind, "set_size") == 0 && json_is_integer(first) && json_is_integer(second)) {
        f->kind = JUPYTER_FRAME_SIZE;
        f->rows = json_integer_value(first);
        f->cols = json_integer_value(second);
    } else if (strcmp(kind, "stdin") == 0) {
        if (!json_is_string(first))
            return hf_fail(err, HF_E_bad_type, "the input of a frame must be a string");
        f->kind = JUPYTER_FRAME_STDIN;
        f->text = json_string_value(first);
        f->len = json_string_length(first);
    }
    return 0;
}

/* There is no message for refusals either: input and sizes that are refused have no effect. */
static void socket_text(struct console *c, const char *text, size_t len)
{
    struct hf_error err = {0};
    json_auto_t *tree = json_parse(text, len, &err);
    struct jupyter_frame f = {0};

    if (tree == NULL || jupyter_decode_frame(&f, tree, &err) < 0)
        console_close(c, 1007, "frames must be terminado's JSON arrays");
    else if (f.kind == JUPYTER_FRAME_STDIN)
        console_type_all(c, f.text, f.len);
    else if (f.kind == JUPYTER_FRAME_SIZE)
        console_resize(c, f.rows, f.cols);
}

static size_t socket_binary(struct console *c, const void *bytes, size_t len, bool last)
{
    (void)bytes, (void)last;
    console_close(c, 1003, "frames must be text");
    return len;
}

static const struct console_ops ops = {
    .bytes = socket_bytes,
    .gap = socket_gap,
    .exited = socket_exited,
    .text = socket_text,
    .binary = socket_binary,
};

/* The first of the last runs that fit into the replay; at least one. */
static uint64_t replay_begin(const struct journal *j)
{
    uint64_t first = journal_run_first(j), count = journal_run_count(j);
    uint64_t run = journal_run_last(j, first, REPLAY_BYTES);

    return run == count && run > first ? run - 1 : run;
}

void jupyter_socket(struct http_request *rq)
{
    struct process *p = jupyter_find(rq, true);
    struct console_open o = {
        .process = p,
        .viewer = {.since = SINCE_OFFSET, .runs = true, .only_stream = -1},
        .ops = &ops,
        .text_max = FRAME_BYTES,
    };
    struct console *c;

    if (p == NULL)
        return;
    o.viewer.offset = replay_begin(process_journal(p));
    c = console_serve(rq, &o);
    if (c != NULL)
        send_setup(c);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_terminal.c - one WebSocket on a terminal: replay, output, input, takeover. Layer: dialects.
 */
#include "dialects/opensandbox/osb_terminal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/common/request_checks.h"
#include "dialects/opensandbox/opensandbox_limits.h"
#include "dialects/opensandbox/osb_frame.h"

#define FRAME_BYTES 32768    /* of output, as in execd */
#define TEXT_BYTES (1 << 20) /* of a JSON frame: input, escaped */
#define CODE_TAKEN_OVER 4001

enum { OP_STDIN = 0, OP_STDOUT = 1, OP_STDERR = 2, OP_REPLAY = 3 };

/* --- lifetime -------------------------------------------------------------------- */

struct osb_terminal *osb_terminal_new(struct http_request *rq, const char *key)
{
    struct osb_terminal *t = hf_xalloc(sizeof *t);

    t->osb = osb_of(rq);
    t->rq = rq;
    t->key = hf_xstrdup(key);
    list_append(&t->osb->terminals, &t->link);
    return t;
}

void osb_terminal_free(struct osb_terminal *t)
{
    list_remove(&t->link);
    free(t->filter);
    free(t->key);
    free(t->id);
    free(t);
}

struct osb_terminal *osb_terminal_holder(struct osb *o, const char *key)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &o->terminals) {
        struct osb_terminal *t = list_entry(it, struct osb_terminal, link);
        bool closing = t->console != NULL && console_is_closing(t->console);

        if (!t->viewer && !closing && t->key != NULL && strcmp(t->key, key) == 0)
            return t;
    }
    return NULL;
}

/* A connection that is not open yet is abandoned: the later client gets the session. */
void osb_terminal_take_over(struct osb_terminal *t)
{
    if (t->console != NULL)
        console_close(t->console, CODE_TAKEN_OVER, "TAKEN_OVER");
}

/* --- to the client ------------------------------------------------------------------ */

static void send_json(struct ws *ws, struct json_out *j)
{
    json_close(j, '}');
    buf_putc(j->buf, '\n');
    ws_send_text(ws, buf_data(j->buf), j->buf->len);
}

static void send_error(struct osb *o, struct ws *ws, const char *code, const char *message)
{
    struct json_out j = dialect_reply_open(&o->base);

    json_kstr(&j, "type", "error");
    json_kstr(&j, "error", message);
    json_kstr(&j, "code", code);
    send_json(ws, &j);
}

static void send_connected(struct console *c)
{
    const struct osb_terminal *t = console_user(c);
    struct json_out j = dialect_reply_open(&t->osb->base);
    struct process_view v;

    process_view(console_process(c), &v);
    json_kstr(&j, "type", "connected");
    json_kstr(&j, "session_id", t->id != NULL ? t->id : v.id);
    json_kstr(&j, "mode", v.pty ? "pty" : "pipe");
    json_kstr(&j, "role", t->viewer ? "viewer" : "holder");
    send_json(console_ws(c), &j);
}

static void send_piece(struct console *c, uint8_t op, uint64_t offset, const char *bytes,
                       size_t len)
{
    const struct osb_terminal *t = console_user(c);
    uint8_t head[9] = {op};
    struct iovec iov[2] = {{head, t->plain ? 0 : 1}, {(void *)(uintptr_t)bytes, len}};

    if (op == OP_REPLAY && !t->plain) {
        for (int i = 0; i < 8; i++)
            head[1 + i] = (uint8_t)(offset >> (56 - 8 * i));
        iov[0].iov_len = sizeof head;
    }
    ws_send(console_ws(c), WS_BINARY, iov, 2);
}

static void send_bytes(struct console *c, uint8_t op, uint64_t offset, const char *bytes,
                       size_t len)
{
    while (len > 0) {
        size_t n = len < FRAME_BYTES ? len : FRAME_BYTES;

        send_piece(c, op, offset, bytes, n);
        offset += n;
        bytes += n;
        len -= n;
    }
}

static void terminal_bytes(struct console *c, const struct slice *s)
{
    struct osb_terminal *t = console_user(c);
    bool placed = t->viewer || !t->live || t->jumped;
    uint8_t op = placed ? OP_REPLAY : s->stream == STREAM_STDERR ? OP_STDERR : OP_STDOUT;

    t->jumped = false;
    send_bytes(c, op, t->base + s->at, s->bytes, s->len);
}

/* Plain bytes have no offset that would show it. */
static void send_gap(struct console *c, uint64_t from, uint64_t to)
{
    const struct osb_terminal *t = console_user(c);
    struct json_out j = dialect_reply_open(&t->osb->base);

    json_kstr(&j, "type", "gap");
    json_ku64(&j, "offset", from);
    json_ku64(&j, "bytes", to - from);
    send_json(console_ws(c), &j);
}

static void terminal_gap(struct console *c, uint64_t from, uint64_t to)
{
    struct osb_terminal *t = console_user(c);

    if (t->plain)
        send_gap(c, from, to);
    t->jumped = true;
}

/* A terminal would answer a query of an earlier life into the input of the current one. With pipes
 * there is no terminal, and bytes stay unchanged. */
static void ahead_filter(struct console *c, struct process *life, struct slice *s)
{
    struct osb_terminal *t = console_user(c);
    struct process_view now, then;

    process_view(console_process(c), &now);
    process_view(life, &then);
    if (!now.pty && !then.pty)
        return;
    if (t->filter == NULL)
        t->filter = hf_xalloc(sizeof *t->filter);
    if (t->filter->vt.at != t->since)
        query_filter_start(t->filter, t->since);
    if (query_filter_run(t->filter, s->bytes, s->len, false, &t->osb->base.scratch))
        s->bytes = buf_data(&t->osb->base.scratch);
}

/* The output of the session's earlier lives. */
static bool terminal_ahead(struct console *c)
{
    struct osb_terminal *t = console_user(c);

    while (t->since < t->base) {
        uint64_t life_base = 0;
        struct process *p = osb_pty_earlier(t->osb, t->key, t->base, &t->since, &life_base);
        struct slice s;

        if (p == NULL)
            break;
        if (!ws_ready(console_ws(c)))
            return false;
        s = journal_slice(process_journal(p), t->since - life_base, FRAME_BYTES);
        ahead_filter(c, p, &s);
        send_bytes(c, OP_REPLAY, t->since, s.bytes, s.len);
        t->since += s.len;
    }
    t->since = UINT64_MAX;
    free(t->filter);
    t->filter = NULL;
    return true;
}

static void terminal_replay_done(struct console *c, uint64_t offset)
{
    struct osb_terminal *t = console_user(c);

    (void)offset;
    t->live = true;
    send_connected(c);
}

static void terminal_exited(struct console *c, const struct exit_record *x)
{
    const struct osb_terminal *t = console_user(c);
    struct json_out j = dialect_reply_open(&t->osb->base);

    json_kstr(&j, "type", "exit");
    json_kint(&j, "exit_code", x->code >= 0 ? x->code : -1);
    send_json(console_ws(c), &j);
    console_close(c, 1000, "process exited");
}

/* --- from the client -------------------------------------------------------------------- */

/* True: it may not write, and was notified. */
static bool refuse_viewer(struct console *c)
{
    struct osb_terminal *t = console_user(c);

    if (!t->viewer)
        return false;
    send_error(t->osb, console_ws(c), "READ_ONLY", "a viewer may not send input, resize or signal");
    if (++t->refusals >= OSB_READ_ONLY_MAX)
        console_close(c, 1008, "READ_ONLY");
    return true;
}

static void terminal_refused(struct console *c, const struct hf_error *err)
{
    const struct osb_terminal *t = console_user(c);

    send_error(t->osb, console_ws(c), "STDIN_WRITE_FAILED", err->detail);
}

static void frame_signal(struct console *c, int signum)
{
    const struct osb_terminal *t = console_user(c);
    struct process_view v;
    struct hf_error err;

    process_view(console_process(c), &v);
    if (check_signal_role(signum, ws_role(console_ws(c)), &err) < 0 ||
        process_signal(console_process(c), signum, v.pty ? TARGET_FOREGROUND : TARGET_GROUP, NULL,
                       NULL, &err) < 0)
        send_error(t->osb, console_ws(c), "RUNTIME_ERROR", err.detail);
}

static void frame_resize(struct console *c, const struct frame *f)
{
    const struct osb_terminal *t = console_user(c);
    struct process_view v;
    struct hf_error err;

    process_view(console_process(c), &v);
    if (f->rows == 0 || !v.pty)
        return;
    if (viewer_resize(console_viewer(c), f->rows, f->cols, &err) < 0)
        send_error(t->osb, console_ws(c), "RUNTIME_ERROR", err.detail);
}

static void terminal_text(struct console *c, const char *text, size_t len)
{
    static const char pong[] = "{\"type\":\"pong\"}\n";
    const struct osb_terminal *t = console_user(c);
    struct frame f;

    osb_frame_decode(&f, text, len);
    if (f.kind == FRAME_PING)
        ws_send_text(console_ws(c), pong, sizeof pong - 1);
    else if (f.kind == FRAME_BAD)
        send_error(t->osb, console_ws(c), "INVALID_FRAME", f.wrong);
    else if (!refuse_viewer(c)) {
        if (f.kind == FRAME_STDIN)
            console_type_all(c, f.data, f.len);
        else if (f.kind == FRAME_RESIZE)
            frame_resize(c, &f);
        else
            frame_signal(c, f.signum);
    }
    osb_frame_fini(&f);
}

/* The first byte is the type of the frame, unless they are plain; only input is known. */
static bool frame_is_input(struct console *c, uint8_t op)
{
    const struct osb_terminal *t = console_user(c);

    if (!t->plain && op != OP_STDIN) {
        send_error(t->osb, console_ws(c), "INVALID_FRAME",
                   "a binary frame must be the byte 00 followed by input");
        return false;
    }
    return !refuse_viewer(c);
}

static size_t terminal_binary(struct console *c, const void *bytes, size_t len, bool last)
{
    struct osb_terminal *t = console_user(c);
    size_t skip = 0, taken;

    if (!t->in_frame && len > 0) {
        t->in_frame = true;
        t->typing = frame_is_input(c, *(const uint8_t *)bytes);
        skip = t->plain ? 0 : 1;
    }
    taken = len - skip;
    if (t->typing && taken > 0 && !console_is_closing(c))
        taken = console_type(c, (const char *)bytes + skip, taken, last);
    if (last && skip + taken == len)
        t->in_frame = false;
    return skip + taken;
}

static void terminal_closed(struct console *c, int code)
{
    (void)code;
    osb_terminal_free(console_user(c));
}

static const struct console_ops ops = {
    .ahead = terminal_ahead,
    .bytes = terminal_bytes,
    .gap = terminal_gap,
    .replay_done = terminal_replay_done,
    .exited = terminal_exited,
    .text = terminal_text,
    .binary = terminal_binary,
    .refused = terminal_refused,
    .closed = terminal_closed,
};

/* --- setup -------------------------------------------------------------------------------- */

void osb_terminal_open(struct osb_terminal *t, struct process *p)
{
    struct http_request *rq = t->rq;
    struct console_open o = {
        .process = p,
        .viewer = {.since = SINCE_OFFSET, .only_stream = -1, .read_only = t->viewer},
        .ops = &ops,
        .user = t,
        .text_max = TEXT_BYTES,
    };
    struct process_view v;
    struct hf_error err;

    process_view(p, &v);
    o.viewer.terminal = v.pty;
    o.viewer.offset = t->since > t->base ? t->since - t->base : 0;
    if (o.viewer.offset > v.next)
        o.viewer.offset = v.next;
    t->rq = NULL;
    t->console = console_open(rq, &o, &err);
    if (t->console != NULL)
        return;
    if (err.code != HF_OK)
        osb_error(rq, &err);
    osb_terminal_free(t);
}

/* --- failed starts ------------------------------------------------------------------------ */

/* As a frame, because a browser sees no status and little of a close reason. */
static void start_failed(struct osb *o, struct http_request *rq, const struct hf_error *err)
{
    struct ws *ws = console_refuse(rq);

    send_error(o, ws, "START_FAILED", err->detail);
    ws_close(ws, 1011, "START_FAILED");
}

static void forget_end(void *arg, struct process *p, const struct survivors *s)
{
    (void)arg, (void)s;
    process_forget(p);
}

void osb_terminal_on_spawned(void *arg, struct process *p, const struct hf_error *err)
{
    struct osb_terminal *t = arg;

    if (t->rq != NULL)
        http_set_user(t->rq, NULL, NULL);
    if (p != NULL && t->removed) {
        process_terminate(p, 0, "api", forget_end, NULL);
        if (t->rq != NULL)
            osb_refuse(t->rq, 404, "CONTEXT_NOT_FOUND", "the session was deleted");
        osb_terminal_free(t);
        return;
    }
    if (p != NULL && t->rq != NULL) {
        struct pty_plan plan;
        struct process_view v;

        process_view(p, &v);
        if (t->key == NULL)
            t->key = hf_xstrdup(v.id);
        (void)osb_pty_plan_read(p, &plan);
        t->base = plan.base;
        osb_pty_plan_fini(&plan);
        osb_terminal_open(t, p);
        return;
    }
    if (p != NULL && t->end_unseen)
        process_terminate(p, -1, "detach", NULL, NULL);
    else if (p == NULL && t->rq != NULL)
        start_failed(t->osb, t->rq, err);
    osb_terminal_free(t);
}

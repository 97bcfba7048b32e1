/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_session.c - a WebSocket on a sprite's command: started by it, or attached to later
 *
 * With a terminal, bytes are sent unchanged both ways; without one, the first byte of a message
 * names the stream. Text is JSON in both. The first message is session_info: a client that attaches
 * must learn from it how to read the history that follows. Clients consider a connection dead after
 * 45 s without a message, and pings do not count, so a text message is sent periodically.
 * Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/common/console.h"
#include "dialects/common/request_checks.h"
#include "dialects/common/start_call.h"
#include "dialects/fly/fly.h"
#include "dialects/fly/fly_limits.h"
#include "transport/url_query.h"

#define CLOSE_FAILED 4000 /* plus the exit code: clients of a terminal treat only 1000 as success */
#define SHOWN_CODE(x) ((x)->exit_code >= 0 ? (x)->exit_code & 255 : 255)

struct sprite_session {
    struct fly *fly;
    struct console *console;
    struct timer *alive;
    struct sprite_message message; /* that is being received */
    bool tty;
};

/* --- to the client --------------------------------------------------------------------------- */

static void send_text(struct ws *ws, struct json_out *o)
{
    json_close(o, '}');
    ws_send_text(ws, buf_data(o->buf), o->buf->len);
}

static void send_channel(struct ws *ws, enum sprite_channel channel, const char *bytes, size_t len)
{
    unsigned char head = (unsigned char)channel;
    struct iovec iov[] = {{&head, 1}, {(void *)(uintptr_t)bytes, len}};

    ws_send(ws, WS_BINARY, iov, 2);
}

static void send_info(struct sprite_session *s, const struct process_view *v)
{
    struct json_out o = dialect_reply_open(&s->fly->base);
    struct buf line = {0};

    fly_command_line(v, &line);
    json_kstr(&o, "type", "session_info");
    json_kstr(&o, "session_id", v->id);
    json_key(&o, "command");
    json_strn(&o, buf_data(&line), line.len);
    json_kint(&o, "created", v->created_ms / 1000);
    json_kint(&o, "cols", v->cols);
    json_kint(&o, "rows", v->rows);
    json_kbool(&o, "is_owner", ws_role(console_ws(s->console)) >= ROLE_TYPE);
    json_kbool(&o, "tty", v->pty);
    send_text(console_ws(s->console), &o);
    buf_fini(&line);
}

static void session_bytes(struct console *c, const struct slice *slice)
{
    const struct sprite_session *s = console_user(c);
    struct iovec iov = {(void *)(uintptr_t)slice->bytes, slice->len};

    if (s->tty)
        ws_send(console_ws(c), WS_BINARY, &iov, 1);
    else
        send_channel(console_ws(c), slice->stream == STREAM_STDERR ? SPRITE_STDERR : SPRITE_STDOUT,
                     slice->bytes, slice->len);
}

/* Never leave a silent gap: text messages do not reach the user of a command without a terminal. */
static void session_gap(struct console *c, uint64_t from, uint64_t to)
{
    const struct sprite_session *s = console_user(c);
    char message[100];
    int len = snprintf(message, sizeof message, "\n[%llu bytes of output were lost]\n",
                       (unsigned long long)(to - from));

    if (s->tty)
        console_send_error(c, "%s", message);
    else
        send_channel(console_ws(c), SPRITE_STDERR, message, (size_t)len);
}

static void send_exit(struct fly *f, struct ws *ws, bool tty, int code)
{
    char byte = (char)code;
    struct json_out o;

    if (!tty) {
        send_channel(ws, SPRITE_EXIT, &byte, 1);
        return;
    }
    o = dialect_reply_open(&f->base);
    json_kstr(&o, "type", "exit");
    json_kint(&o, "exit_code", code);
    send_text(ws, &o);
}

static int close_code(bool tty, int code)
{
    return tty && code != 0 ? CLOSE_FAILED + code : 1000;
}

static void session_exited(struct console *c, const struct exit_record *x)
{
    const struct sprite_session *s = console_user(c);

    send_exit(s->fly, console_ws(c), s->tty, SHOWN_CODE(x));
    console_close(c, close_code(s->tty, SHOWN_CODE(x)), "exit");
}

static void session_on_alive(struct timer *t, void *arg)
{
    static const char text[] = "{\"type\":\"keepalive\"}";
    const struct sprite_session *s = arg;
    struct ws *ws = console_ws(s->console);

    timer_start(t, FLY_KEEPALIVE_MS);
    if (!console_is_closing(s->console) && ws_ready(ws))
        ws_send_text(ws, text, sizeof text - 1);
}

/* --- from the client ------------------------------------------------------------------------- */

static bool may_type(struct console *c)
{
    if (ws_role(console_ws(c)) >= ROLE_TYPE)
        return true;
    console_send_error(c, "this token may only watch");
    return false;
}

static void session_refused(struct console *c, const struct hf_error *err)
{
    console_send_error(c, "%s", err->detail);
}

static void take_signal(struct console *c, int signum, struct hf_error *err)
{
    struct process *p = console_process(c);

    if (check_signal_role(signum, ws_role(console_ws(c)), err) == 0)
        (void)process_signal(p, signum, check_signal_target_for(signum, p), NULL, NULL, err);
}

static void session_text(struct console *c, const char *text, size_t len)
{
    struct hf_error err = {0};
    struct sprite_control control;

    if (sprite_decode_control(&control, text, len, &err) == 0 && may_type(c)) {
        if (control.signum > 0)
            take_signal(c, control.signum, &err);
        else
            (void)viewer_resize(console_viewer(c), control.rows, control.cols, &err);
    }
    if (err.code != HF_OK)
        console_send_error(c, "%s", err.detail);
}

static void take_eof(struct console *c)
{
    struct hf_error err = {0};

    if (may_type(c) && viewer_input_eof(console_viewer(c), &err) < 0 &&
        err.code != HF_E_stdin_closed && err.code != HF_E_not_running)
        console_send_error(c, "%s", err.detail);
}

/* A piece of the payload after the channel byte. Returns how many bytes were consumed. */
static size_t take_payload(struct console *c, unsigned channel, const char *bytes, size_t len,
                           bool last)
{
    char message[60];

    if (channel == SPRITE_STDIN)
        return console_type(c, bytes, len, last);
    if (last && channel == SPRITE_STDIN_EOF)
        take_eof(c);
    else if (last) {
        snprintf(message, sizeof message, "there is no stream %u to write to", channel);
        console_send_error(c, "%s", message);
    }
    return len;
}

static size_t session_binary(struct console *c, const void *bytes, size_t len, bool last)
{
    struct sprite_session *s = console_user(c);
    size_t head, taken;

    if (s->tty)
        return console_type(c, bytes, len, last);
    head = sprite_message_head(&s->message, bytes, len);
    if (!s->message.inside)
        return len; /* an empty message */
    taken = take_payload(c, s->message.channel, (const char *)bytes + head, len - head, last);
    if (last && head + taken == len)
        s->message = (struct sprite_message){0};
    return head + taken;
}

static void session_closed(struct console *c, int code)
{
    struct sprite_session *s = console_user(c);

    (void)code;
    timer_close(s->alive);
    free(s);
}

static const struct console_ops ops = {
    .bytes = session_bytes,
    .gap = session_gap,
    .exited = session_exited,
    .text = session_text,
    .binary = session_binary,
    .refused = session_refused,
    .closed = session_closed,
};

/* --- start ----------------------------------------------------------------------------------- */

/* A terminal's output is replayed only as far as useful, other output as far as it is held. */
static struct viewer_options since(const struct process_view *v, bool attach)
{
    struct viewer_options o = {.since = SINCE_OFFSET, .only_stream = -1};

    if (attach && v->pty) {
        o.since = SINCE_LAST;
        o.offset = LIMIT_FLY_REPLAY_BYTES;
    }
    return o;
}

static bool session_open(struct http_request *rq, struct process *p, bool attach)
{
    struct fly *f = fly_of(rq);
    struct sprite_session *s = hf_xalloc(sizeof *s);
    struct hf_error err = {0};
    struct process_view v;

    process_view(p, &v);
    s->fly = f;
    s->tty = v.pty;
    s->console = console_open(
        rq,
        &(struct console_open){.process = p, .viewer = since(&v, attach), .ops = &ops, .user = s},
        &err);
    if (s->console == NULL) {
        if (err.code != HF_OK)
            http_reply_error(rq, &err);
        free(s);
        return false;
    }
    s->alive = timer_new(f->base.loop, session_on_alive, s);
    timer_start(s->alive, FLY_KEEPALIVE_MS);
    send_info(s, &v);
    return true;
}

static void session_attach(struct http_request *rq, const char *id)
{
    struct process *p = fly_session(rq, id);

    if (p != NULL)
        (void)session_open(rq, p, true);
}

void fly_sprite_attach(struct http_request *rq)
{
    session_attach(rq, http_param(rq, "id"));
}

/* --- a new session --------------------------------------------------------------------------- */

/* Clients do not show the status of a refused upgrade, so report it as a shell would. */
static void report_unstarted(struct http_request *rq, const struct hf_error *err)
{
    const char *requested = http_query(rq, "tty");
    bool tty = requested != NULL && fly_is_true(requested);
    struct fly *f = fly_of(rq);
    int code = fly_exit_of(err);
    struct ws *ws = console_refuse(rq);
    struct buf reason = {0};

    if (ws == NULL)
        return;
    fly_put_reason(&reason, err);
    if (tty)
        ws_send(ws, WS_BINARY, &(struct iovec){buf_data(&reason), reason.len}, 1);
    else
        send_channel(ws, SPRITE_STDERR, buf_data(&reason), reason.len);
    send_exit(f, ws, tty, code);
    ws_close(ws, close_code(tty, code), "not started");
    buf_fini(&reason);
}

static void exec_started(struct http_request *rq, struct process *p, const struct hf_error *err)
{
    if (p != NULL && dialect_base_of(rq)->draining)
        fly_error_draining(rq, p);
    else if (p == NULL && fly_exit_of(err) != 0)
        report_unstarted(rq, err);
    else if (p == NULL)
        http_reply_error(rq, err);
    else if (!session_open(rq, p, false))
        process_terminate(p, -1, "api", NULL, NULL);
}

void fly_sprite_decode(struct sprite_request *a, const struct http_request *rq, bool tty,
                       struct hf_error *err)
{
    const char *name, *value;
    size_t i = 0;

    *a = (struct sprite_request){0};
    while (http_query_each(rq, &i, &name, &value))
        if (sprite_decode_pair(a, name, value, err) < 0)
            return;
    if (i == 0 && http_query_raw(rq)[0] != '\0')
        hf_fail(err, HF_E_bad_query, "the query is not valid, or has more than %d parts",
                QUERY_PAIRS_MAX);
    else
        (void)sprite_decode_spec(a, tty, err);
}

static void exec_start(struct http_request *rq)
{
    struct hf_error err = {0};
    struct sprite_request request;

    fly_sprite_decode(&request, rq, true, &err);
    if (err.code != HF_OK)
        http_reply_error(rq, &err);
    else
        start_call_begin(rq, &request.spec,
                         &(struct start_call_options){.done = exec_started,
                                                      .end_if_disconnected =
                                                          request.spec.on_detach != DETACH_KEEP});
    sprite_request_fini(&request);
}

/* The HTTP layer checks this only for routes that are for upgrades only. */
static int check_upgrade(struct http_request *rq, enum role least, struct hf_error *err)
{
    if (http_role(rq) < least)
        return hf_fail(err, HF_E_forbidden, "the role \"%s\" may not start commands",
                       http_role_name(http_role(rq)));
    if (!ws_version_is_ours(rq))
        return hf_fail(err, HF_E_upgrade_required, "use version 13 of the WebSocket protocol");
    if (!ws_key_is_valid(rq))
        return hf_fail(err, HF_E_bad_request, "Sec-WebSocket-Key must be 16 bytes in base64");
    return 0;
}

/* Clients attach by ?id= where the sprite has sent no version that knows …/exec/ID. */
void fly_sprite_exec(struct http_request *rq)
{
    const char *id = http_query(rq, "id");
    struct hf_error err = {0};

    if (!http_is_websocket(rq))
        fly_session_list(rq);
    else if (check_upgrade(rq, id != NULL ? ROLE_WATCH : ROLE_OWN, &err) < 0)
        http_reply_error(rq, &err);
    else if (id != NULL)
        session_attach(rq, id);
    else
        exec_start(rq);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect.c - GET /v1/processes/{id}/connect. Layer: dialects.
 */
#include "dialects/native/socket/connect.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/common/caller.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_handlers.h"

#define CLIENT_MAX 128

static void connect_on_room(void *arg);
static void held_free(struct connect *c);

/* --- decoding requests ------------------------------------------------------ */

static int decode_client(const struct http_request *rq, const char **out, struct hf_error *err)
{
    const char *s = http_query(rq, "client");
    size_t len = 0;

    if (s == NULL)
        return 0;
    while (s[len] > ' ' && s[len] <= '~')
        len++;
    if (len < 1 || len > CLIENT_MAX || s[len] != '\0')
        return hf_fail_field(err, HF_E_bad_query, "client",
                             "\"client\" is 1 to %d visible ASCII characters, without spaces",
                             CLIENT_MAX);
    *out = s;
    return 0;
}

static int decode_name(const struct http_request *rq, const char **out, struct hf_error *err)
{
    const char *s = http_query(rq, "name");
    size_t len = s != NULL ? strlen(s) : 0, i = 0;

    if (s == NULL)
        return 0;
    while (i < len && (unsigned char)s[i] >= ' ' && s[i] != 0x7f)
        i++;
    if (len < 1 || len > LIMIT_NAME_BYTES || i < len || !utf8_is_valid(s, len))
        return hf_fail_field(err, HF_E_bad_query, "name",
                             "\"name\" is 1 to %d bytes of text without control characters",
                             LIMIT_NAME_BYTES);
    *out = s;
    return 0;
}

int connect_decode(const struct http_request *rq, struct connect_request *a, struct hf_error *err)
{
    static const char *const modes[] = {"rw", "ro", NULL};
    int mode = 0;

    *a = (struct connect_request){.since = {SINCE_DEFAULT, 0}, .output = true, .terminal = true};
    if (native_decode_since(rq, &a->since, err) < 0 ||
        native_decode_choice(rq, "mode", modes, &mode, err) < 0 ||
        native_decode_bool(rq, "ack", &a->ack, err) < 0 ||
        native_decode_bool(rq, "raw", &a->raw, err) < 0 ||
        native_decode_bool(rq, "terminal", &a->terminal, err) < 0 ||
        native_decode_bool(rq, "output", &a->output, err) < 0 ||
        decode_client(rq, &a->client, err) < 0 || decode_name(rq, &a->name, err) < 0 ||
        native_decode_size(rq, &a->rows, &a->cols, err) < 0)
        return -1;
    if (!a->terminal && a->since.kind == SINCE_SCREEN)
        return hf_fail_field(err, HF_E_bad_query, "since",
                             "a snapshot requires a terminal; omit \"since\" or \"terminal\"");
    a->read_only = mode == 1 || http_role(rq) < ROLE_TYPE;
    if (a->read_only)
        a->rows = a->cols = 0; /* a watcher does not size the terminal */
    return 0;
}

/* --- teardown ----------------------------------------------------------------- */

/* Detaches from the process: its input and output no longer use this connection. */
static void connect_detach(struct connect *c)
{
    struct viewer *v = c->viewer;

    c->viewer = NULL;
    input_waiter_cancel(&c->waiter);
    list_remove(&c->link);
    viewer_detach(v);
}

static void connect_free(struct connect *c)
{
    connect_detach(c);
    task_cancel(&c->notify);
    native_op_fini(&c->op);
    process_unref(c->process);
    held_free(c);
    free(c->grant);
    free(c);
}

static void connect_on_free(struct op *op)
{
    connect_free(list_entry(op, struct connect, op));
}

/* A server that shuts down closes its WebSockets itself, with 1001. */
static const struct op_kind connect_kind = {.on_drain = NULL, .on_free = connect_on_free};

void connect_close(struct connect *c, int code, const char *reason)
{
    if (c->closing)
        return;
    c->closing = true;
    connect_detach(c);
    ws_close(c->ws, code, reason);
}

void connect_end_grant(struct native *n, const char *grant)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &n->ops) {
        struct op *op = list_entry(it, struct op, link);
        struct connect *c = list_entry(op, struct connect, op);

        if (op->kind == &connect_kind && c->grant != NULL && strcmp(c->grant, grant) == 0)
            connect_close(c, WS_CODE_LINK_ENDED, "link_ended");
    }
}

static void connect_on_closed(void *arg, int code)
{
    struct connect *c = arg;

    if (ws_has_left(code) && c->viewer != NULL)
        viewer_leave(c->viewer);
    connect_free(c);
}

/* --- callbacks of the viewer ------------------------------------------------------ */

static bool connect_ready(void *arg)
{
    struct connect *c = arg;

    return c->ws != NULL && ws_ready(c->ws);
}

static void connect_bytes(void *arg, const struct slice *s)
{
    struct connect *c = arg;
    struct iovec iov = {(void *)(uintptr_t)s->bytes, s->len};

    if (!c->pty && !c->raw && c->stream != (int8_t)s->stream) {
        struct json_out o = connect_message(c, "stream");

        c->stream = (int8_t)s->stream;
        json_kstr(&o, "name", stream_name(s->stream));
        connect_send(c, &o);
    }
    ws_send(c->ws, WS_BINARY, &iov, 1);
}

static uint64_t connect_sent(void *arg)
{
    struct connect *c = arg;

    return c->ws != NULL ? ws_count_sent(c->ws) : 0;
}

static uint64_t connect_confirmed(void *arg)
{
    struct connect *c = arg;

    return c->ws != NULL ? ws_count_received(c->ws) : 0;
}

/*
 * A terminal gets a snapshot next. A client that reads only bytes cannot be notified otherwise.
 * Output lost before it attached does not matter to it, unless it has received what came before.
 */
static void connect_gap(void *arg, uint64_t from, uint64_t to)
{
    struct connect *c = arg;
    struct json_out o;

    if (c->raw && !c->pty && from > 0) {
        connect_close(c, WS_CODE_GAP, "output was missed");
        return;
    }
    o = connect_message(c, "gap");
    json_ku64(&o, "from", from);
    json_ku64(&o, "to", to);
    connect_send(c, &o);
}

static void connect_replay_done(void *arg, uint64_t offset)
{
    struct connect *c = arg;
    struct json_out o = connect_message(c, "replay_done");

    json_ku64(&o, "offset", offset);
    connect_send(c, &o);
}

static void connect_snapshot(void *arg, uint64_t offset, size_t len)
{
    struct connect *c = arg;
    struct json_out o = connect_message(c, "snapshot");

    json_ku64(&o, "offset", offset);
    json_ku64(&o, "bytes", len);
    connect_send(c, &o);
}

static void connect_snapshot_bytes(void *arg, const char *bytes, size_t len)
{
    struct connect *c = arg;
    struct iovec iov = {(void *)(uintptr_t)bytes, len};

    ws_send(c->ws, WS_BINARY, &iov, 1);
}

static void connect_exited(void *arg, const struct exit_record *x)
{
    struct connect *c = arg;
    struct json_out o = connect_message(c, "exit");

    process_json_exit(&o, x);
    json_ku64(&o, "offset", viewer_offset(c->viewer));
    connect_send(c, &o);
    connect_close(c, 1000, "exit");
}

static void connect_notice(void *arg, const struct viewer_notice *n)
{
    struct connect *c = arg;

    switch (n->kind) {
    case NOTICE_SIZE:
        c->owes_size = true;
        snprintf(c->size_by, sizeof c->size_by, "%s", n->by != NULL ? n->by : "");
        break;
    case NOTICE_VIEWERS: c->owes_viewers = true; break;
    case NOTICE_TITLE: c->owes_title = true; break;
    case NOTICE_DELETED:
        connect_send_notice(c, "deleted", "the record of this process was dropped", NULL);
        break;
    case NOTICE_LEASE:
        c->owes_lease = true;
        snprintf(c->lease_why, sizeof c->lease_why, "%s", n->by);
        break;
    case NOTICE_LEASE_REQUEST:
        c->owes_request = true;
        snprintf(c->request_by, sizeof c->request_by, "%s", n->by != NULL ? n->by : "");
        break;
    }
    /* Deferred: the engine may be in the middle of the change that it reports. */
    loop_defer(engine_loop(c->op.native->base.engine), &c->notify);
}

static void connect_on_notify(void *arg)
{
    connect_send_owed(arg);
}

static const struct viewer_ops viewer_ops = {
    .ready = connect_ready,
    .bytes = connect_bytes,
    .sent = connect_sent,
    .confirmed = connect_confirmed,
    .gap = connect_gap,
    .replay_done = connect_replay_done,
    .snapshot = connect_snapshot,
    .snapshot_bytes = connect_snapshot_bytes,
    .exited = connect_exited,
    .notice = connect_notice,
};

/* --- callbacks of the WebSocket ------------------------------------------------------ */

static ssize_t take_input(struct connect *c, const void *bytes, size_t len, struct hf_error *err)
{
    if (c->role < ROLE_TYPE)
        return hf_fail(err, HF_E_forbidden, "this connection may only watch");
    return len > 0 ? viewer_input(c->viewer, bytes, len, err) : 0;
}

/* Another client holds the lease: these bytes are dropped, but counted, so that the client does not
 * send them again. */
static void input_passed(struct connect *c, size_t len, bool last, const struct hf_error *err)
{
    viewer_input_pass(c->viewer, len);
    c->owes_ack = c->has_client;
    connect_send_owed(c);
    if (last)
        connect_send_notice(c, "lease_held", err->detail, NULL);
}

/* Input that cannot be written is discarded, and the client notified once per message. */
static size_t connect_input(struct connect *c, const void *bytes, size_t len, bool last)
{
    struct hf_error err;
    ssize_t n;

    if (c->closing)
        return len;
    n = take_input(c, bytes, len, &err);
    if (n < 0) {
        if (err.code == HF_E_lease_held)
            input_passed(c, len, last, &err);
        else if (last)
            connect_send_error(c, &err);
        return len;
    }
    if (n > 0 && c->has_client) {
        c->owes_ack = true;
        connect_send_owed(c);
    }
    if ((size_t)n < len)
        process_wait_for_room(c->process, &c->waiter);
    return (size_t)n;
}

static size_t connect_on_binary(void *arg, const void *bytes, size_t len, bool last)
{
    return connect_input(arg, bytes, len, last);
}

/*
 * A raw client may send keystrokes as text. Text arrives whole, so what the queue has no room for
 * is buffered here, at most one message; what follows waits in the client's own socket.
 */
static void raw_text(struct connect *c, const char *text, size_t len)
{
    size_t n = connect_input(c, text, len, true);

    if (n == len || c->closing)
        return;
    c->held = hf_xalloc(sizeof *c->held);
    buf_put(c->held, text + n, len - n);
    ws_pause(c->ws);
}

static void held_free(struct connect *c)
{
    if (c->held != NULL)
        buf_fini(c->held);
    free(c->held);
    c->held = NULL;
}

static void connect_on_room(void *arg)
{
    struct connect *c = arg;

    if (c->held != NULL) {
        size_t n = connect_input(c, buf_data(c->held), c->held->len, true);

        buf_drop(c->held, n);
        if (c->held->len > 0)
            return; /* connect_input() waits for room again */
        held_free(c);
    }
    ws_resume(c->ws);
}

static void connect_on_text(void *arg, const char *text, size_t len)
{
    struct connect *c = arg;

    if (c->closing)
        return;
    if (c->raw)
        raw_text(c, text, len);
    else
        control_on_text(c, text, len);
}

static void connect_on_drain(void *arg)
{
    struct connect *c = arg;

    connect_send_owed(c);
    if (c->viewer != NULL)
        viewer_pump(c->viewer);
}

static void connect_on_receipt(void *arg)
{
    struct connect *c = arg;

    if (c->viewer != NULL)
        viewer_pump(c->viewer);
}

static const struct ws_ops ws_ops = {
    .on_text = connect_on_text,
    .on_binary = connect_on_binary,
    .on_drain = connect_on_drain,
    .on_receipt = connect_on_receipt,
    .on_closed = connect_on_closed,
};

/* --- setup ----------------------------------------------------------------------------- */

/*
 * A client that reconnects has given up its old connection. Bytes still unread there must not be
 * accepted after input_offset was reported, or they would be written twice: the old connection is
 * closed first. The same id under another grant is another client.
 */
static void replace_older(struct native *n, const struct process *p, const char *principal,
                          const struct connect_request *a)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &n->clients) {
        struct connect *c = list_entry(it, struct connect, link);

        if (c->process != p || !viewer_has_client(c->viewer, principal, a->client))
            continue;
        if (a->since.kind != SINCE_OFFSET)
            viewer_leave(c->viewer); /* it does not request what it may have missed */
        connect_close(c, 1008, "replaced by a newer connection of this client");
    }
}

/* NULL: the owner. */
static const char *connect_principal(const struct http_request *rq)
{
    return http_role(rq) == ROLE_OWN ? NULL : http_principal(rq);
}

static struct connect *connect_new(struct http_request *rq, struct process *p,
                                   const struct connect_request *a)
{
    struct connect *c = hf_xalloc(sizeof *c);
    struct native *n = native_of(rq);
    struct process_view v;

    process_view(p, &v);
    native_op_init(&c->op, n, &connect_kind);
    list_init(&c->link);
    list_init(&c->waiter.link);
    c->waiter.fn = connect_on_room;
    c->waiter.arg = c;
    c->notify.fn = connect_on_notify;
    c->notify.arg = c;
    c->process = process_ref(p);
    c->role = a->read_only ? ROLE_WATCH : http_role(rq);
    c->grant = hf_xstrdup(http_grant(rq));
    c->stream = -1;
    c->raw = a->raw;
    c->pty = v.pty;
    c->has_client = a->client != NULL;
    if (c->has_client)
        list_append(&n->clients, &c->link);
    return c;
}

static int connect_attach(struct connect *c, const struct connect_request *a,
                          const struct http_request *rq, struct hf_error *err)
{
    const struct viewer_options o = {
        .since = a->output ? a->since.kind : SINCE_NOW,
        .offset = a->since.n,
        .internal = !a->output,
        .ack = a->ack && a->output,
        .read_only = a->read_only,
        .never_holds = a->read_only,
        .guest = caller_is_guest(rq),
        .role = (enum viewer_role)c->role,
        .client = a->client,
        .principal = connect_principal(rq),
        .name = a->name != NULL ? a->name : http_peer(rq),
        .rows = a->rows,
        .cols = a->cols,
        .only_stream = a->output ? -1 : STREAM_NONE,
        .terminal = a->output && a->terminal,
        .verbatim = !a->terminal,
    };

    return viewer_attach(c->process, &o, &viewer_ops, c, &c->viewer, err);
}

bool connect_open(struct http_request *rq, struct process *p, const struct connect_request *a)
{
    struct connect *c;
    struct hf_error err;

    if (a->client != NULL)
        replace_older(native_of(rq), p, connect_principal(rq), a);
    c = connect_new(rq, p, a);
    if (connect_attach(c, a, rq, &err) < 0) {
        connect_free(c);
        http_reply_error(rq, &err);
        return false;
    }
    c->ws =
        ws_accept(rq, ws_is_offered(rq, CONNECT_PROTOCOL) ? CONNECT_PROTOCOL : NULL, &ws_ops, c);
    if (c->ws == NULL) {
        connect_free(c);
        return false;
    }
    connect_send_hello(c);
    return true;
}

void connect_handle(struct http_request *rq)
{
    struct connect_request request;
    struct hf_error err;
    struct process *p;

    if (connect_decode(rq, &request, &err) < 0) {
        http_reply_error(rq, &err);
        return;
    }
    p = native_decode_find(rq, http_param(rq, "id"), &err);
    if (p == NULL)
        ws_refuse(rq, 4404, "no_such_process");
    else
        connect_open(rq, p, &request);
}

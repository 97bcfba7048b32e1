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
#include "dialects/native/json_reply.h"
#include "dialects/native/native_handlers.h"

#define CLIENT_MAX 128

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
                             "\"client\" must be 1 to %d visible ASCII characters, without spaces",
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
                             "\"name\" must be 1 to %d bytes of text without control characters",
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

/* --- output ------------------------------------------------------------------------- */

static void connect_bytes(struct console *console, const struct slice *s)
{
    struct connect *c = console_user(console);
    struct iovec iov = {(void *)(uintptr_t)s->bytes, s->len};

    if (!c->pty && !c->raw && c->stream != (int8_t)s->stream) {
        struct json_out o = connect_message(c, "stream");

        c->stream = (int8_t)s->stream;
        json_kstr(&o, "name", stream_name(s->stream));
        connect_send(c, &o);
    }
    ws_send(console_ws(console), WS_BINARY, &iov, 1);
}

/*
 * A terminal gets a snapshot next. A client that reads only bytes cannot be notified otherwise.
 * Output lost before it attached does not matter to it, unless it has received what came before.
 */
static void connect_gap(struct console *console, uint64_t from, uint64_t to)
{
    struct connect *c = console_user(console);
    struct json_out o;

    if (c->raw && !c->pty && from > 0) {
        console_close(console, WS_CODE_GAP, "output was missed");
        return;
    }
    o = connect_message(c, "gap");
    json_ku64(&o, "from", from);
    json_ku64(&o, "to", to);
    connect_send(c, &o);
}

static void connect_replay_done(struct console *console, uint64_t offset)
{
    struct connect *c = console_user(console);
    struct json_out o = connect_message(c, "replay_done");

    json_ku64(&o, "offset", offset);
    connect_send(c, &o);
}

static void connect_snapshot(struct console *console, uint64_t offset, size_t len)
{
    struct connect *c = console_user(console);
    struct json_out o = connect_message(c, "snapshot");

    json_ku64(&o, "offset", offset);
    json_ku64(&o, "bytes", len);
    connect_send(c, &o);
}

static void connect_snapshot_bytes(struct console *console, const char *bytes, size_t len)
{
    struct iovec iov = {(void *)(uintptr_t)bytes, len};

    ws_send(console_ws(console), WS_BINARY, &iov, 1);
}

static void connect_exited(struct console *console, const struct exit_record *x)
{
    struct connect *c = console_user(console);
    struct json_out o = connect_message(c, "exit");

    process_json_exit(&o, x);
    process_json_usage(&o, process_usage(c->process));
    json_ku64(&o, "offset", viewer_offset(connect_viewer(c)));
    connect_send(c, &o);
    console_close(console, 1000, "exit");
}

static void connect_notice(struct console *console, const struct viewer_notice *n)
{
    struct connect *c = console_user(console);

    switch (n->kind) {
    case NOTICE_SIZE:
        c->owes_size = true;
        snprintf(c->size_by, sizeof c->size_by, "%s", n->by != NULL ? n->by : "");
        break;
    case NOTICE_VIEWERS: c->owes_viewers = true; break;
    case NOTICE_TITLE: c->owes_title = true; break;
    case NOTICE_DELETED:
        connect_send_notice(c, "deleted", "the record of this process was removed", NULL);
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
    loop_defer(c->native->base.loop, &c->notify);
}

static void connect_on_notify(void *arg)
{
    connect_send_owed(arg);
}

/* --- input -------------------------------------------------------------------------- */

/* If another client holds the lease, the bytes are dropped, but counted, so that the client does
 * not send them again. */
static void connect_typed(struct console *console, size_t len, const struct hf_error *err)
{
    struct connect *c = console_user(console);

    if (err != NULL && err->code == HF_E_lease_held)
        viewer_input_pass(connect_viewer(c), len);
    else if (err != NULL || !c->has_client)
        return;
    c->owes_ack = c->has_client;
    connect_send_owed(c);
}

static void connect_refused(struct console *console, const struct hf_error *err)
{
    struct connect *c = console_user(console);

    if (err->code == HF_E_lease_held)
        connect_send_notice(c, "lease_held", err->detail, NULL);
    else
        connect_send_error(c, err);
}

/* A raw client may send keystrokes as text. */
static void connect_text(struct console *console, const char *text, size_t len)
{
    struct connect *c = console_user(console);

    if (c->raw)
        console_type_all(console, text, len);
    else
        control_on_text(c, text, len);
}

static void connect_room(struct console *console)
{
    connect_send_owed(console_user(console));
}

/* --- setup and teardown --------------------------------------------------------------------- */

static void connect_free(struct connect *c)
{
    list_remove(&c->link);
    task_cancel(&c->notify);
    free(c->grant);
    free(c);
}

static void connect_closed(struct console *console, int code)
{
    (void)code;
    connect_free(console_user(console));
}

static const struct console_ops console_ops = {
    .bytes = connect_bytes,
    .gap = connect_gap,
    .replay_done = connect_replay_done,
    .snapshot = connect_snapshot,
    .snapshot_bytes = connect_snapshot_bytes,
    .exited = connect_exited,
    .notice = connect_notice,
    .text = connect_text,
    .typed = connect_typed,
    .room = connect_room,
    .refused = connect_refused,
    .closed = connect_closed,
};

void connect_end_grant(struct native *n, const char *grant)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &n->connects) {
        struct connect *c = list_entry(it, struct connect, link);

        if (c->grant != NULL && strcmp(c->grant, grant) == 0)
            console_close(c->console, WS_CODE_LINK_ENDED, "link_ended");
    }
}

/*
 * A client that reconnects has given up its old connection. Bytes still unread there must not be
 * accepted after input_offset was reported, or they would be written twice: the old connection is
 * closed first. The same id under another grant is another client.
 */
static void replace_older(struct native *n, const struct process *p, const char *principal,
                          const struct connect_request *a)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &n->connects) {
        struct connect *c = list_entry(it, struct connect, link);
        struct viewer *v = connect_viewer(c);

        if (!c->has_client || c->process != p || v == NULL ||
            !viewer_has_client(v, principal, a->client))
            continue;
        if (a->since.kind != SINCE_OFFSET)
            viewer_leave(v); /* it does not request what it may have missed */
        console_close(c->console, 1008, "replaced by a newer connection of this client");
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
    struct process_view v;

    process_view(p, &v);
    c->native = native_of(rq);
    c->notify.fn = connect_on_notify;
    c->notify.arg = c;
    c->process = p;
    c->role = a->read_only ? ROLE_WATCH : http_role(rq);
    c->grant = hf_xstrdup(http_grant(rq));
    c->stream = -1;
    c->raw = a->raw;
    c->pty = v.pty;
    c->has_client = a->client != NULL;
    list_append(&c->native->connects, &c->link);
    return c;
}

static struct viewer_options connect_options(const struct http_request *rq,
                                             const struct connect_request *a)
{
    return (struct viewer_options){
        .since = a->output ? a->since.kind : SINCE_NOW,
        .offset = a->since.n,
        .internal = !a->output,
        .ack = a->ack && a->output,
        .read_only = a->read_only,
        .never_holds = a->read_only,
        .role = a->read_only ? VIEWER_WATCH : (enum viewer_role)http_role(rq),
        .client = a->client,
        .principal = connect_principal(rq),
        .name = a->name,
        .rows = a->rows,
        .cols = a->cols,
        .only_stream = a->output ? -1 : STREAM_NONE,
        .terminal = a->output && a->terminal,
        .verbatim = !a->terminal,
    };
}

bool connect_open(struct http_request *rq, struct process *p, const struct connect_request *a)
{
    struct native *n = native_of(rq);
    struct connect *c;
    struct hf_error err;

    if (a->client != NULL)
        replace_older(n, p, connect_principal(rq), a);
    c = connect_new(rq, p, a);
    c->console =
        console_open(rq,
                     &(struct console_open){
                         .process = p,
                         .viewer = connect_options(rq, a),
                         .ops = &console_ops,
                         .user = c,
                         .protocol = ws_is_offered(rq, CONNECT_PROTOCOL) ? CONNECT_PROTOCOL : NULL,
                     },
                     &err);
    if (c->console == NULL) {
        connect_free(c);
        if (err.code != HF_OK)
            http_reply_error(rq, &err);
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_remote_command.c - exec and attach: decodes the request, runs it and reports its Status
 *
 * By SPDY the client opens one stream per channel, each after our reply to the previous one. The
 * command starts when all are open.
 *
 * The end is all output, then the Status on the error channel; a WebSocket then closes with 1000.
 * kubectl takes a close 1000 without a Status for success, so no other case closes with 1000.
 * Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/kubernetes/kube_container.h"
#include "dialects/kubernetes/kube_process_stream.h"
#include "dialects/kubernetes/kube_status.h"
#include "dialects/kubernetes/kubernetes_limits.h"
#include "transport/ws.h"

#define PROMISE "{" /* the first byte of every Status */
#define CHANNELS 5  /* CHANNEL_STDIN to CHANNEL_RESIZE */

enum remote_state {
    REMOTE_OPENING, /* SPDY: not all streams are open */
    REMOTE_SIZING,  /* a terminal waits for its first size */
    REMOTE_RUNNING,
    REMOTE_ENDED, /* and its Status is known */
};

struct remote {
    struct kube_conn conn;
    enum remote_state state;
    bool exec, in, out, err, tty;
    char **argv; /* of exec; NULL-terminated */
    size_t argc;
    struct process *process; /* of attach; referenced */
    enum role role;
    struct kube_stream stream;
    struct timer *deadline; /* for the streams, then for the size */
    int64_t rows, cols;
    uint32_t ids[CHANNELS];
    bool wanted[CHANNELS], open[CHANNELS];
    bool promised;     /* the first byte of the Status was sent */
    struct buf resize; /* a size received in part */
    uint64_t lost;     /* bytes */
    struct kube_status status;
};

static struct remote *remote_of(struct kube_conn *c)
{
    return list_entry(c, struct remote, conn);
}

static void remote_release(struct kube_conn *c)
{
    struct remote *r = remote_of(c);

    timer_close(r->deadline);
    kube_stream_fini(&r->stream);
    for (size_t i = 0; i < r->argc; i++)
        free(r->argv[i]);
    free(r->argv);
    process_unref(r->process);
    buf_fini(&r->resize);
}

/* --- decoding requests ---------------------------------------------------------------------- */

static void decode_command(struct http_request *rq, struct remote *r)
{
    const char *name, *value;
    size_t i = 0, n = 0;

    while (http_query_each(rq, &i, &name, &value))
        n += strcmp(name, "command") == 0;
    r->argv = hf_xalloc((n + 1) * sizeof *r->argv);
    for (i = 0; http_query_each(rq, &i, &name, &value);)
        if (strcmp(name, "command") == 0)
            r->argv[r->argc++] = hf_xstrdup(value);
}

static bool decode_container(struct http_request *rq, struct remote *r)
{
    struct process *p;

    if (!kube_container(rq, &p))
        return false;
    if (r->exec)
        return true;
    if (p == NULL) {
        kube_refuse(rq, 400, "no process in pod " KUBE_POD " to attach to");
        return false;
    }
    r->process = process_ref(p);
    return true;
}

static bool decode_check(struct http_request *rq, const struct remote *r)
{
    if (!r->in && !r->out && !r->err)
        kube_refuse(rq, 400, "you must specify at least 1 of stdin, stdout, stderr");
    else if (r->exec && (r->argc == 0 || r->argv[0][0] == '\0'))
        kube_refuse(rq, 400, "you must specify at least 1 command for the container");
    else if (r->in && r->role < ROLE_TYPE)
        kube_refuse(rq, 403, "this token may only watch: attach without standard input");
    else
        return true;
    return false;
}

/* Decodes the query; false: replied. */
static bool decode(struct http_request *rq, struct remote *r)
{
    r->in = kube_flag(rq, "stdin");
    r->out = kube_flag(rq, "stdout");
    r->err = kube_flag(rq, "stderr");
    r->tty = kube_flag(rq, "tty");
    r->role = http_role(rq);
    if (r->tty && r->err) { /* a terminal has one stream */
        r->out = true;
        r->err = false;
    }
    if (r->exec)
        decode_command(rq, r);
    return kube_is_pod(rq) && decode_check(rq, r) && decode_container(rq, r);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void send_channel(struct remote *r, enum channel channel, const char *bytes, size_t len,
                         bool fin)
{
    if (r->open[channel])
        kube_conn_send(&r->conn, r->ids[channel], bytes, len, fin);
}

static void send_status(struct remote *r, bool draining)
{
    struct buf text = {0};

    kube_status_write(&text, &r->status, r->conn.protocol->status);
    if (r->promised)
        buf_drop(&text, strlen(PROMISE));
    send_channel(r, CHANNEL_ERROR, buf_data(&text), text.len, true);
    buf_fini(&text);
    send_channel(r, CHANNEL_STDOUT, "", 0, true);
    send_channel(r, CHANNEL_STDERR, "", 0, true);
    send_channel(r, CHANNEL_STDIN, "", 0, true);
    kube_conn_finish(&r->conn, draining);
}

/* `draining`: the daemon shuts down while the process keeps running. */
static void remote_end(struct remote *r, const struct kube_status *s, bool draining)
{
    if (r->state == REMOTE_ENDED)
        return;
    r->state = REMOTE_ENDED;
    r->status = *s;
    timer_stop(r->deadline);
    kube_stream_fini(&r->stream);
    if (!r->conn.gated || draining)
        send_status(r, draining);
    else
        kube_conn_resume(&r->conn); /* read on: input from the client opens the gate */
}

static void remote_ended(struct kube_stream *t, const struct exit_record *x)
{
    struct remote *r = list_entry(t, struct remote, stream);
    struct kube_status s;

    kube_status_exit(&s, x);
    if (r->lost > 0)
        kube_status_failure(&s, "%llu bytes of output were lost; exit code %d",
                            (unsigned long long)r->lost, x->exit_code);
    remote_end(r, &s, false);
}

static void remote_failed(struct kube_stream *t, const struct hf_error *err)
{
    struct kube_status s;

    kube_status_failure(&s, "%s", err->detail);
    remote_end(list_entry(t, struct remote, stream), &s, false);
}

/* The process keeps running under the next worker. */
static void remote_drain(struct kube_conn *c)
{
    struct remote *r = remote_of(c);
    char name[CONTAINER_NAME_BYTES];
    struct kube_status s;

    if (kube_stream_process(&r->stream) == NULL) {
        kube_status_failure(&s, "the daemon is shutting down; nothing was started");
    } else {
        container_name(c->call.base->engine, kube_stream_process(&r->stream), name);
        kube_status_failure(
            &s, "the daemon is shutting down; if it is replaced, attach to container %s", name);
    }
    remote_end(r, &s, true);
}

/* After a broken connection the client may attach to the program again and write to it. Otherwise a
 * program that reads its input to the end sees end of file. */
static void remote_closed(struct kube_conn *c, bool in_order)
{
    struct remote *r = remote_of(c);

    if (!in_order)
        return;
    kube_stream_leave(&r->stream);
    if (r->state != REMOTE_ENDED && r->exec && r->in && !r->tty)
        (void)kube_stream_type(&r->stream, "", 0, true);
}

/* --- output ----------------------------------------------------------------------------------- */

static void remote_bytes(struct kube_stream *t, enum stream stream, const char *bytes, size_t len)
{
    struct remote *r = list_entry(t, struct remote, stream);

    if (stream == STREAM_STDERR && r->err)
        send_channel(r, CHANNEL_STDERR, bytes, len, false);
    else if (stream != STREAM_STDERR && r->out)
        send_channel(r, CHANNEL_STDOUT, bytes, len, false);
}

/* A terminal is redrawn from its screen; other readers must learn that output is missing. */
static void remote_gap(struct kube_stream *t, uint64_t bytes)
{
    if (!t->draw)
        list_entry(t, struct remote, stream)->lost += bytes;
}

static const struct kube_stream_ops stream_ops = {
    .bytes = remote_bytes,
    .gap = remote_gap,
    .ended = remote_ended,
    .failed = remote_failed,
};

static void remote_room(struct kube_conn *c)
{
    kube_stream_pump(&remote_of(c)->stream);
}

/* "Ready" as in the original: an empty message on the first channel that the client reads. */
static void remote_gate_open(struct kube_conn *c)
{
    struct remote *r = remote_of(c);

    send_channel(r,
                 r->out   ? CHANNEL_STDOUT
                 : r->err ? CHANNEL_STDERR
                          : CHANNEL_ERROR,
                 "", 0, false);
    if (r->state == REMOTE_ENDED)
        send_status(r, false);
    else
        kube_stream_pump(&r->stream);
}

/* --- the start ------------------------------------------------------------------------------ */

static struct viewer_options view(const struct remote *r)
{
    return (struct viewer_options){
        .only_stream = -1,
        .read_only = r->role < ROLE_TYPE,
        .guest = r->role < ROLE_TYPE,
        .role = (enum viewer_role)r->role,
        .rows = r->rows,
        .cols = r->cols,
        .terminal = r->tty,
        .verbatim = !r->tty,
    };
}

/* A pipe's writer waits for its reader while the reader is attached: a copy must be complete. */
static void begin_exec(struct remote *r)
{
    struct viewer_options v = view(r);
    struct spawn_spec spec;

    spec_init(&spec);
    spec.command = r->argv[0];
    spec.args = (const char *const *)r->argv + 1;
    spec.arg_count = r->argc - 1;
    spec.pty = r->tty;
    spec.source = r->tty && r->in ? SOURCE_USER : SOURCE_AGENT;
    spec.rows = r->rows;
    spec.cols = r->cols;
    if (!r->tty)
        spec.stdin_mode = r->in ? STDIN_PIPE : STDIN_NULL;
    v.since = SINCE_OFFSET;
    v.lossless = !r->tty;
    kube_stream_spawn(&r->stream, &spec, &v);
}

static void begin_attach(struct remote *r)
{
    struct viewer_options v = view(r);
    struct hf_error err;

    v.since = r->stream.draw ? SINCE_SCREEN : SINCE_LAST;
    v.offset = r->stream.draw ? 0 : KUBE_REPLAY_BYTES;
    if (!kube_stream_attach(&r->stream, r->process, &v, &err))
        remote_failed(&r->stream, &err);
    else
        kube_conn_resume(&r->conn);
}

static void begin(struct remote *r)
{
    if (r->state >= REMOTE_RUNNING)
        return;
    r->state = REMOTE_RUNNING;
    timer_stop(r->deadline);
    if (r->exec)
        begin_exec(r);
    else
        begin_attach(r);
}

/* All streams are open. A terminal's size arrives as the first message, but a program reads it
 * right after its start. Not every client sends one. */
static void begin_sized(struct remote *r)
{
    if (!r->exec || !r->tty || r->rows > 0) {
        begin(r);
        return;
    }
    r->state = REMOTE_SIZING;
    timer_start(r->deadline, KUBE_REPLY_MS);
    kube_conn_ping(&r->conn);
}

/* The client is responsive: if it has a size, the size is already in transit. */
static void remote_pong(struct kube_conn *c)
{
    struct remote *r = remote_of(c);

    if (r->state == REMOTE_SIZING)
        timer_start(r->deadline, KUBE_SIZE_MS);
}

static void on_deadline(struct timer *t, void *arg)
{
    struct remote *r = arg;

    (void)t;
    if (r->state == REMOTE_OPENING)
        kube_conn_finish(&r->conn, false);
    else
        begin(r);
}

/* --- from the client -------------------------------------------------------------------------- */

static int channel_of(const char *type)
{
    static const char *const types[CHANNELS] = {"stdin", "stdout", "stderr", "error", "resize"};

    for (int i = 0; type != NULL && i < CHANNELS; i++)
        if (strcmp(types[i], type) == 0)
            return i;
    return -1;
}

/*
 * Clients treat an empty error stream as success, and a broken connection leaves it empty. So we
 * send the first byte of the Status at once: without the rest it is an error.
 */
static void promise_status(struct remote *r)
{
    if (!r->conn.protocol->status)
        return;
    send_channel(r, CHANNEL_ERROR, PROMISE, strlen(PROMISE), false);
    r->promised = true;
}

static void remote_open(struct kube_conn *c, uint32_t id, const struct spdy_headers *h)
{
    struct remote *r = remote_of(c);
    int channel = channel_of(spdy_header(h, "streamtype"));

    if (channel < 0 || !r->wanted[channel] || r->open[channel]) {
        kube_conn_reset_stream(c, id, SPDY_REFUSED_STREAM);
        return;
    }
    r->open[channel] = true;
    r->ids[channel] = id;
    kube_conn_accept_stream(c, id);
    if (memcmp(r->wanted, r->open, sizeof r->wanted) != 0)
        return;
    promise_status(r);
    begin_sized(r);
}

static void on_size(void *arg, int64_t rows, int64_t cols)
{
    struct remote *r = arg;

    r->rows = rows < TERMINAL_SIZE_MAX ? rows : TERMINAL_SIZE_MAX;
    r->cols = cols < TERMINAL_SIZE_MAX ? cols : TERMINAL_SIZE_MAX;
    kube_stream_resize(&r->stream, r->rows, r->cols);
}

/* A size is one line or one message, but a line may arrive in pieces. */
static void on_resize(struct remote *r, const char *bytes, size_t len, bool fin)
{
    if (r->state == REMOTE_ENDED || !r->tty)
        return;
    if (r->resize.len + len > LIMIT_KUBE_SMALL_BYTES) {
        buf_clear(&r->resize);
        return;
    }
    if (len > 0) {
        buf_put(&r->resize, bytes, len);
        fin |= memrchr(bytes, '\n', len) != NULL || bytes[len - 1] == '}';
    }
    if (!fin)
        return;
    channel_sizes(buf_data(&r->resize), r->resize.len, on_size, r);
    buf_clear(&r->resize);
    if (r->state == REMOTE_SIZING && r->rows > 0)
        begin(r);
}

static bool is_channel(const struct remote *r, enum channel channel, uint32_t id)
{
    return r->open[channel] && r->ids[channel] == id;
}

/* Data for other channels is discarded, as in the original. */
static size_t remote_data(struct kube_conn *c, uint32_t id, const char *bytes, size_t len, bool fin)
{
    struct remote *r = remote_of(c);

    if (is_channel(r, CHANNEL_RESIZE, id))
        on_resize(r, bytes, len, fin);
    if (!is_channel(r, CHANNEL_STDIN, id) || !r->in || r->state == REMOTE_ENDED)
        return len;
    return kube_stream_type(&r->stream, bytes, len, fin);
}

static const struct kube_conn_ops conn_ops = {
    .open = remote_open,
    .data = remote_data,
    .last_stream = CHANNEL_STDIN,
    .room = remote_room,
    .gate_open = remote_gate_open,
    .pong = remote_pong,
    .drain = remote_drain,
    .closed = remote_closed,
    .release = remote_release,
};

/* --- setup ---------------------------------------------------------------------------------- */

static bool has_terminal(struct process *p)
{
    struct process_view v;

    process_view(p, &v);
    return v.pty;
}

static void begin_spdy(struct remote *r)
{
    r->wanted[CHANNEL_ERROR] = true;
    r->wanted[CHANNEL_STDIN] = r->in;
    r->wanted[CHANNEL_STDOUT] = r->out;
    r->wanted[CHANNEL_STDERR] = r->err;
    r->wanted[CHANNEL_RESIZE] = r->tty;
    timer_start(r->deadline, KUBE_STREAMS_MS);
}

static void begin_channels(struct remote *r)
{
    for (uint32_t i = 0; i < CHANNELS; i++) {
        r->ids[i] = i;
        r->open[i] = true;
    }
    kube_conn_gate(&r->conn);
    /* If a client sends its input and closes, the command still runs: the close is read after the
     * start. */
    if (r->exec && !r->tty)
        ws_pause(r->conn.ws);
    begin_sized(r);
}

static void remote_accept(struct http_request *rq, bool exec)
{
    static const struct protocol spdy[] = {
        {.name = "v4.channel.k8s.io", .status = true, .spdy = true},
        {.name = "v3.channel.k8s.io", .spdy = true},
        {.name = NULL}};
    struct remote *r = hf_xalloc(sizeof *r);
    const struct protocol *protocol;

    r->exec = exec;
    kube_stream_init(&r->stream, &r->conn, &stream_ops, http_role(rq) >= ROLE_TYPE,
                     LIMIT_KUBE_HELD_BYTES);
    protocol = decode(rq, r) ? kube_conn_negotiate(rq, spdy) : NULL;
    if (protocol == NULL) {
        remote_release(&r->conn);
        free(r);
        return;
    }
    r->stream.draw = r->tty && (exec || has_terminal(r->process));
    r->deadline = timer_new(dialect_base_of(rq)->loop, on_deadline, r);
    kube_conn_accept(&r->conn, rq, protocol, &conn_ops);
    if (protocol->spdy)
        begin_spdy(r);
    else
        begin_channels(r);
}

void kube_exec(struct http_request *rq)
{
    remote_accept(rq, true);
}

void kube_attach(struct http_request *rq)
{
    remote_accept(rq, false);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_stream.c - a hijacked connection: output to the client, input from it, detach keys.
 * Layer: dialects.
 */
#include "dialects/docker/docker_stream.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/detach_keys.h"
#include "base/limits.h"
#include "base/mem.h"
#include "dialects/docker/docker_log_format.h"
#include "engine/stream/lease.h"

struct stream_conn {
    struct pending pending;
    struct list link;        /* in created->streams until there is a process */
    struct created *created; /* NULL: there is one */
    struct raw *raw;
    struct process *process; /* referenced */
    struct viewer *viewer;
    struct input_waiter waiter;
    struct buf held; /* input past the detach keys that the process has no room for yet */
    struct detach_keys keys;
    struct docker_stream_request request; /* without the detach keys */
    enum role role;
    char peer[80];
    uint64_t until; /* STREAM_LOG: the end of the output at the start */
    bool eof;       /* the client's input has ended, but the process's has not yet */
};

static void stream_free(struct stream_conn *s)
{
    struct viewer *v = s->viewer;

    if (s->created != NULL) {
        list_remove(&s->link);
        s->created->stream_count--;
    }
    s->viewer = NULL;
    input_waiter_cancel(&s->waiter);
    viewer_detach(v);
    process_unref(s->process);
    buf_fini(&s->held);
    pending_fini(&s->pending);
    free(s);
}

/* Closes it after what was sent. */
static void stream_close(struct stream_conn *s)
{
    raw_close(s->raw);
    stream_free(s);
}

/* --- to the client ------------------------------------------------------------------ */

static void stream_send(struct stream_conn *s, int type, const void *bytes, size_t len)
{
    uint8_t head[DOCKER_FRAME_HEAD];
    struct iovec iov[2] = {{head, sizeof head}, {(void *)(uintptr_t)bytes, len}};

    docker_frame_head(head, type, len);
    if (s->request.framed)
        raw_write(s->raw, iov, 2);
    else
        raw_write(s->raw, iov + 1, 1);
}

/* A message of ours: in a terminal's output, else on standard error. */
static void stream_report(struct stream_conn *s, int type, const char *text)
{
    char line[600];
    int n = snprintf(line, sizeof line, s->request.tty ? "\r\n%s\r\n" : "%s\r\n", text);

    stream_send(s, type, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

static bool on_ready(void *arg)
{
    const struct stream_conn *s = arg;

    return s->raw != NULL && raw_ready(s->raw);
}

static bool stream_wants(const struct stream_conn *s, enum stream which)
{
    return which == STREAM_STDERR ? s->request.err : s->request.out;
}

static void on_bytes(void *arg, const struct slice *sl)
{
    struct stream_conn *s = arg;
    uint64_t end = sl->at + sl->len;
    size_t len = end > s->until ? (size_t)(s->until - sl->at) : sl->len;

    if (stream_wants(s, sl->stream) && len > 0)
        stream_send(s, docker_frame_type(sl->stream), sl->bytes, len);
    if (end >= s->until)
        stream_close(s);
}

static uint64_t on_sent(void *arg)
{
    const struct stream_conn *s = arg;

    return s->raw != NULL ? raw_count_sent(s->raw) : 0;
}

static uint64_t on_confirmed(void *arg)
{
    const struct stream_conn *s = arg;

    return s->raw != NULL ? raw_count_taken(s->raw) : 0;
}

/*
 * Never leave a silent gap. A terminal gets its current screen next. Clients treat the frame as a
 * failure.
 */
static void on_gap(void *arg, uint64_t from, uint64_t to)
{
    struct stream_conn *s = arg;
    char text[100];
    int n;

    if (!s->request.framed && s->request.tty)
        return;
    n = snprintf(text, sizeof text, DOCKER_GAP_TEXT, (unsigned long long)(to - from));
    stream_send(s, DOCKER_FRAME_SYSTEM, text, (size_t)n);
    stream_close(s);
}

static void on_snapshot(void *arg, uint64_t offset, size_t len)
{
    (void)arg, (void)offset, (void)len;
}

static void on_snapshot_bytes(void *arg, const char *bytes, size_t len)
{
    stream_send(arg, 1, bytes, len);
}

static void on_exited(void *arg, const struct exit_record *x)
{
    (void)x;
    stream_close(arg);
}

#define STREAM_OPS                                                                                 \
    .ready = on_ready, .bytes = on_bytes, .sent = on_sent, .confirmed = on_confirmed,              \
    .by_kernel = true, .gap = on_gap, .exited = on_exited

static const struct viewer_ops plain_ops = {STREAM_OPS};
static const struct viewer_ops screen_ops = {
    STREAM_OPS,
    .snapshot = on_snapshot,
    .snapshot_bytes = on_snapshot_bytes,
};

/* --- from the client ------------------------------------------------------------------- */

/*
 * Returns how many bytes were consumed. Input that the process no longer accepts is discarded, as
 * by a pipe without a reader.
 */
static size_t stream_type(struct stream_conn *s, const void *bytes, size_t len)
{
    struct hf_error err;
    ssize_t n = viewer_input(s->viewer, bytes, len, &err);

    if (n < 0)
        return len;
    input_waiter_cancel(&s->waiter);
    if ((size_t)n < len)
        process_wait_for_room(s->process, &s->waiter);
    return (size_t)n;
}

static bool stream_flush(struct stream_conn *s)
{
    if (s->held.len > 0)
        buf_drop(&s->held, stream_type(s, buf_data(&s->held), s->held.len));
    return s->held.len == 0;
}

/*
 * The detach keys are complete: the client leaves, and the process keeps running. False: it has
 * left.
 */
static bool stream_type_keys(struct stream_conn *s, const char *bytes, size_t len)
{
    bool leaves = detach_keys_feed(&s->keys, bytes, len, &s->held);

    stream_flush(s);
    if (leaves)
        stream_close(s);
    return !leaves;
}

static size_t on_data(void *arg, const void *bytes, size_t len)
{
    struct stream_conn *s = arg;

    if (!s->request.in)
        return len;
    if (s->viewer == NULL || !stream_flush(s))
        return 0;
    if (s->keys.count == 0)
        return stream_type(s, bytes, len);
    stream_type_keys(s, bytes, len);
    return len;
}

/* False: the stream has ended as well. */
static bool stream_pass_eof(struct stream_conn *s)
{
    struct hf_error err;

    if (!s->eof || s->viewer == NULL || s->held.len > 0)
        return true;
    s->eof = false;
    if (s->request.in && s->request.tty) {
        stream_close(s);
        return false;
    }
    if (s->request.in && s->request.close_stdin)
        (void)viewer_input_eof(s->viewer, &err);
    return true;
}

static void on_eof(void *arg)
{
    struct stream_conn *s = arg;

    s->eof = true;
    stream_pass_eof(s);
}

static void on_room(void *arg)
{
    struct stream_conn *s = arg;

    if (stream_flush(s) && stream_pass_eof(s))
        raw_resume(s->raw);
}

static void on_drain(void *arg)
{
    struct stream_conn *s = arg;

    if (s->viewer != NULL)
        viewer_pump(s->viewer);
}

static void on_disconnect(void *arg)
{
    stream_free(arg);
}

static const struct raw_ops raw_ops = {
    .on_data = on_data, .on_eof = on_eof, .on_drain = on_drain, .on_disconnect = on_disconnect};

/* --- the daemon shuts down ---------------------------------------------------------------- */

/*
 * A client interprets a plain end as the process's end; one with frames can be notified otherwise.
 */
static void stream_drain(struct pending *p)
{
    struct stream_conn *s = list_entry(p, struct stream_conn, pending);

    if (s->request.framed || s->request.tty)
        stream_report(s, DOCKER_FRAME_SYSTEM,
                      "the daemon is being replaced; the process keeps running: attach again");
    stream_close(s);
}

static void stream_pending_free(struct pending *p)
{
    stream_free(list_entry(p, struct stream_conn, pending));
}

static const struct pending_kind stream_kind = {.drain = stream_drain, .free = stream_pending_free};

/* --- start --------------------------------------------------------------------------------- */

static struct viewer_options watch_options(struct stream_conn *s, struct process *p)
{
    struct viewer_options o = {
        .since = SINCE_OFFSET,
        .offset = journal_first(process_journal(p)),
        .lossless = s->request.own,
        .read_only = !s->request.in,
        .guest = s->role < ROLE_TYPE,
        .role = (enum viewer_role)s->role,
        .name = s->peer,
        .only_stream = -1,
        .slice_bytes = DOCKER_FRAME_BYTES,
        .verbatim = !s->request.tty || s->request.framed,
    };

    if (s->request.since == STREAM_NOW)
        o.since = s->request.tty && !s->request.framed ? SINCE_SCREEN : SINCE_NOW;
    else if (s->request.since == STREAM_NOTHING)
        o.since = SINCE_NOW;
    return o;
}

static int stream_watch(struct stream_conn *s, struct process *p, struct hf_error *err)
{
    struct viewer_options o = watch_options(s, p);
    bool screen = s->request.tty && !s->request.framed;
    int rc = viewer_attach(p, &o, screen ? &screen_ops : &plain_ops, s, &s->viewer, err);

    if (rc < 0)
        return rc;
    s->process = process_ref(p);
    s->until = UINT64_MAX;
    if (s->request.since == STREAM_LOG)
        s->until = journal_next(process_journal(p));
    return 0;
}

static struct stream_conn *stream_new(struct http_request *rq,
                                      const struct docker_stream_request *request)
{
    struct docker *dk = docker_of(rq);
    struct stream_conn *s = hf_xalloc(sizeof *s);

    s->request = *request;
    s->role = http_role(rq);
    snprintf(s->peer, sizeof s->peer, "%s", http_peer(rq));
    list_init(&s->link);
    list_init(&s->waiter.link);
    s->waiter.fn = on_room;
    s->waiter.arg = s;
    pending_init(&s->pending, &dk->base.pending, &stream_kind);
    if (request->in && request->tty)
        (void)docker_decode_keys(&s->keys, request->keys, NULL); /* was checked */
    s->request.keys = NULL;
    return s;
}

/*
 * Docker's own client does not notice its detach keys on a TCP connection unless a byte arrives
 * together with the head. So send one that a terminal does not show.
 */
static void stream_accept(struct http_request *rq, struct stream_conn *s)
{
    bool upgrade = http_header(rq, "Upgrade") != NULL;
    bool frames_named = upgrade && s->request.framed && docker_minor(rq) >= 42;

    docker_headers(rq);
    http_add_header(rq, "Content-Type",
                    frames_named ? "application/vnd.docker.multiplexed-stream"
                                 : "application/vnd.docker.raw-stream");
    s->raw = raw_accept(rq, upgrade ? "tcp" : NULL, &raw_ops, s);
    if (s->request.in && s->request.tty && !s->request.framed)
        stream_send(s, 1, "\033[m", 3);
}

static bool has_nothing(const struct stream_conn *s)
{
    return s->request.since == STREAM_NOTHING ||
           (s->request.since == STREAM_LOG && s->until == viewer_offset(s->viewer));
}

int stream_open(struct http_request *rq, const struct docker_stream_request *request,
                struct process *p, struct created *created, struct hf_error *err)
{
    struct stream_conn *s;

    if (created != NULL && created->stream_count >= LIMIT_DOCKER_STREAMS)
        return hf_fail(err, HF_E_too_many_viewers,
                       "%d clients are already attached before the start: that is the limit",
                       LIMIT_DOCKER_STREAMS);
    s = stream_new(rq, request);
    if (p != NULL && stream_watch(s, p, err) < 0) {
        stream_free(s);
        return -1;
    }
    if (p == NULL && created != NULL) {
        s->created = created;
        created->stream_count++;
        list_append(&created->streams, &s->link);
    }
    stream_accept(rq, s);
    if (p != NULL && has_nothing(s))
        stream_close(s);
    return 0;
}

/* Now read what the client has sent so far. */
static void stream_bind(struct stream_conn *s, struct process *p)
{
    struct hf_error err = {0};

    if (stream_watch(s, p, &err) < 0) {
        stream_report(s, 2, err.detail);
        stream_close(s);
    } else if (stream_pass_eof(s)) {
        raw_resume(s->raw);
    }
}

void streams_bind(struct created *c, struct process *p, const char *text)
{
    while (!list_is_empty(&c->streams)) {
        struct stream_conn *s = list_entry(c->streams.next, struct stream_conn, link);

        list_remove(&s->link);
        s->created = NULL;
        c->stream_count--;
        if (p != NULL) {
            stream_bind(s, p);
            continue;
        }
        if (text[0] != '\0')
            stream_report(s, 2, text);
        stream_close(s);
    }
}

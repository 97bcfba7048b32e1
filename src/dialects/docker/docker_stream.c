/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_stream.c - a hijacked connection: output to the client, input from it, detach keys.
 * Layer: dialects.
 */
#include "dialects/docker/docker_stream.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/detach_keys.h"
#include "base/mem.h"
#include "dialects/common/caller.h"
#include "dialects/common/follow.h"
#include "dialects/common/stdin_feed.h"
#include "dialects/docker/docker_limits.h"
#include "dialects/docker/docker_log_format.h"

struct stream_conn {
    struct follow follow; /* carried: */
    struct call_carrier carrier;
    struct raw *raw;        /* NULL: not accepted yet, or disconnected */
    struct list link;       /* in created->streams until there is a process */
    struct stdin_feed feed; /* holds input past the detach keys */
    struct detach_keys keys;
    struct docker_stream_request request; /* without the detach keys */
    enum role role;
    bool guest;
    char peer[80];
    uint64_t until;     /* STREAM_LOG: the end of the output at the start */
    bool eof;           /* the client's input has ended, but the process's has not yet */
    struct timer *gate; /* no output yet; NULL: open */
    uint64_t gate_end;  /* it opens then at the latest */
};

static struct stream_conn *stream_of(struct call *c)
{
    return list_entry(c, struct stream_conn, follow.call);
}

static struct stream_conn *stream_of_follow(struct follow *f)
{
    return list_entry(f, struct stream_conn, follow);
}

static void stream_release(struct call *c)
{
    struct stream_conn *s = stream_of(c);

    list_remove(&s->link);
    timer_close(s->gate);
    stdin_feed_fini(&s->feed);
    follow_release(c);
}

/* Closes it after what was sent. */
static void stream_close(struct stream_conn *s)
{
    follow_end(&s->follow);
}

/* --- the connection as the carrier of a call ------------------------------------------- */

static struct stream_conn *stream_of_carrier(const struct call_carrier *k)
{
    return list_entry(k, struct stream_conn, carrier);
}

static bool carrier_ready(const struct call_carrier *k)
{
    const struct stream_conn *s = stream_of_carrier(k);

    return s->raw != NULL && s->gate == NULL && raw_ready(s->raw);
}

static uint64_t carrier_sent(struct call_carrier *k)
{
    const struct stream_conn *s = stream_of_carrier(k);

    return s->raw != NULL ? raw_count_sent(s->raw) : 0;
}

static uint64_t carrier_received(struct call_carrier *k)
{
    const struct stream_conn *s = stream_of_carrier(k);

    return s->raw != NULL ? raw_count_taken(s->raw) : 0;
}

/* The end of the bytes is the end of the connection. */
static void carrier_leave(struct call_carrier *k)
{
    struct stream_conn *s = stream_of_carrier(k);

    if (s->raw != NULL)
        raw_close(s->raw);
    s->raw = NULL;
}

static const struct call_carrier_ops carrier_ops = {
    .ready = carrier_ready,
    .sent = carrier_sent,
    .received = carrier_received,
    .by_kernel = true,
    .leave = carrier_leave,
};

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

static bool stream_wants(const struct stream_conn *s, enum stream which)
{
    return which == STREAM_STDERR ? s->request.err : s->request.out;
}

static void stream_bytes(struct follow *f, const struct slice *sl)
{
    struct stream_conn *s = stream_of_follow(f);
    uint64_t end = sl->at + sl->len;
    size_t len = end > s->until ? (size_t)(s->until - sl->at) : sl->len;

    if (stream_wants(s, sl->stream) && len > 0)
        stream_send(s, docker_frame_type(sl->stream), sl->bytes, len);
    if (end >= s->until)
        stream_close(s);
}

/*
 * Never leave a silent gap. A terminal gets its current screen next. Clients treat the frame as a
 * failure.
 */
static void stream_gap(struct follow *f, uint64_t from, uint64_t to)
{
    struct stream_conn *s = stream_of_follow(f);
    struct buf *b = &f->call.base->scratch;

    if (!s->request.framed && s->request.tty)
        return;
    docker_frame_gap(b, s->request.framed, to - from);
    raw_write(s->raw, &(struct iovec){buf_data(b), b->len}, 1);
    stream_close(s);
}

static void stream_snapshot(struct follow *f, const char *bytes, size_t len)
{
    stream_send(stream_of_follow(f), 1, bytes, len);
}

static const struct follow_ops plain_ops = {.bytes = stream_bytes, .gap = stream_gap};
static const struct follow_ops screen_ops = {
    .bytes = stream_bytes,
    .gap = stream_gap,
    .snapshot_bytes = stream_snapshot,
};

/* --- from the client ------------------------------------------------------------------- */

/* True: nothing is held. Input that the process no longer accepts is discarded, as by a pipe
 * without a reader. */
static bool stream_flush(struct stream_conn *s)
{
    int rc = stdin_feed_flush(&s->feed, NULL);

    if (rc < 0)
        buf_fini(&s->feed.held);
    return rc != 0;
}

static size_t on_data(void *arg, const void *bytes, size_t len)
{
    struct stream_conn *s = arg;
    bool leaves;

    if (!s->request.in)
        return len;
    if (!stream_flush(s))
        return 0;
    if (s->keys.count == 0)
        return stdin_feed_take(&s->feed, bytes, len, false);
    leaves = detach_keys_feed(&s->keys, bytes, len, &s->feed.held);
    stream_flush(s);
    if (leaves) /* the process keeps running */
        stream_close(s);
    return len;
}

/* The client's input has ended. False: the stream has ended as well. */
static bool stream_pass_eof(struct stream_conn *s)
{
    if (!s->eof || s->follow.viewer == NULL || s->feed.held.len > 0)
        return true;
    s->eof = false;
    if (s->request.in && s->request.tty) {
        stream_close(s);
        return false;
    }
    s->feed.eof = s->request.in && s->request.close_stdin;
    stream_flush(s);
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

    call_room(&s->follow.call);
}

static void on_disconnect(void *arg)
{
    struct stream_conn *s = arg;

    follow_detach(&s->follow);
    s->raw = NULL;
    call_leave(&s->follow.call);
}

static const struct raw_ops raw_ops = {
    .on_data = on_data, .on_eof = on_eof, .on_drain = on_drain, .on_disconnect = on_disconnect};

/* --- the daemon shuts down ---------------------------------------------------------------- */

/*
 * A client interprets a plain end as the process's end; one with frames can be notified otherwise.
 */
static void stream_drain(struct call *c)
{
    struct stream_conn *s = stream_of(c);

    if (s->request.framed || s->request.tty)
        stream_report(s, DOCKER_FRAME_SYSTEM,
                      "the daemon is shutting down; the process keeps running: attach again");
    stream_close(s);
}

static const struct call_kind stream_kind = {
    .release = stream_release,
    .drain = stream_drain,
    .room = follow_room,
};

/* --- start --------------------------------------------------------------------------------- */

static struct viewer_options watch_options(struct stream_conn *s, struct process *p)
{
    struct viewer_options o = {
        .since = SINCE_OFFSET,
        .offset = journal_first(process_journal(p)),
        .lossless = s->request.own,
        .read_only = !s->request.in,
        .guest = s->guest,
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
    const struct follow_open o = {.viewer = watch_options(s, p)};
    bool screen = s->request.tty && !s->request.framed;
    int rc = follow_attach(&s->follow, screen ? &screen_ops : &plain_ops, p, &o, err);

    if (rc < 0)
        return rc;
    stdin_feed_bind(&s->feed, p);
    s->feed.viewer = s->follow.viewer;
    s->until = UINT64_MAX;
    if (s->request.since == STREAM_LOG)
        s->until = journal_next(process_journal(p));
    return 0;
}

static struct stream_conn *stream_new(struct http_request *rq,
                                      const struct docker_stream_request *request)
{
    struct stream_conn *s = hf_xalloc(sizeof *s);

    s->carrier.ops = &carrier_ops;
    call_adopt_carried(&s->follow.call, dialect_base_of(rq), &stream_kind, &s->carrier);
    s->request = *request;
    s->role = http_role(rq);
    s->guest = caller_is_guest(rq);
    snprintf(s->peer, sizeof s->peer, "%s", http_peer(rq));
    list_init(&s->link);
    stdin_feed_init(&s->feed, on_room, s);
    if (request->in && request->tty)
        (void)docker_decode_keys(&s->keys, request->keys, NULL); /* was checked */
    s->request.keys = NULL;
    return s;
}

/*
 * Docker's client for Python reads the head through a buffer, continues on the socket itself, and
 * loses what the buffer has read of the output. So the head fills that buffer, and the output waits
 * until the head was received, for heads that arrive in parts and for larger buffers. What a unix
 * peer has taken, it has read; of others only the kernel has it.
 */
static void on_gate(struct timer *t, void *arg)
{
    struct stream_conn *s = arg;

    (void)t;
    if (raw_count_taken(s->raw) < raw_count_sent(s->raw) && clock_mono_ms() < s->gate_end) {
        timer_start(s->gate, DOCKER_GATE_MS);
        return;
    }
    timer_close(s->gate);
    s->gate = NULL;
    call_room(&s->follow.call);
}

static void close_gate(struct stream_conn *s)
{
    s->gate = timer_new(s->follow.call.base->loop, on_gate, s);
    s->gate_end = clock_mono_ms() + DOCKER_GATE_MAX_MS;
    timer_start(s->gate, DOCKER_GATE_MS);
}

/*
 * Docker's own client does not notice its detach keys on a TCP connection unless a byte arrives
 * together with the head. So send one that a terminal does not show.
 */
static void stream_accept(struct http_request *rq, struct stream_conn *s)
{
    const char *agent = http_header(rq, "User-Agent"), *client = agent != NULL ? agent : "";
    bool gated = strstr(client, "docker-sdk-python") != NULL;
    bool docker_cli = strncmp(client, "Docker-Client/", 14) == 0;
    bool upgrade = http_header(rq, "Upgrade") != NULL;
    bool frames_named = upgrade && s->request.framed && docker_minor(rq) >= 42;

    docker_headers(rq);
    http_add_header(rq, "Content-Type",
                    frames_named ? "application/vnd.docker.multiplexed-stream"
                                 : "application/vnd.docker.raw-stream");
    s->raw = raw_accept_padded(rq, upgrade ? "tcp" : NULL, gated ? DOCKER_PADDED_HEAD_BYTES : 0,
                               &raw_ops, s);
    if (gated)
        close_gate(s);
    if (s->request.in && s->request.tty && !s->request.framed && docker_cli)
        stream_send(s, 1, "\033[m", 3);
}

static bool has_nothing(const struct stream_conn *s)
{
    return s->request.since == STREAM_NOTHING ||
           (s->request.since == STREAM_LOG && s->until == viewer_offset(s->follow.viewer));
}

static size_t count_streams(const struct created *c)
{
    size_t n = 0;

    for (const struct list *it = c->streams.next; it != &c->streams; it = it->next)
        n++;
    return n;
}

int stream_open(struct http_request *rq, const struct docker_stream_request *request,
                struct process *p, struct created *created, struct hf_error *err)
{
    struct stream_conn *s;

    if (created != NULL && count_streams(created) >= LIMIT_DOCKER_STREAMS)
        return hf_fail(
            err, HF_E_too_many_viewers,
            "%d clients are already waiting for the start; start the container or detach "
            "some of them",
            LIMIT_DOCKER_STREAMS);
    s = stream_new(rq, request);
    if (p != NULL && stream_watch(s, p, err) < 0) {
        call_end(&s->follow.call);
        return -1;
    }
    if (p == NULL && created != NULL)
        list_append(&created->streams, &s->link);
    stream_accept(rq, s);
    if (p != NULL && has_nothing(s))
        stream_close(s);
    return 0;
}

/* Ends it with a message of ours, if there is one. */
static void stream_end(struct stream_conn *s, const char *text)
{
    if (text[0] != '\0')
        stream_report(s, 2, text);
    stream_close(s);
}

/* Now read what the client has sent so far. */
static void stream_bind(struct stream_conn *s, struct process *p)
{
    struct hf_error err = {0};

    if (stream_watch(s, p, &err) < 0)
        stream_end(s, err.detail);
    else if (stream_pass_eof(s))
        raw_resume(s->raw);
}

void streams_bind(struct created *c, struct process *p, const char *text)
{
    while (!list_is_empty(&c->streams)) {
        struct stream_conn *s = list_entry(c->streams.next, struct stream_conn, link);

        list_remove(&s->link);
        if (p != NULL)
            stream_bind(s, p);
        else
            stream_end(s, text);
    }
}

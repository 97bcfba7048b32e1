/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_process_stream.c - starts or attaches to a process; output, queued input, exit. Layer:
 * dialects.
 */
#include "dialects/kubernetes/kube_process_stream.h"

#include "base/limits.h"
#include "base/mem.h"

/* The connection carries it. It outlives its stream while the engine starts the process. */
struct kube_follow {
    struct follow follow;
    struct call_carrier carrier;
    struct kube_stream *stream; /* NULL: closed */
    struct viewer_options viewer;
};

static struct kube_follow *kube_follow_of(struct follow *f)
{
    return list_entry(f, struct kube_follow, follow);
}

/* --- output --------------------------------------------------------------------------- */

static struct kube_conn *carrier_conn(const struct call_carrier *k)
{
    return list_entry(k, struct kube_follow, carrier)->stream->conn;
}

static bool carrier_ready(const struct call_carrier *k)
{
    return kube_conn_ready(carrier_conn(k));
}

static uint64_t carrier_sent(struct call_carrier *k)
{
    return kube_conn_count_sent(carrier_conn(k));
}

static uint64_t carrier_received(struct call_carrier *k)
{
    return kube_conn_count_received(carrier_conn(k));
}

static const struct call_carrier_ops shared_ops = {.ready = carrier_ready};
static const struct call_carrier_ops only_ops = {
    .ready = carrier_ready,
    .sent = carrier_sent,
    .received = carrier_received,
};

static void follow_on_bytes(struct follow *f, const struct slice *s)
{
    struct kube_stream *t = kube_follow_of(f)->stream;

    t->ops->bytes(t, s->stream, s->bytes, s->len);
}

static void follow_on_gap(struct follow *f, uint64_t from, uint64_t to)
{
    struct kube_stream *t = kube_follow_of(f)->stream;

    t->ops->gap(t, to - from);
}

static void follow_on_snapshot(struct follow *f, const char *bytes, size_t len)
{
    struct kube_stream *t = kube_follow_of(f)->stream;

    t->ops->bytes(t, STREAM_TTY, bytes, len);
}

/* The owner closes the stream, now or when its Status is sent. */
static bool follow_on_exited(struct follow *f, const struct exit_record *x)
{
    struct kube_stream *t = kube_follow_of(f)->stream;

    t->feed.viewer = NULL;
    t->ops->ended(t, x);
    return false;
}

#define KUBE_FOLLOW_OPS .bytes = follow_on_bytes, .gap = follow_on_gap, .exited = follow_on_exited

static const struct follow_ops plain_ops = {KUBE_FOLLOW_OPS};
static const struct follow_ops draw_ops = {KUBE_FOLLOW_OPS, .snapshot_bytes = follow_on_snapshot};

void kube_stream_pump(struct kube_stream *t)
{
    if (t->follow != NULL)
        call_room(&t->follow->follow.call);
}

void kube_stream_leave(struct kube_stream *t)
{
    if (t->feed.viewer != NULL)
        viewer_leave(t->feed.viewer);
}

/* --- input ---------------------------------------------------------------------------- */

/* Input that the process does not read, or not from us, is discarded: the protocol cannot report
 * it. */
static size_t give(struct kube_stream *t, const char *bytes, size_t len)
{
    struct hf_error err;
    ssize_t n = t->may_type ? stdin_feed_put(&t->feed, bytes, len, &err) : -1;

    return n < 0 ? len : (size_t)n;
}

/* Writes the queued input, then the end of input if it was requested. True: nothing is left. */
static bool flush(struct kube_stream *t)
{
    struct hf_error err;
    int rc;

    if (t->feed.viewer == NULL)
        return false;
    if (!t->may_type) {
        buf_fini(&t->feed.held);
        return true;
    }
    rc = stdin_feed_flush(&t->feed, &err);
    if (rc < 0) {
        buf_fini(&t->feed.held);
        (void)stdin_feed_flush(&t->feed, &err);
    }
    return rc != 0;
}

static void on_room(void *arg)
{
    struct kube_stream *t = arg;

    if (flush(t))
        kube_conn_resume(t->conn);
}

/*
 * Queues as much as the limit allows after what is queued already. Once the process exists, input
 * is better left with the client: what follows it, such as the client's close, must not overtake
 * it.
 */
static size_t hold(struct kube_stream *t, const char *bytes, size_t len)
{
    size_t max = t->feed.viewer == NULL || t->shared ? t->hold_max : 0;
    size_t room = t->feed.held.len < max ? max - t->feed.held.len : 0;
    size_t n = len < room ? len : room;

    stdin_feed_hold(&t->feed, bytes, n);
    return n;
}

static size_t take(struct kube_stream *t, const char *bytes, size_t len)
{
    size_t n = 0;

    if (t->feed.viewer != NULL && t->feed.held.len == 0)
        n = give(t, bytes, len);
    return n + hold(t, bytes + n, len - n);
}

size_t kube_stream_type(struct kube_stream *t, const char *bytes, size_t len, bool fin)
{
    size_t n = len > 0 ? take(t, bytes, len) : 0;

    if (fin && n == len) {
        t->feed.eof = true;
        (void)flush(t);
    }
    return n;
}

void kube_stream_resize(struct kube_stream *t, int64_t rows, int64_t cols)
{
    struct hf_error err;

    if (t->feed.viewer != NULL && t->may_type)
        (void)viewer_resize(t->feed.viewer, rows, cols, &err);
}

/* --- setup -------------------------------------------------------------------------------- */

static void kube_follow_release(struct call *c)
{
    struct kube_follow *f = list_entry(c, struct kube_follow, follow.call);

    follow_release(c);
    if (f->stream != NULL)
        f->stream->follow = NULL;
}

/* The connection ends it when the daemon drains. */
static const struct call_kind kube_follow_kind = {
    .release = kube_follow_release,
    .stays = true,
    .room = follow_room,
};

static struct kube_follow *kube_follow_new(struct kube_stream *t, const struct viewer_options *v)
{
    struct kube_follow *f = hf_xalloc(sizeof *f);

    f->carrier.ops = t->shared ? &shared_ops : &only_ops;
    call_adopt_carried(&f->follow.call, t->conn->call.base, &kube_follow_kind, &f->carrier);
    f->stream = t;
    f->viewer = *v;
    f->viewer.name = t->conn->peer;
    t->follow = f;
    return f;
}

static bool follow_process(struct kube_follow *f, struct process *p, struct hf_error *err)
{
    const struct follow_open o = {.viewer = f->viewer};
    struct kube_stream *t = f->stream;

    if (follow_attach(&f->follow, t->draw ? &draw_ops : &plain_ops, p, &o, err) < 0) {
        call_end(&f->follow.call);
        return false;
    }
    stdin_feed_bind(&t->feed, p);
    t->feed.viewer = f->follow.viewer;
    return true;
}

bool kube_stream_attach(struct kube_stream *t, struct process *p, const struct viewer_options *v,
                        struct hf_error *err)
{
    return follow_process(kube_follow_new(t, v), p, err);
}

static void on_spawned(void *arg, struct process *p, const struct hf_error *err)
{
    struct kube_follow *f = arg;
    struct kube_stream *t = f->stream;
    struct hf_error why;

    if (t == NULL || p == NULL) {
        call_end(&f->follow.call);
        if (t != NULL)
            t->ops->failed(t, err);
        else if (p != NULL)
            process_terminate(p, -1, "detach", NULL, NULL);
    } else if (follow_process(f, p, &why)) {
        on_room(t);
    } else {
        t->ops->failed(t, &why);
    }
}

void kube_stream_spawn(struct kube_stream *t, const struct spawn_spec *spec,
                       const struct viewer_options *v)
{
    struct kube_follow *f = kube_follow_new(t, v);
    struct hf_error err;

    if (engine_spawn(t->conn->call.base->engine, spec, on_spawned, f, &err) < 0)
        on_spawned(f, NULL, &err);
}

void kube_stream_init(struct kube_stream *t, struct kube_conn *c, const struct kube_stream_ops *ops,
                      bool may_type, size_t hold_max)
{
    *t = (struct kube_stream){.ops = ops, .conn = c, .may_type = may_type, .hold_max = hold_max};
    stdin_feed_init(&t->feed, on_room, t);
}

void kube_stream_fini(struct kube_stream *t)
{
    struct kube_follow *f = t->follow;

    stdin_feed_fini(&t->feed);
    if (f == NULL)
        return;
    follow_detach(&f->follow);
    f->stream = NULL;
    t->follow = NULL;
    if (f->follow.process != NULL)
        call_end(&f->follow.call); /* otherwise the engine has yet to call back */
}

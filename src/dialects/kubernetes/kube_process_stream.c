/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_process_stream.c - starts or attaches to a process; output, queued input, exit. Layer:
 * dialects.
 */
#include "dialects/kubernetes/kube_process_stream.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "engine/stream/lease.h"

/* --- output --------------------------------------------------------------------------- */

static bool on_ready(void *arg)
{
    return kube_conn_ready(((struct kube_stream *)arg)->conn);
}

static void on_bytes(void *arg, const struct slice *s)
{
    struct kube_stream *t = arg;

    t->ops->bytes(t, s->stream, s->bytes, s->len);
}

static uint64_t on_sent(void *arg)
{
    return kube_conn_count_sent(((struct kube_stream *)arg)->conn);
}

static uint64_t on_confirmed(void *arg)
{
    return kube_conn_count_received(((struct kube_stream *)arg)->conn);
}

static void on_gap(void *arg, uint64_t from, uint64_t to)
{
    struct kube_stream *t = arg;

    t->ops->gap(t, to - from);
}

static void on_snapshot(void *arg, uint64_t offset, size_t len)
{
    (void)arg, (void)offset, (void)len;
}

static void on_snapshot_bytes(void *arg, const char *bytes, size_t len)
{
    struct kube_stream *t = arg;

    t->ops->bytes(t, STREAM_TTY, bytes, len);
}

static void on_exited(void *arg, const struct exit_record *x)
{
    struct kube_stream *t = arg;

    t->ops->ended(t, x);
}

#define TAP_OPS .ready = on_ready, .bytes = on_bytes, .gap = on_gap, .exited = on_exited

#define TAP_RECEIPT_OPS .sent = on_sent, .confirmed = on_confirmed

static const struct viewer_ops blind_ops = {TAP_OPS};
static const struct viewer_ops plain_ops = {TAP_OPS, TAP_RECEIPT_OPS};
static const struct viewer_ops draw_ops = {
    TAP_OPS,
    TAP_RECEIPT_OPS,
    .snapshot = on_snapshot,
    .snapshot_bytes = on_snapshot_bytes,
};

static const struct viewer_ops *viewer_ops_for(const struct kube_stream *t)
{
    if (t->shared)
        return &blind_ops;
    return t->draw ? &draw_ops : &plain_ops;
}

void kube_stream_pump(struct kube_stream *t)
{
    if (t->viewer != NULL)
        viewer_pump(t->viewer);
}

/* --- input ---------------------------------------------------------------------------- */

/* Input that the process does not read, or not from us, is discarded: the protocol cannot report
 * it. */
static size_t give(struct kube_stream *t, const char *bytes, size_t len)
{
    struct hf_error err;
    ssize_t n;

    if (!t->may_type)
        return len;
    n = len > 0 ? viewer_input(t->viewer, bytes, len, &err) : 0;
    return n < 0 ? len : (size_t)n;
}

static void wait_for_room(struct kube_stream *t)
{
    if (list_is_empty(&t->waiter.link)) /* otherwise it waits already */
        process_wait_for_room(t->process, &t->waiter);
}

/* Writes the queued input, then the end of input if it was requested. True: nothing is left. */
static bool flush(struct kube_stream *t)
{
    struct hf_error err;

    if (t->viewer == NULL)
        return false;
    if (t->held.len > 0)
        buf_drop(&t->held, give(t, buf_data(&t->held), t->held.len));
    if (t->held.len > 0) {
        wait_for_room(t);
        return false;
    }
    buf_fini(&t->held);
    if (t->eof && t->may_type)
        (void)viewer_input_eof(t->viewer, &err);
    t->eof = false;
    return true;
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
    size_t max = t->viewer == NULL || t->shared ? t->hold_max : 0;
    size_t room = t->held.len < max ? max - t->held.len : 0;
    size_t n = len < room ? len : room;

    buf_put(&t->held, bytes, n);
    return n;
}

static size_t take(struct kube_stream *t, const char *bytes, size_t len)
{
    size_t n = 0;

    if (t->viewer != NULL && t->held.len == 0) {
        n = give(t, bytes, len);
        if (n == len)
            return n;
        wait_for_room(t);
    }
    return n + hold(t, bytes + n, len - n);
}

size_t kube_stream_type(struct kube_stream *t, const char *bytes, size_t len, bool fin)
{
    size_t n = len > 0 ? take(t, bytes, len) : 0;

    if (fin && n == len) {
        t->eof = true;
        (void)flush(t);
    }
    return n;
}

void kube_stream_resize(struct kube_stream *t, int64_t rows, int64_t cols)
{
    struct hf_error err;

    if (t->viewer != NULL && t->may_type)
        (void)viewer_resize(t->viewer, rows, cols, &err);
}

/* --- setup -------------------------------------------------------------------------------- */

bool kube_stream_attach(struct kube_stream *t, struct process *p, const struct viewer_options *v,
                        struct hf_error *err)
{
    struct viewer_options named = *v;

    named.name = t->conn->peer;
    if (viewer_attach(p, &named, viewer_ops_for(t), t, &t->viewer, err) < 0)
        return false;
    t->process = process_ref(p);
    return true;
}

struct tap_birth {
    struct pending pending;
    struct kube_stream *tap; /* NULL: already closed */
    struct viewer_options viewer;
};

static void birth_free(struct pending *p)
{
    struct tap_birth *b = list_entry(p, struct tap_birth, pending);

    if (b->tap != NULL)
        b->tap->birth = NULL;
    pending_fini(p);
    free(b);
}

/* The keeper replies soon, so a drain need not cut this short. */
static const struct pending_kind birth_kind = {.drain = NULL, .free = birth_free};

static void on_spawned(void *arg, struct process *p, const struct hf_error *err)
{
    struct tap_birth *b = arg;
    struct kube_stream *t = b->tap;
    struct viewer_options v = b->viewer;
    struct hf_error late;

    birth_free(&b->pending);
    if (t == NULL) {
        if (p != NULL)
            process_terminate(p, -1, "detach", NULL, NULL);
        return;
    }
    if (p == NULL) {
        t->ops->failed(t, err);
        return;
    }
    if (!kube_stream_attach(t, p, &v, &late)) {
        t->ops->failed(t, &late);
        return;
    }
    on_room(t);
}

void kube_stream_spawn(struct kube_stream *t, const struct spawn_spec *spec,
                       const struct viewer_options *v)
{
    struct dialect_base *base = t->conn->base;
    struct tap_birth *b = hf_xalloc(sizeof *b);
    struct hf_error err;

    b->tap = t;
    b->viewer = *v;
    pending_init(&b->pending, &base->pending, &birth_kind);
    t->birth = b;
    if (engine_spawn(base->engine, spec, on_spawned, b, &err) < 0)
        on_spawned(b, NULL, &err);
}

void kube_stream_init(struct kube_stream *t, struct kube_conn *c, const struct kube_stream_ops *ops,
                      bool may_type, size_t hold_max)
{
    *t = (struct kube_stream){.ops = ops, .conn = c, .may_type = may_type, .hold_max = hold_max};
    list_init(&t->waiter.link);
    t->waiter.fn = on_room;
    t->waiter.arg = t;
}

void kube_stream_fini(struct kube_stream *t)
{
    struct viewer *v = t->viewer;

    if (t->birth != NULL)
        t->birth->tap = NULL;
    t->birth = NULL;
    t->viewer = NULL;
    input_waiter_cancel(&t->waiter);
    viewer_detach(v);
    process_unref(t->process);
    t->process = NULL;
    buf_fini(&t->held);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer.c - one file operation, from its start to its result. Layer: dialects.
 */
#include "dialects/common/transfer.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "engine/stream/viewer.h"

#define NOTE_BYTES 4096 /* of what it writes on standard error */

struct transfer {
    const struct transfer_ops *ops; /* NULL: the owner has let go */
    void *arg;
    struct dialect_base *base;
    struct process *process; /* referenced; NULL until it was started */
    struct viewer *viewer;
    struct stdin_feed feed;
    struct buf note;
    bool starting; /* the engine has yet to call back */
    bool end;      /* let go of before the start: end it then */
};

void transfer_free(struct transfer *t)
{
    if (t == NULL)
        return;
    t->base->transfers--;
    viewer_detach(t->viewer);
    stdin_feed_fini(&t->feed);
    process_unref(t->process);
    buf_fini(&t->note);
    free(t);
}

struct stdin_feed *transfer_feed(struct transfer *t)
{
    return &t->feed;
}

size_t transfer_take(struct transfer *t, const void *bytes, size_t len, bool last)
{
    return stdin_feed_take(&t->feed, bytes, len, last);
}

void transfer_pump(struct transfer *t)
{
    if (t->viewer != NULL)
        viewer_pump(t->viewer);
}

/* --- letting go ------------------------------------------------------------------------------ */

static void let_go(struct transfer *t, bool end)
{
    if (t == NULL)
        return;
    t->ops = NULL;
    t->end = end;
    if (t->starting)
        return; /* on_spawned() handles it */
    if (end)
        file_op_end(t->process);
    else
        process_forget(t->process); /* once it has exited */
    transfer_free(t);
}

void transfer_abandon(struct transfer *t)
{
    let_go(t, true);
}

void transfer_leave(struct transfer *t)
{
    let_go(t, false);
}

/* --- the result ------------------------------------------------------------------------------ */

static void finish(struct transfer *t, const struct transfer_end *end)
{
    const struct transfer_ops *ops = t->ops;

    t->ops = NULL;
    if (t->process != NULL)
        process_forget(t->process);
    ops->done(t->arg, end);
    transfer_free(t);
}

static void fail_start(struct transfer *t, const struct hf_error *err)
{
    struct transfer_end end = {.not_started = true};

    end.fault.err = *err;
    finish(t, &end);
}

static void on_exited(void *arg, const struct exit_record *x)
{
    struct transfer *t = arg;
    struct transfer_end end = {
        .ok = x->exit_code == 0, .note = buf_data(&t->note), .note_len = t->note.len};

    if (!end.ok)
        file_fault_decode(&end.fault, end.note, end.note_len);
    finish(t, &end);
}

/* --- output ---------------------------------------------------------------------------------- */

static bool on_ready(void *arg)
{
    struct transfer *t = arg;

    return t->ops == NULL || t->ops->ready == NULL || t->ops->ready(t->arg);
}

static void on_bytes(void *arg, const struct slice *s)
{
    struct transfer *t = arg;
    size_t room = NOTE_BYTES - t->note.len;

    if (s->stream == STREAM_STDERR)
        buf_put(&t->note, s->bytes, s->len < room ? s->len : room);
    else if (t->ops->bytes != NULL)
        t->ops->bytes(t->arg, s->bytes, s->len);
}

static void on_gap(void *arg, uint64_t from, uint64_t to)
{
    (void)arg, (void)from, (void)to; /* a lossless viewer from 0 on misses nothing */
}

static const struct viewer_ops viewer_ops = {
    .ready = on_ready,
    .bytes = on_bytes,
    .gap = on_gap,
    .exited = on_exited,
};

/* --- the start ------------------------------------------------------------------------------- */

static void on_room(void *arg)
{
    struct transfer *t = arg;

    if (t->ops != NULL && t->ops->room != NULL)
        t->ops->room(t->arg);
}

static void on_spawned(void *arg, struct process *p, const struct hf_error *why)
{
    const struct viewer_options o = viewer_own(0);
    struct transfer *t = arg;
    struct hf_error err = {0};

    t->starting = false;
    if (p != NULL)
        t->process = process_ref(p);
    if (t->ops == NULL) {
        if (p != NULL)
            let_go(t, t->end);
        else
            transfer_free(t);
        return;
    }
    if (p == NULL) {
        fail_start(t, why);
        return;
    }
    if (viewer_attach(p, &o, &viewer_ops, t, &t->viewer, &err) < 0) {
        file_op_end(p);
        fail_start(t, &err);
        return;
    }
    stdin_feed_bind(&t->feed, p);
    if (t->ops->started != NULL)
        t->ops->started(t->arg);
}

int transfer_start(struct dialect_base *b, const struct file_op *op, const struct transfer_ops *ops,
                   void *arg, struct transfer **out, struct hf_error *err)
{
    struct transfer *t;
    struct spawn_spec spec;
    int rc = dialect_check_open(b, err);

    *out = NULL;
    if (rc < 0)
        return rc;
    if (b->transfers >= LIMIT_TRANSFERS) {
        rc = hf_fail(err, HF_E_too_many_transfers,
                     "%d file operations are in progress; try again later", LIMIT_TRANSFERS);
        err->limit = "transfers";
        return rc;
    }
    t = hf_xalloc(sizeof *t);
    b->transfers++;
    t->ops = ops;
    t->arg = arg;
    t->base = b;
    t->starting = true;
    stdin_feed_init(&t->feed, on_room, t);
    file_op_spec(&spec, op);
    spec.quiet_start = !op->has_input;
    *out = t;
    rc = engine_spawn(b->engine, &spec, on_spawned, t, err);
    if (rc < 0) {
        *out = NULL;
        transfer_free(t);
    }
    return rc;
}

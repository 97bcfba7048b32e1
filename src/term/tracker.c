/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracker.c - the always-on parser of a terminal's output. Layer: term.
 */
#include "term/tracker.h"

#include <string.h>

struct feeding {
    struct tracker *t;
    struct tracker_state *s; /* being made */
    unsigned rows;
    tracker_query_fn *fn;
    void *arg;
};

static struct tracker_state *current(const struct tracker *t)
{
    return &t->head->state[atomic_load_explicit(&t->head->which, memory_order_acquire) & 1];
}

const struct tracker_state *tracker_state(const struct tracker *t)
{
    return current(t);
}

uint64_t tracker_at(const struct tracker *t)
{
    return tracker_state(t)->vt.at;
}

/* --- queries ----------------------------------------------------------------------- */

static void note_query(struct feeding *f, enum query_kind kind, int32_t number, uint8_t end)
{
    struct query q = {kind, number, end, f->s->vt.token_at, f->s->vt.at};

    if (kind != QUERY_NONE && f->fn != NULL)
        f->fn(f->arg, &q, &f->s->modes);
}

/* --- parser callbacks --------------------------------------------------------------------- */

static void on_control(void *arg, uint8_t c)
{
    struct feeding *f = arg;

    modes_control(&f->s->modes, c);
}

static void on_csi(void *arg, const struct vt *v, uint32_t id)
{
    struct feeding *f = arg;

    if (id == 'm')
        return; /* by far the most frequent, and not a mode */
    modes_csi(&f->s->modes, v, id, f->rows);
    note_query(f, query_of_csi(v, id), vt_param_raw(v, 0), (uint8_t)id);
}

static void on_esc(void *arg, const struct vt *v, uint32_t id)
{
    struct feeding *f = arg;

    (void)v;
    modes_esc(&f->s->modes, id);
    note_query(f, query_of_esc(id), 0, (uint8_t)id);
}

static void on_string_begin(void *arg, const struct vt *v, enum vt_string kind, uint32_t id)
{
    struct feeding *f = arg;

    (void)v;
    query_string_begin(&f->s->string, kind, id);
}

static void on_string_put(void *arg, const char *bytes, size_t len)
{
    struct feeding *f = arg;

    query_string_put(&f->s->string, bytes, len);
}

static void on_string_end(void *arg, const struct vt *v, bool ok, uint8_t end)
{
    struct feeding *f = arg;

    (void)v;
    if (ok)
        note_query(f, query_string_end(&f->s->string), f->s->string.number, end);
}

static const struct vt_ops ops = {
    .control = on_control,
    .csi = on_csi,
    .esc = on_esc,
    .string_begin = on_string_begin,
    .string_put = on_string_put,
    .string_end = on_string_end,
};

/* --- the tracker ----------------------------------------------------------------------------- */

void tracker_init(struct tracker *t, struct tracker_head *head, struct tracker_room *room,
                  uint64_t ring_bytes)
{
    t->head = head;
    t->room = room;
    t->every = ring_bytes < TRACKER_REACH_BYTES ? ring_bytes : TRACKER_REACH_BYTES;
    t->every /= TRACKER_CHECKPOINTS;
}

void tracker_start(struct tracker_head *head)
{
    modes_init(&head->state[0].modes);
}

/* The spare copy, set to the current state. */
static struct tracker_state *spare(struct tracker *t)
{
    const struct tracker_state *old = tracker_state(t);
    struct tracker_state *s = old == &t->head->state[0] ? &t->head->state[1] : &t->head->state[0];

    *s = *old;
    return s;
}

static void commit_spare(struct tracker *t)
{
    uint32_t which = atomic_load_explicit(&t->head->which, memory_order_relaxed);

    atomic_store_explicit(&t->head->which, which ^ 1, memory_order_release);
}

/* Rewrites the slot before the count changes: a kill in between leaves one bad slot, which is
 * the oldest, and whose offset was cleared first. */
static void put_aside(struct tracker *t, const struct tracker_state *s)
{
    uint32_t n = atomic_load_explicit(&t->head->checkpoints, memory_order_relaxed);
    struct tracker_checkpoint *c = &t->room->checkpoint[n % TRACKER_CHECKPOINTS];

    c->vt.at = 0;
    atomic_signal_fence(memory_order_seq_cst);
    c->modes = s->modes;
    c->vt = s->vt;
    atomic_store_explicit(&t->head->checkpoints, n + 1, memory_order_release);
}

void tracker_feed(struct tracker *t, const void *bytes, size_t len, unsigned rows,
                  tracker_query_fn *fn, void *arg)
{
    struct tracker_state *s = current(t);
    uint64_t before = s->vt.at;

    if (vt_is_plain(&s->vt, bytes, len)) {
        s->vt.at += len; /* one store: the rest does not change, so no copy is needed */
    } else {
        struct feeding f = {t, spare(t), rows, fn, arg};

        s = f.s;
        vt_feed(&s->vt, &ops, &f, bytes, len);
        commit_spare(t);
    }
    if (t->every > 0 && before / t->every != s->vt.at / t->every)
        put_aside(t, s);
}

void tracker_resized(struct tracker *t)
{
    modes_resized(&spare(t)->modes);
    commit_spare(t);
}

bool tracker_checkpoint(const struct tracker *t, uint64_t from, struct tracker_checkpoint *out)
{
    uint32_t n = atomic_load_explicit(&t->head->checkpoints, memory_order_acquire), i;
    bool found = false;

    for (i = 0; i < n && i < TRACKER_CHECKPOINTS; i++) {
        const struct tracker_checkpoint *c = &t->room->checkpoint[i];
        if (c->vt.at >= from && c->vt.at > 0 && (!found || c->vt.at < out->vt.at)) {
            *out = *c;
            found = true;
        }
    }
    return found;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retention.c - how long exited processes stay known. Layer: engine.
 *
 * The limits are their number and their age; they also leave early when a new process needs their
 * journal memory. One timer is set for the next expiry.
 */
#include "base/clock.h"
#include "engine/process_own.h"

static int64_t expires_at(const struct process *p)
{
    return p->rec.head->exit.at_wall_ms + p->meta.retain_ms;
}

static void retention_on_timer(struct timer *t, void *arg)
{
    (void)t;
    retention_run(arg);
}

/* Never later than an already set time: some processes have their own retain_ms. */
static void retention_arm(struct engine *e, int64_t due, int64_t now)
{
    if (e->retention == NULL)
        e->retention = timer_new(e->loop, retention_on_timer, e);
    if (timer_is_active(e->retention) && e->retention_due_ms <= due)
        return;
    e->retention_due_ms = due;
    timer_start(e->retention, due > now ? (uint64_t)(due - now) : 0);
}

/* Whether it can be forgotten now: no session needs it, and its tree is not being terminated. */
static bool can_forget(const struct process *p)
{
    return p->session == NULL && !kill_tree_is_running(p);
}

/* Forgets the oldest one that can be forgotten. False: there is none. */
static bool forget_one(struct engine *e)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &e->exited) {
        struct process *p = list_entry(it, struct process, exited_link);
        if (!can_forget(p))
            continue;
        process_forget(p);
        return true;
    }
    return false;
}

void retention_trim(struct engine *e)
{
    while (e->retained > e->options.retain_count && forget_one(e))
        ;
}

static void retention_on_trim(void *arg)
{
    struct engine *e = arg;

    if (e->events.wake.queued)
        loop_defer(e->loop, &e->trim);
    else
        retention_trim(e);
}

/* Subscribers usually inspect the process when its exit is reported, so trimming waits until they
 * were notified. */
void retention_add(struct engine *e, struct process *p)
{
    list_append(&e->exited, &p->exited_link);
    e->retained++;
    e->trim.fn = retention_on_trim;
    e->trim.arg = e;
    retention_on_trim(e);
    if (p->in_table)
        retention_arm(e, expires_at(p), clock_wall_ms());
}

void retention_run(struct engine *e)
{
    int64_t now = clock_wall_ms();
    struct list *it, *tmp;

    timer_stop(e->retention);
    list_for_each (it, tmp, &e->exited) {
        struct process *p = list_entry(it, struct process, exited_link);
        if (p->session != NULL)
            continue; /* dropped with its session, or once the next shell runs */
        if (expires_at(p) <= now)
            process_forget(p);
        else
            retention_arm(e, expires_at(p), now);
    }
}

void retention_change(struct process *p)
{
    if (!list_is_empty(&p->exited_link))
        retention_arm(p->engine, expires_at(p), clock_wall_ms());
}

static struct process *oldest_of(struct engine *e, bool on_disk)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &e->exited) {
        struct process *p = list_entry(it, struct process, exited_link);
        if (can_forget(p) && (p->rec.head->on_disk != 0) == on_disk)
            return p;
    }
    return NULL;
}

bool retention_make_room(struct engine *e, uint64_t need, bool on_disk)
{
    uint64_t limit = on_disk ? e->options.history_disk_bytes : e->options.journal_memory_bytes;
    const uint64_t *used = on_disk ? &e->disk_bytes : &e->ring_bytes;

    while (*used + need > limit) {
        struct process *p = oldest_of(e, on_disk);
        if (p == NULL)
            return false;
        process_forget(p);
    }
    return true;
}

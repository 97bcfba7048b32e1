/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill_deadline.c - when a process is terminated by the clock: time-out, idleness, no viewer
 *
 * Layer: engine.
 */
#include "base/clock.h"
#include "engine/process_own.h"

#define RECONNECT_MS 10000 /* time for viewers to reconnect after their worker died */

void kill_deadline_active(struct process *p)
{
    p->deadline.active_ms = clock_mono_ms();
}

void kill_deadline_stop(struct process *p)
{
    if (p->deadline.timer != NULL)
        timer_stop(p->deadline.timer);
}

void kill_deadline_fini(struct process *p)
{
    timer_close(p->deadline.timer);
}

static void deadline_hit(struct process *p, const char *by, enum exit_kind kind)
{
    kill_tree_because(p, by, kind);
    process_terminate(p, -1, by, NULL, NULL);
}

static uint64_t idle_at(const struct process *p)
{
    int64_t idle = p->rec.head->idle_timeout_ms;

    return idle > 0 ? p->deadline.active_ms + (uint64_t)idle : 0;
}

static void deadline_on_timer(struct timer *t, void *arg)
{
    struct process *p = arg;
    struct record_head *h = p->rec.head;
    uint64_t now = clock_mono_ms();

    (void)t;
    if (!process_is_running(p) || !kill_tree_is_idle(p))
        return;
    if (h->timeout_at_ms != 0 && now >= h->timeout_at_ms)
        deadline_hit(p, "timeout", EXIT_TIMED_OUT);
    else if (h->detach_at_ms != 0 && now >= h->detach_at_ms)
        deadline_hit(p, "detach", EXIT_KILLED);
    else if (idle_at(p) != 0 && now >= idle_at(p))
        deadline_hit(p, "idle_timeout", EXIT_TIMED_OUT);
    else
        kill_deadline_arm(p);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    if (a == 0 || b == 0)
        return a | b;
    return a < b ? a : b;
}

void kill_deadline_arm(struct process *p)
{
    const struct record_head *h = p->rec.head;
    uint64_t at = sooner(sooner(h->timeout_at_ms, h->detach_at_ms), idle_at(p));
    uint64_t now = clock_mono_ms();

    if (at == 0) {
        kill_deadline_stop(p);
        return;
    }
    if (p->deadline.timer == NULL)
        p->deadline.timer = timer_new(p->engine->loop, deadline_on_timer, p);
    timer_start(p->deadline.timer, at > now ? at - now : 0);
}

void kill_deadline_on_attach(struct process *p)
{
    p->rec.head->watched = 1;
    if (p->rec.head->detach_at_ms == 0)
        return;
    p->rec.head->detach_at_ms = 0;
    kill_deadline_arm(p);
}

/* Acts as if the last viewer had left, but with time to reconnect. */
void kill_deadline_on_crash(struct process *p)
{
    struct record_head *h = p->rec.head;
    int64_t wait = h->on_detach == DETACH_KILL_AFTER ? h->detach_ms : 0;

    if (h->on_detach == DETACH_KEEP)
        return;
    h->watched = 0;
    h->detach_at_ms = clock_mono_ms() + (uint64_t)(wait > RECONNECT_MS ? wait : RECONNECT_MS);
}

void kill_deadline_on_detach(struct process *p)
{
    struct record_head *h = p->rec.head;

    if (p->engine->retiring)
        /* no viewer left on purpose: the next worker gives them time to reconnect, as after a
         * crash */
        return;
    h->watched = 0;
    if (!process_is_running(p) || h->on_detach == DETACH_KEEP)
        return;
    if (h->on_detach == DETACH_KILL) {
        process_terminate(p, -1, "detach", NULL, NULL);
        return;
    }
    h->detach_at_ms = clock_mono_ms() + (uint64_t)h->detach_ms;
    kill_deadline_arm(p);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_pace.c - backpressure: how much of a process's output may be read now. Layer: engine.
 *
 * Without room in the ring for what viewers still need, reading pauses. The terminal's or the
 * pipe's buffer fills up, and the process waits in its own write(2).
 */
#include "base/clock.h"
#include "engine/stream/viewer_own.h"

bool pace_is_paused(const struct process *p)
{
    return p->pace.paused;
}

void pace_fini(struct process *p)
{
    timer_close(p->pace.poll);
}

/*
 * Schedules the next check of what the pause waits for. No event reports that TCP has delivered
 * something, so the first check comes soon, and each later one after a longer delay. A claim ends
 * at its own deadline.
 */
static void schedule_recheck(struct process *p)
{
    uint64_t now = clock_mono_ms(), end = viewer_hold_next_end(p), wait = p->pace.poll_ms;

    if (p->pace.poll_ms < VIEWER_PATIENCE_MS)
        p->pace.poll_ms *= 2;
    if (wait > VIEWER_PATIENCE_MS)
        wait = VIEWER_PATIENCE_MS;
    if (end > now && end - now < wait)
        wait = end - now;
    timer_start(p->pace.poll, wait);
}

static void stall_on_timer(struct timer *t, void *arg)
{
    struct process *p = arg;
    uint64_t held_ms = clock_mono_ms() - p->pace.since_ms;

    (void)t;
    if (!p->pace.paused)
        return;
    process_ref(p); /* resuming may end the process and free the record */
    if (held_ms >= VIEWER_PATIENCE_MS)
        viewers_mark_stalled(p, held_ms);
    pace_update(p);
    if (p->pace.paused)
        schedule_recheck(p);
    process_unref(p);
}

static void pause_output(struct process *p)
{
    if (p->pace.paused)
        return;
    p->pace.paused = true;
    p->pace.since_ms = clock_mono_ms();
    if (p->pace.poll == NULL)
        p->pace.poll = timer_new(p->engine->loop, stall_on_timer, p);
    p->pace.poll_ms = 1;
    schedule_recheck(p);
    output_interest(p);
}

/* How much may be read, after checking what viewers have received. */
static size_t room_confirmed(struct process *p, bool ask)
{
    viewer_hold_confirm(p, ask);
    return journal_room(&p->journal, viewers_hold(p));
}

size_t pace_room(struct process *p)
{
    size_t room = journal_room(&p->journal, viewers_hold(p));

    if (room < p->rec.head->ring_bytes / VIEWER_HOLD_RECEIPT_PART)
        room = room_confirmed(p, false);
    if (room == 0) {
        viewers_pump(p);
        room = room_confirmed(p, true);
    }
    if (room == 0)
        pause_output(p);
    return room;
}

void pace_update(struct process *p)
{
    if (!p->pace.paused || room_confirmed(p, true) == 0)
        return;
    p->pace.paused = false;
    timer_stop(p->pace.poll);
    output_interest(p);
    if (exit_is_reaped(p))
        exit_check(p);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output that waits for a viewer who is to come, or to come back (hold_ms).
 *
 * A client that must not miss a byte starts a process and then attaches: what
 * is written in between, and what was on its way when a line or a worker broke,
 * has to stay in the ring until it is there. So a process with hold_ms is held
 * by what its viewers have acknowledged, not by what they were sent; and with nobody
 * attached it is held for hold_ms by what the last of them had. Both numbers lie
 * in the record, because the next worker needs them most.
 */
#include "base/clock.h"
#include "engine/engine_own.h"

/* The first byte this viewer may still ask for. */
uint64_t await_needs(const struct viewer *v)
{
    return v->ack && v->process->rec.head->hold_ms > 0 ? v->acked : v->at;
}

uint64_t await_hold(const struct process *p, uint64_t hold)
{
    const struct record_head *h = p->rec.head;

    if (h->hold_ms == 0 || viewers_members(p) > 0 || h->hold_at >= hold)
        return hold;
    /* What is overwritten already cannot be waited for. */
    if (h->hold_at < journal_first(&p->journal) || clock_mono_ms() >= h->hold_until_ms)
        return hold;
    return h->hold_at;
}

void await_note(struct process *p)
{
    uint64_t lowest = UINT64_MAX;
    struct list *it, *tmp;

    if (p->rec.head->hold_ms == 0)
        return;
    list_for_each (it, tmp, &p->viewers) {
        const struct viewer *v = list_entry(it, struct viewer, link);
        if (!v->internal && !v->never_holds && await_needs(v) < lowest)
            lowest = await_needs(v);
    }
    if (lowest != UINT64_MAX)
        p->rec.head->hold_at = lowest;
}

void await_begin(struct process *p, const struct viewer *last)
{
    struct record_head *h = p->rec.head;

    if (h->hold_ms == 0)
        return;
    h->hold_at = await_needs(last);
    h->hold_until_ms = last->leaving ? 0 : clock_mono_ms() + (uint64_t)h->hold_ms;
}

void await_on_crash(struct process *p)
{
    struct record_head *h = p->rec.head;

    if (h->hold_ms > 0 && h->watched)
        h->hold_until_ms = clock_mono_ms() + (uint64_t)h->hold_ms;
}

void viewer_leave(struct viewer *v)
{
    v->leaving = true;
}

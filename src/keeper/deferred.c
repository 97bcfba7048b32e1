/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deferred.c - work that can wait
 *
 * Starts and exits are reported at once. Moving descriptors to high numbers, releasing empty
 * cgroups and creating pipes for the next process can wait: this work runs right after the next
 * child is cloned, when everything waits for that child anyway, or DEFERRED_MS later if there is
 * none. Layer: keeper.
 */
#include "base/clock.h"
#include "keeper/keeper_own.h"
#include "keeper/spawn.h"

#define DEFERRED_MS 5

void deferred_init(struct keeper *k)
{
    list_init(&k->deferred.entries);
    k->deferred.deadline_ms = DEADLINE_NONE;
}

void deferred_add(struct keeper *k, struct entry *e)
{
    if (list_is_empty(&e->deferred))
        list_append(&k->deferred.entries, &e->deferred);
    deferred_wake(k);
}

void deferred_wake(struct keeper *k)
{
    if (k->deferred.deadline_ms == DEADLINE_NONE)
        k->deferred.deadline_ms = clock_mono_ms() + DEFERRED_MS;
}

void deferred_run(struct keeper *k)
{
    k->deferred.deadline_ms = DEADLINE_NONE;
    while (!list_is_empty(&k->deferred.entries)) {
        struct entry *e = list_entry(k->deferred.entries.next, struct entry, deferred);

        list_remove(&e->deferred);
        spawn_move_high(k, e);
        deposit_deferred(k, e);
        if (e->pub.exited)
            cgroup_release_if_empty(&k->cgroup, &e->slot);
    }
    spare_streams_fill(&k->spawns.spares);
    if (k->spawns.count == 0)
        guard_lower(&k->guard);
}

void deferred_step(struct keeper *k, uint64_t now_ms)
{
    if (k->deferred.deadline_ms <= now_ms)
        deferred_run(k);
}

uint64_t deferred_deadline(const struct keeper *k)
{
    return k->deferred.deadline_ms;
}

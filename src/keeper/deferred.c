/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deferred.c - what can wait until there is time
 *
 * A start and an exit are told at once; that descriptors want to be out of the way, that
 * the cgroup is empty now and that the next process will want pipes, is seen to right after the next child was cloned, when everybody waits
 * for that child anyway, or CHORES_MS later when there is none. Layer: keeper.
 */
#include "base/clock.h"
#include "keeper/keeper_own.h"
#include "keeper/spawn.h"

#define CHORES_MS 5

void deferred_init(struct keeper *k)
{
    list_init(&k->chores.entries);
    k->chores.deadline_ms = DEADLINE_NONE;
}

void deferred_add(struct keeper *k, struct entry *e)
{
    if (list_is_empty(&e->chore))
        list_append(&k->chores.entries, &e->chore);
    deferred_wake(k);
}

void deferred_wake(struct keeper *k)
{
    if (k->chores.deadline_ms == DEADLINE_NONE)
        k->chores.deadline_ms = clock_mono_ms() + CHORES_MS;
}

void deferred_run(struct keeper *k)
{
    k->chores.deadline_ms = DEADLINE_NONE;
    while (!list_is_empty(&k->chores.entries)) {
        struct entry *e = list_entry(k->chores.entries.next, struct entry, chore);

        list_remove(&e->chore);
        spawn_move_high(k, e);
        deposit_chore(k, e);
        if (e->pub.exited)
            cgroup_release_if_empty(&k->cgroup, &e->slot);
    }
    spare_streams_fill(&k->spawns.spares);
    if (k->spawns.count == 0)
        guard_lower(&k->guard);
}

void deferred_step(struct keeper *k, uint64_t now_ms)
{
    if (k->chores.deadline_ms <= now_ms)
        deferred_run(k);
}

uint64_t deferred_deadline(const struct keeper *k)
{
    return k->chores.deadline_ms;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reap.c - reaps every dead child
 *
 * The exit of a leader is stored in the table and reported to the worker. All others are orphans
 * that came to us as the nearest reaper; they are only reaped. Layer: keeper.
 */
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "keeper/flood_weight.h"
#include "keeper/keeper_own.h"
#include "keeper/spawn.h"

static bool reap_was_oom(const struct keeper *k, const struct entry *e, int status)
{
    return e->slot != NULL && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
           cgroup_had_oom(&k->cgroup, e->slot);
}

/* For a child that died before exec, spawn_step() first reports the result of its spawn. */
static void reap_leader(struct keeper *k, struct entry *e, const struct zombie *d)
{
    table_clear_pid(&k->table, e);
    e->pub.exited = true;
    e->pub.status = d->status;
    e->pub.exited_wall_ms = clock_wall_ms();
    e->pub.usage = d->usage;
    e->pub.oom = reap_was_oom(k, e, d->status);
    if (e->spawn != NULL) {
        spawn_step(k, e->spawn);
    } else {
        deposit_exited(k, e);
        requests_report_exit(k, e);
        deferred_add(k, e);
    }
}

/* Everything is recorded before the child is reaped: the next keeper could not read it again. */
static void reap_one(struct keeper *k, const struct zombie *d)
{
    struct entry *e = table_find_pid(&k->table, d->pid);
    bool worker = d->pid == k->worker.pid;

    if (worker)
        worker_note_io(k);
    if (e != NULL)
        flood_weight_on_death(k, e);
    spawns_on_death(k, d->pid);
    if (e != NULL)
        reap_leader(k, e, d);
    else if (worker)
        worker_on_exit(k, d->status);
    else if (!upgrade_on_exit(k, d))
        (void)reload_on_exit(k, d->pid, d->status);
}

/* The pid alone is ambiguous: it may be a child of our own that was started since. */
void reap_inherited(struct keeper *k, const struct zombie *d)
{
    const struct entry *e = table_find_pid(&k->table, d->pid);

    if (e != NULL && e->row != NULL && e->row->parent == k->pid)
        return;
    if (d->pid == k->worker.pid && !k->worker.inherited)
        return;
    reap_one(k, d);
}

void reap_lost(struct keeper *k, struct entry *e)
{
    struct zombie d = {.pid = e->pub.pid, .status = K_STATUS_LOST};

    flood_weight_on_death(k, e);
    reap_leader(k, e, &d);
}

void reap_hinted(struct keeper *k, pid_t pid)
{
    struct zombie d;

    if (table_find_pid(&k->table, pid) == NULL || zombie_peek(pid, &d) == 0)
        return;
    reap_one(k, &d);
    zombie_reap(pid);
}

void reap_children(struct keeper *k)
{
    struct zombie d;

    while (zombie_peek(0, &d) > 0) {
        reap_one(k, &d);
        zombie_reap(d.pid);
    }
}

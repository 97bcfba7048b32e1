/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reap.c - every child that has died
 *
 * Leaders leave their record in the table and the worker is told. The rest are
 * orphans that came to us as the nearest reaper; they are only let go. Layer: keeper.
 */
#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "keeper/core.h"
#include "keeper/ease.h"
#include "keeper/spawn.h"

static uint64_t time_us(const struct timeval *t)
{
    return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

static bool reap_was_oom(const struct keeper *k, const struct entry *e, int status)
{
    return e->slot != NULL && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
           cgroup_had_oom(&k->cgroup, e->slot);
}

/* A child that died on its way to exec answers the worker first, if it is an answer at all. */
static void reap_leader(struct keeper *k, struct entry *e, int status, const struct rusage *usage)
{
    table_clear_pid(&k->table, e);
    e->pub.exited = true;
    e->pub.status = status;
    e->pub.exited_wall_ms = clock_wall_ms();
    e->pub.utime_us = time_us(&usage->ru_utime);
    e->pub.stime_us = time_us(&usage->ru_stime);
    e->pub.maxrss_kib = (uint64_t)usage->ru_maxrss;
    e->pub.oom = reap_was_oom(k, e, status);
    if (e->spawn != NULL) {
        spawn_step(k, e->spawn);
    } else {
        requests_tell_exit(k, e);
        chores_add(k, e);
    }
}

/* False: it could not be reaped. */
static bool reap_one(struct keeper *k, pid_t pid)
{
    struct entry *e = table_find_pid(&k->table, pid);
    struct rusage usage;
    int status;

    if (pid == k->worker.pid)
        worker_note_io(k);
    if (e != NULL)
        ease_on_death(k, e);
    if (wait4(pid, &status, WNOHANG, &usage) != pid)
        return false;
    spawns_on_death(k, pid);
    if (e != NULL)
        reap_leader(k, e, status, &usage);
    else if (pid == k->worker.pid)
        worker_on_exit(k, status);
    else if (!upgrade_on_exit(k, pid, status))
        (void)reload_on_exit(k, pid, status);
    return true;
}

void reap_hinted(struct keeper *k, pid_t pid)
{
    if (table_find_pid(&k->table, pid) != NULL)
        (void)reap_one(k, pid);
}

/* Looks before it reaps: what the worker had read is known only while it is not reaped. */
void reap_children(struct keeper *k)
{
    for (;;) {
        siginfo_t info = {0};

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
            return;
        if (!reap_one(k, info.si_pid))
            return;
    }
}

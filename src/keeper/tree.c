/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.c - the processes that belong to an entry, and signals to them. Layer: keeper.
 */
#include "keeper/tree.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#include "keeper/keeper_own.h"
#include "keeper/procfs.h"
#include "keeper/signalled.h"
#include "keeper/spawn.h"

#define TREE_PTS_MAJOR 136 /* terminals of /dev/pts */

/* Values of struct proc's mark while a tree is being found. */
enum tree_mark {
    TREE_UNKNOWN,
    TREE_OUTSIDE, /* not below the keeper */
    TREE_STRAY,   /* below the keeper, but below no leader: an orphan or its descendant */
    TREE_OTHER,   /* the worker, another leader, or below them */
    TREE_MEMBER,
};

/* --- finding -------------------------------------------------------------- */

/* Orphans become our children or, if an earlier keeper started their parents, the vault's. */
static bool tree_is_reaper(const struct keeper *k, pid_t pid)
{
    return pid == k->pid || (pid == k->deposit.vault_pid && pid != 0);
}

static enum tree_mark tree_mark_of(const struct keeper *k, const struct entry *e,
                                   const struct proc_list *l, const struct proc *p)
{
    const struct entry *leader = table_find_pid(&k->table, p->pid);
    const struct proc *parent;

    if (leader != NULL)
        return leader == e || e == NULL ? TREE_MEMBER : TREE_OTHER;
    if (p->pid == k->pid || p->pid == k->deposit.vault_pid || p->pid == 1)
        return TREE_OUTSIDE;
    if (p->pid == k->worker.pid || p->pid == k->upgrade.check_pid)
        return TREE_OTHER;
    if (tree_is_reaper(k, p->ppid))
        return TREE_STRAY;
    parent = procfs_list_find(l, p->ppid);
    return parent == NULL ? TREE_OUTSIDE : (enum tree_mark)parent->mark;
}

/* Parents mostly have the smaller pid, so one or two passes suffice. A process whose ancestors
 * are unknown is outside. */
static void tree_mark_descent(const struct keeper *k, const struct entry *e, struct proc_list *l)
{
    bool changed = true;

    while (changed) {
        changed = false;
        for (size_t i = 0; i < l->count; i++) {
            struct proc *p = &l->procs[i];

            if (p->mark != TREE_UNKNOWN)
                continue;
            p->mark = (uint8_t)tree_mark_of(k, e, l, p);
            changed = changed || p->mark != TREE_UNKNOWN;
        }
    }
}

/* The number that /proc/PID/stat shows for the entry's terminal; 0: none. */
static uint32_t tree_tty_nr(const struct entry *e)
{
    unsigned n;

    if (e->pub.tty_fd < 0 || ioctl(e->pub.tty_fd, TIOCGPTN, &n) < 0)
        return 0;
    return (n & 0xff) | TREE_PTS_MAJOR << 8 | (n & ~0xffU) << 12;
}

static bool tree_has_mark(const struct entry *e, const struct proc *p)
{
    return procfs_has_env(p->pid, SPAWN_MARK, e->pub.id) == 1;
}

static bool tree_owns_stray(const struct keeper *k, const struct entry *e, const struct proc *p,
                            bool ids_are_ours, uint32_t tty_nr)
{
    if (ids_are_ours && (p->sid == e->pub.pid || p->pgrp == e->pub.pid)) {
        if (!e->pub.exited || procfs_has_env(p->pid, SPAWN_MARK, e->pub.id) != 0)
            return true;
    }
    if (tty_nr != 0 && p->tty_nr == tty_nr)
        return true;
    return tree_is_reaper(k, p->ppid) && tree_has_mark(e, p);
}

static void tree_mark_strays(const struct keeper *k, const struct entry *e, struct proc_list *l)
{
    bool ids_are_ours = !e->pub.exited || procfs_list_find(l, e->pub.pid) == NULL;
    uint32_t tty_nr = tree_tty_nr(e);

    for (size_t i = 0; i < l->count; i++) {
        struct proc *p = &l->procs[i];

        if (p->mark == TREE_STRAY && tree_owns_stray(k, e, p, ids_are_ours, tty_nr))
            p->mark = TREE_MEMBER;
    }
}

static void tree_mark_cgroup(const struct keeper *k, const struct cgroup_slot *slot,
                             struct proc_list *l)
{
    size_t count;
    pid_t *pids = cgroup_members(&k->cgroup, slot, &count);

    for (size_t i = 0; i < count; i++) {
        struct proc *p = procfs_list_find(l, pids[i]);

        if (p != NULL && p->mark != TREE_OTHER)
            p->mark = TREE_MEMBER;
    }
    free(pids);
}

/* Children of members are members, at any depth. */
static void tree_mark_closure(struct proc_list *l)
{
    bool changed = true;

    while (changed) {
        changed = false;
        for (size_t i = 0; i < l->count; i++) {
            struct proc *p = &l->procs[i];
            const struct proc *parent;

            if (p->mark != TREE_STRAY && p->mark != TREE_OUTSIDE)
                continue;
            parent = procfs_list_find(l, p->ppid);
            if (parent == NULL || parent->mark != TREE_MEMBER)
                continue;
            p->mark = TREE_MEMBER;
            changed = true;
        }
    }
}

int tree_find(struct keeper *k, const struct entry *e, struct proc_list **out)
{
    struct proc_list *l;
    int rc = census_get(k, &l);

    if (rc < 0)
        return rc;
    tree_mark_descent(k, e, l);
    tree_mark_strays(k, e, l);
    if (e->slot != NULL)
        tree_mark_cgroup(k, e->slot, l);
    tree_mark_closure(l);
    *out = l;
    return 0;
}

bool tree_is_living_member(const struct proc *p)
{
    return p->mark == TREE_MEMBER && p->state != 'Z' && p->state != 'X';
}

/* --- signalling ----------------------------------------------------------- */

static int tree_kill(pid_t pid, int signum, uint32_t *count)
{
    if (kill(pid, signum) < 0)
        return -errno;
    (*count)++;
    return 0;
}

/* If a reaped leader's pid is in use, the number was reused. */
int tree_signal_group_blind(const struct entry *e, int signum, uint32_t *count)
{
    if (e->pub.exited && (kill(e->pub.pid, 0) == 0 || errno != ESRCH))
        return -ESRCH;
    return tree_kill(-e->pub.pid, signum, count);
}

static int tree_signal_group(struct keeper *k, struct entry *e, int signum, uint32_t *count)
{
    struct proc_list *l;
    int rc = -ESRCH;

    if (!e->pub.exited)
        return tree_kill(-e->pub.pid, signum, count);
    if (tree_find(k, e, &l) < 0)
        return tree_signal_group_blind(e, signum, count);
    for (size_t i = 0; i < l->count && rc == -ESRCH; i++) {
        if (tree_is_living_member(&l->procs[i]) && l->procs[i].pgrp == e->pub.pid)
            rc = tree_kill(-e->pub.pid, signum, count);
    }
    return rc;
}

static int tree_signal_foreground(struct keeper *k, struct entry *e, int signum, uint32_t *count)
{
    pid_t group = 0;

    if (e->pub.tty_fd >= 0 && ioctl(e->pub.tty_fd, TIOCGPGRP, &group) == 0 && group > 1 &&
        tree_kill(-group, signum, count) == 0)
        return 0;
    return tree_signal_group(k, e, signum, count);
}

/* An orphan counts by its oldest remaining ancestor. */
bool tree_is_recent(const struct entry *e, const struct proc_list *l, const struct proc *p,
                    uint64_t since_ticks)
{
    if (p->pid == e->pub.pid)
        return false;
    while (p->ppid != e->pub.pid) {
        const struct proc *parent = procfs_list_find(l, p->ppid);

        if (parent == NULL || parent->mark != TREE_MEMBER)
            break;
        p = parent;
    }
    return p->start_ticks >= since_ticks;
}

int tree_signal(struct keeper *k, struct entry *e, const struct k_signal *m, uint32_t *count)
{
    *count = 0;
    switch ((enum k_target)m->target) {
    case K_LEADER: return e->pub.exited ? -ESRCH : tree_kill(e->pub.pid, m->signum, count);
    case K_GROUP: return tree_signal_group(k, e, m->signum, count);
    case K_FOREGROUND: return tree_signal_foreground(k, e, m->signum, count);
    case K_TREE:
    case K_RECENT: break; /* tree_signal.h */
    }
    return -EINVAL;
}

void tree_survey(struct keeper *k, struct entry *e, struct k_surveyed *out)
{
    struct proc_list *l;

    if (tree_find(k, e, &l) < 0) {
        uint32_t count = 0;

        if (tree_signal_group_blind(e, 0, &count) != -ESRCH) {
            out->total = out->count = 1;
            out->list[0].pid = e->pub.pid;
        }
        return;
    }
    for (size_t i = 0; i < l->count; i++) {
        const struct proc *p = &l->procs[i];

        if (!tree_is_living_member(p))
            continue;
        out->total++;
        if (out->count == K_SURVEY_MAX)
            continue;
        out->list[out->count].pid = p->pid;
        memcpy(out->list[out->count].comm, p->comm, sizeof p->comm);
        out->count++;
    }
}

bool tree_any(struct keeper *k, struct entry *e, bool (*fn)(void *arg, pid_t pid), void *arg)
{
    struct proc_list *l;
    bool found = false;

    if (tree_find(k, e, &l) < 0)
        return fn(arg, e->pub.pid);
    for (size_t i = 0; i < l->count && !found; i++)
        found = tree_is_living_member(&l->procs[i]) && fn(arg, l->procs[i].pid);
    return found;
}

/* --- all trees at once ---------------------------------------------------- */

/* As PID 1 we terminate all orphans; otherwise only those that are identifiably ours. */
static void tree_mark_every_stray(const struct keeper *k, struct proc_list *l)
{
    for (size_t i = 0; i < l->count; i++) {
        struct proc *p = &l->procs[i];

        if (p->mark != TREE_STRAY)
            continue;
        if (k->pid == 1 || k->deposit.vault_pid == 1 || table_find_pid(&k->table, p->sid) != NULL ||
            procfs_has_env(p->pid, SPAWN_MARK, "") != -1)
            p->mark = TREE_MEMBER;
    }
}

static void tree_kill_cgroups(const struct keeper *k, const struct list *slots)
{
    struct list *it, *tmp;

    for (struct entry *e = table_first(&k->table); e != NULL; e = table_next(&k->table, e)) {
        if (e->slot != NULL)
            (void)cgroup_kill(&k->cgroup, e->slot);
    }
    list_for_each (it, tmp, slots)
        (void)cgroup_kill(&k->cgroup, list_entry(it, struct cgroup_slot, link));
}

/* Without /proc: the groups of leaders that are not reaped. */
static size_t tree_signal_every_blind(struct keeper *k, int signum, struct signal_once *f)
{
    uint32_t alive = 0;

    if (f != NULL && f->begun)
        signum = 0;
    if (f != NULL)
        f->begun = true;
    for (struct entry *e = table_first(&k->table); e != NULL; e = table_next(&k->table, e)) {
        if (!e->pub.exited)
            (void)tree_kill(-e->pub.pid, signum, &alive);
    }
    return alive;
}

static void signal_once_begin(struct signal_once *f, const struct proc_list *l)
{
    if (f == NULL || f->begun)
        return;
    f->begun = true;
    for (size_t i = 0; i < l->count; i++)
        (void)signalled_add(&f->present, &l->procs[i]);
    signalled_sort(&f->present);
}

void tree_signal_once_fini(struct signal_once *once)
{
    signalled_fini(&once->present);
    signalled_fini(&once->sent);
}

size_t tree_signal_every(struct keeper *k, int signum, struct signal_once *once)
{
    struct proc_list l;
    uint32_t alive = 0;

    if (signum == SIGKILL)
        tree_kill_cgroups(k, &k->cgroup.lingering);
    if (procfs_list_read(&l) < 0) {
        procfs_list_fini(&l);
        return tree_signal_every_blind(k, signum, once);
    }
    signal_once_begin(once, &l);
    tree_mark_descent(k, NULL, &l);
    tree_mark_every_stray(k, &l);
    tree_mark_closure(&l);
    for (size_t i = 0; i < l.count; i++) {
        const struct proc *p = &l.procs[i];
        bool meant =
            once == NULL || (signalled_has(&once->present, p) && !signalled_has(&once->sent, p));

        if (!tree_is_living_member(p))
            continue;
        (void)tree_kill(p->pid, meant ? signum : 0, &alive);
        if (once != NULL && meant)
            (void)signalled_add(&once->sent, p);
    }
    if (once != NULL)
        signalled_sort(&once->sent);
    procfs_list_fini(&l);
    return alive;
}

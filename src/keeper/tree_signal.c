/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_signal.c - signals to whole trees, all requests of one turn together. Layer: keeper.
 */
#include "keeper/tree_signal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "keeper/keeper_own.h"
#include "keeper/procfs.h"
#include "keeper/signalled.h"
#include "keeper/tree.h"

#define ROUNDS_MAX 16 /* a tree that forks faster is left to the next call */

struct pending_signal {
    struct list link;
    struct k_signal m; /* refers to the entry by number: it may be forgotten in between */
    struct signalled signalled;
    uint32_t count; /* processes that received it */
    int rc;         /* error of the last failed delivery */
};

void tree_signal_init(struct keeper *k)
{
    list_init(&k->tree_signals);
}

void tree_signal_add(struct keeper *k, const struct k_signal *m)
{
    struct pending_signal *s = calloc(1, sizeof *s);

    if (s == NULL) {
        requests_report_signaled(k, m, -ENOMEM, 0);
        return;
    }
    s->m = *m;
    list_append(&k->tree_signals, &s->link);
    /* cppcheck-suppress memleak ; it is the list's now */
}

static void pending_finish(struct keeper *k, struct pending_signal *s, int rc)
{
    list_remove(&s->link);
    requests_report_signaled(k, &s->m, rc, s->count);
    signalled_fini(&s->signalled);
    free(s);
}

static void signal_one(struct pending_signal *s, const struct proc *p)
{
    if (kill(p->pid, s->m.signum) == 0)
        s->count++;
    else if (errno != ESRCH)
        s->rc = -errno;
}

/*
 * Did the signal handler of a process that received the signal earlier start it? Then it is part of
 * the shutdown: the rm of `trap 'rm …' TERM` must not be terminated by the TERM that caused it. A
 * process without a handler is about to die, so what it had just forked must receive the signal as
 * well.
 */
static bool is_started_by_handler(const struct pending_signal *s, const struct proc_list *l,
                                  const struct proc *p)
{
    const struct proc *parent = p;

    if (s->m.signum == SIGKILL)
        return false;
    for (size_t depth = 0; depth < l->count; depth++) {
        parent = procfs_list_find(l, parent->ppid);
        if (parent == NULL)
            return false;
        if (signalled_has(&s->signalled, parent))
            return procfs_catches(parent->pid, s->m.signum);
    }
    return false;
}

/* Signals members that have not received it; returns how many there were. */
static size_t signal_new_members(struct pending_signal *s, const struct entry *e,
                                 const struct proc_list *l)
{
    size_t fresh = 0;

    for (size_t i = 0; i < l->count; i++) {
        const struct proc *p = &l->procs[i];

        if (!tree_is_living_member(p) ||
            (s->m.target == K_RECENT && !tree_is_recent(e, l, p, s->m.since_ticks)) ||
            signalled_has(&s->signalled, p) || is_started_by_handler(s, l, p))
            continue;
        (void)signalled_add(&s->signalled, p);
        signal_one(s, p);
        fresh++;
    }
    signalled_sort(&s->signalled);
    return fresh;
}

/* Without /proc: signals the group, unless only a part of the tree was requested. */
static int signal_blind(struct pending_signal *s, const struct entry *e)
{
    if (s->count > 0)
        return 0;
    return s->m.target == K_RECENT ? -ESRCH : tree_signal_group_blind(e, s->m.signum, &s->count);
}

/* SIGKILL also goes to the cgroup at once, which forking cannot escape. */
static void pending_round(struct keeper *k, struct pending_signal *s, bool last)
{
    struct entry *e = table_find(&k->table, s->m.entry);
    struct proc_list *l;

    if (e == NULL) {
        pending_finish(k, s, -ESRCH);
        return;
    }
    if (tree_find(k, e, &l) < 0) {
        pending_finish(k, s, signal_blind(s, e));
        return;
    }
    if (s->m.signum == SIGKILL && s->m.target == K_TREE && e->slot != NULL)
        (void)cgroup_kill(&k->cgroup, e->slot);
    if (signal_new_members(s, e, l) == 0 || last)
        pending_finish(k, s, s->count > 0 ? 0 : s->rc < 0 ? s->rc : -ESRCH);
}

void tree_signal_send(struct keeper *k)
{
    for (int round = 1; !list_is_empty(&k->tree_signals); round++) {
        struct list *it, *tmp;

        census_end(k);
        list_for_each (it, tmp, &k->tree_signals)
            pending_round(k, list_entry(it, struct pending_signal, link), round >= ROUNDS_MAX);
    }
}

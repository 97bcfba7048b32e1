/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_signal.c - signals to whole trees, all that were asked for in one turn. Layer: keeper.
 */
#include "keeper/tree_signal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "keeper/keeper_own.h"
#include "keeper/procfs.h"
#include "keeper/signalled.h"
#include "keeper/tree.h"

#define ROUNDS_MAX 16 /* a tree that forks faster than that is left to the next call */

struct shot {
    struct list link;
    struct k_signal m; /* the entry by its number: it may be forgotten before it is its turn */
    struct signalled hits;
    uint32_t count; /* who got it */
    int rc;         /* of the last that did not */
};

void tree_signal_init(struct keeper *k)
{
    list_init(&k->volley);
}

void tree_signal_add(struct keeper *k, const struct k_signal *m)
{
    struct shot *s = calloc(1, sizeof *s);

    if (s == NULL) {
        requests_tell_signaled(k, m, -ENOMEM, 0);
        return;
    }
    s->m = *m;
    list_append(&k->volley, &s->link);
    /* cppcheck-suppress memleak ; it is the list's now */
}

static void shot_end(struct keeper *k, struct shot *s, int rc)
{
    list_remove(&s->link);
    requests_tell_signaled(k, &s->m, rc, s->count);
    signalled_fini(&s->hits);
    free(s);
}

static void shot_at(struct shot *s, const struct proc *p)
{
    if (kill(p->pid, s->m.signum) == 0)
        s->count++;
    else if (errno != ESRCH)
        s->rc = -errno;
}

/*
 * Was it started by the handler of somebody who had the signal at an earlier look? Then it is part
 * of the answer: the rm of `trap 'rm …' TERM` must not be ended by the TERM that it obeys. Who has
 * no handler is on its way out, and what it had just forked is meant as well.
 */
static bool is_answer(const struct shot *s, const struct proc_list *l, const struct proc *p)
{
    const struct proc *parent = p;

    if (s->m.signum == SIGKILL)
        return false;
    for (size_t depth = 0; depth < l->count; depth++) {
        parent = procfs_list_find(l, parent->ppid);
        if (parent == NULL)
            return false;
        if (signalled_has(&s->hits, parent))
            return procfs_catches(parent->pid, s->m.signum);
    }
    return false;
}

/* To those who have not had it; returns how many there were. */
static size_t shot_at_new(struct shot *s, const struct entry *e, const struct proc_list *l)
{
    size_t fresh = 0;

    for (size_t i = 0; i < l->count; i++) {
        const struct proc *p = &l->procs[i];

        if (!tree_is_living_member(p) ||
            (s->m.target == K_RECENT && !tree_is_recent(e, l, p, s->m.since_ticks)) ||
            signalled_has(&s->hits, p) || is_answer(s, l, p))
            continue;
        (void)signalled_add(&s->hits, p);
        shot_at(s, p);
        fresh++;
    }
    signalled_sort(&s->hits);
    return fresh;
}

/* What can be done without /proc: the group, unless only a part of the tree was meant. */
static int shot_blind(struct shot *s, const struct entry *e)
{
    if (s->count > 0)
        return 0;
    return s->m.target == K_RECENT ? -ESRCH : tree_signal_group_blind(e, s->m.signum, &s->count);
}

/* SIGKILL goes to the cgroup at once, which forking cannot escape. */
static void shot_round(struct keeper *k, struct shot *s, bool last)
{
    struct entry *e = table_find(&k->table, s->m.entry);
    struct proc_list *l;

    if (e == NULL) {
        shot_end(k, s, -ESRCH);
        return;
    }
    if (tree_find(k, e, &l) < 0) {
        shot_end(k, s, shot_blind(s, e));
        return;
    }
    if (s->m.signum == SIGKILL && s->m.target == K_TREE && e->slot != NULL)
        (void)cgroup_kill(&k->cgroup, e->slot);
    if (shot_at_new(s, e, l) == 0 || last)
        shot_end(k, s, s->count > 0 ? 0 : s->rc < 0 ? s->rc : -ESRCH);
}

void tree_signal_fire(struct keeper *k)
{
    for (int round = 1; !list_is_empty(&k->volley); round++) {
        struct list *it, *tmp;

        census_end(k);
        list_for_each (it, tmp, &k->volley)
            shot_round(k, list_entry(it, struct shot, link), round >= ROUNDS_MAX);
    }
}

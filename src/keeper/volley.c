/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volley.c - signals to whole trees, all that were asked for in one turn. Layer: keeper.
 */
#include "keeper/volley.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "keeper/core.h"
#include "keeper/tree.h"

#define ROUNDS_MAX 16 /* a tree that forks faster than that is left to the next call */

/* A process that has had its signal; the pid alone may be somebody else's by now. */
struct hit {
    pid_t pid;
    uint64_t start_ticks;
};

struct shot {
    struct list link;
    struct k_signal m; /* the entry by its number: it may be forgotten before it is its turn */
    struct hit *hits;  /* by pid, but for those of this round at the end */
    size_t hit_count;
    size_t hits_sorted;
    uint32_t count; /* who got it */
    int rc;         /* of the last that did not */
};

void volley_init(struct keeper *k)
{
    list_init(&k->volley);
}

void volley_add(struct keeper *k, const struct k_signal *m)
{
    struct shot *s = calloc(1, sizeof *s);

    if (s == NULL) {
        requests_tell_signaled(k, m, -ENOMEM, 0);
        return;
    }
    s->m = *m;
    list_append(&k->volley, &s->link);
}

static void shot_end(struct keeper *k, struct shot *s, int rc)
{
    list_remove(&s->link);
    requests_tell_signaled(k, &s->m, rc, s->count);
    free(s->hits);
    free(s);
}

static int hit_compare(const void *a, const void *b)
{
    pid_t pa = ((const struct hit *)a)->pid, pb = ((const struct hit *)b)->pid;

    return (pa > pb) - (pa < pb);
}

/* Whoever is new is noted as well. Without memory to note it, it may be hit again. */
static bool shot_is_new(struct shot *s, const struct proc *p)
{
    struct hit key = {p->pid, p->start_ticks}, *old = NULL;

    if (s->hits_sorted > 0)
        old = bsearch(&key, s->hits, s->hits_sorted, sizeof key, hit_compare);
    if (old != NULL && old->start_ticks == p->start_ticks)
        return false;
    if (old != NULL) {
        *old = key;
        return true;
    }
    /* Powers of two from 1 on. */
    if ((s->hit_count & (s->hit_count - 1)) == 0) {
        size_t cap = s->hit_count == 0 ? 1 : s->hit_count * 2;
        struct hit *more = realloc(s->hits, cap * sizeof *more);

        if (more == NULL)
            return true;
        s->hits = more;
    }
    s->hits[s->hit_count++] = key;
    return true;
}

static void shot_at(struct shot *s, const struct proc *p)
{
    if (kill(p->pid, s->m.signum) == 0)
        s->count++;
    else if (errno != ESRCH)
        s->rc = -errno;
}

/* To those who have not had it; returns how many there were. */
static size_t shot_at_new(struct shot *s, const struct entry *e, const struct proc_list *l)
{
    size_t fresh = 0;

    for (size_t i = 0; i < l->count; i++) {
        const struct proc *p = &l->procs[i];

        if (!tree_is_living_member(p) ||
            (s->m.target == K_RECENT && !tree_is_recent(e, l, p, s->m.since_ticks)) ||
            !shot_is_new(s, p))
            continue;
        shot_at(s, p);
        fresh++;
    }
    if (s->hit_count > s->hits_sorted)
        qsort(s->hits, s->hit_count, sizeof *s->hits, hit_compare);
    s->hits_sorted = s->hit_count;
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

void volley_fire(struct keeper *k)
{
    for (int round = 1; !list_is_empty(&k->volley); round++) {
        struct list *it, *tmp;

        census_end(k);
        list_for_each (it, tmp, &k->volley)
            shot_round(k, list_entry(it, struct shot, link), round >= ROUNDS_MAX);
    }
}

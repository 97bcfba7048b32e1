/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signalled.c - who has had a signal, so that nobody gets it twice. Layer: keeper.
 */
#include "keeper/signalled.h"

#include <stdlib.h>

#include "keeper/procfs.h"

static int hit_compare(const void *a, const void *b)
{
    pid_t pa = ((const struct hit *)a)->pid, pb = ((const struct hit *)b)->pid;

    return (pa > pb) - (pa < pb);
}

static struct hit *hits_find(const struct signalled *h, const struct proc *p)
{
    struct hit key = {p->pid, 0};

    return h->sorted == 0 ? NULL : bsearch(&key, h->list, h->sorted, sizeof key, hit_compare);
}

bool signalled_has(const struct signalled *h, const struct proc *p)
{
    const struct hit *old = hits_find(h, p);

    return old != NULL && old->start_ticks == p->start_ticks;
}

bool signalled_add(struct signalled *h, const struct proc *p)
{
    struct hit *old = hits_find(h, p);

    if (signalled_has(h, p))
        return false;
    if (old != NULL) {
        old->start_ticks = p->start_ticks;
        return true;
    }
    /* Powers of two from 1 on. */
    if ((h->count & (h->count - 1)) == 0) {
        size_t cap = h->count == 0 ? 1 : h->count * 2;
        struct hit *more = realloc(h->list, cap * sizeof *more);

        if (more == NULL)
            return true;
        h->list = more;
    }
    h->list[h->count++] = (struct hit){p->pid, p->start_ticks};
    return true;
}

void signalled_sort(struct signalled *h)
{
    if (h->count > h->sorted)
        qsort(h->list, h->count, sizeof *h->list, hit_compare);
    h->sorted = h->count;
}

void signalled_fini(struct signalled *h)
{
    free(h->list);
    *h = (struct signalled){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signalled.c - the processes that have received a signal. Layer: keeper.
 */
#include "keeper/signalled.h"

#include <stdlib.h>

#include "keeper/procfs.h"

static int signalled_compare(const void *a, const void *b)
{
    pid_t pa = ((const struct signalled_proc *)a)->pid,
          pb = ((const struct signalled_proc *)b)->pid;

    return (pa > pb) - (pa < pb);
}

static struct signalled_proc *signalled_find(const struct signalled *h, const struct proc *p)
{
    struct signalled_proc key = {p->pid, 0};

    return h->sorted == 0 ? NULL : bsearch(&key, h->list, h->sorted, sizeof key, signalled_compare);
}

bool signalled_has(const struct signalled *h, const struct proc *p)
{
    const struct signalled_proc *old = signalled_find(h, p);

    return old != NULL && old->start_ticks == p->start_ticks;
}

bool signalled_add(struct signalled *h, const struct proc *p)
{
    struct signalled_proc *old = signalled_find(h, p);

    if (signalled_has(h, p))
        return false;
    if (old != NULL) {
        old->start_ticks = p->start_ticks;
        return true;
    }
    /* Powers of two from 1 on. */
    if ((h->count & (h->count - 1)) == 0) {
        size_t cap = h->count == 0 ? 1 : h->count * 2;
        struct signalled_proc *more = realloc(h->list, cap * sizeof *more);

        if (more == NULL)
            return true;
        h->list = more;
    }
    h->list[h->count++] = (struct signalled_proc){p->pid, p->start_ticks};
    return true;
}

void signalled_sort(struct signalled *h)
{
    if (h->count > h->sorted)
        qsort(h->list, h->count, sizeof *h->list, signalled_compare);
    h->sorted = h->count;
}

void signalled_fini(struct signalled *h)
{
    free(h->list);
    *h = (struct signalled){0};
}

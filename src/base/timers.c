/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timers.c - a binary heap of deadlines whose nodes know their index. Layer: base.
 */
#include "base/timers.h"

#include <stdlib.h>

#include "base/mem.h"

static bool is_before(const struct due *a, const struct due *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->order < b->order;
}

static void set_place(struct due_heap *h, size_t i, struct due *d)
{
    h->nodes[i] = d;
    d->place = i + 1;
}

/* Ancestors that are due later move down to make room for d. */
static void sift_up(struct due_heap *h, size_t i, struct due *d)
{
    while (i > 0 && is_before(d, h->nodes[(i - 1) / 2])) {
        set_place(h, i, h->nodes[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    set_place(h, i, d);
}

static void sift_down(struct due_heap *h, size_t i, struct due *d)
{
    for (;;) {
        size_t child = 2 * i + 1;

        if (child + 1 < h->count && is_before(h->nodes[child + 1], h->nodes[child]))
            child++;
        if (child >= h->count || !is_before(h->nodes[child], d))
            break;
        set_place(h, i, h->nodes[child]);
        i = child;
    }
    set_place(h, i, d);
}

void due_remove(struct due_heap *h, struct due *d)
{
    size_t i = d->place - 1;
    struct due *last;

    if (d->place == 0)
        return;
    d->place = 0;
    last = h->nodes[--h->count];
    if (last == d)
        return;
    if (i > 0 && is_before(last, h->nodes[(i - 1) / 2]))
        sift_up(h, i, last);
    else
        sift_down(h, i, last);
}

void due_put(struct due_heap *h, struct due *d, uint64_t at_ms)
{
    due_remove(h, d);
    if (h->count == h->room) {
        h->room = h->room > 0 ? h->room * 2 : 8;
        h->nodes = hf_xrealloc(h->nodes, h->room * sizeof(struct due *));
    }
    d->at_ms = at_ms;
    d->order = h->next_order++;
    sift_up(h, h->count++, d);
}

struct due *due_first(const struct due_heap *h)
{
    return h->count > 0 ? h->nodes[0] : NULL;
}

void due_heap_fini(struct due_heap *h)
{
    free(h->nodes);
    *h = (struct due_heap){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timers.h - what is due next: a heap of points in time
 *
 * The earliest is first; of those with the same time, the one that was put in first. A node
 * is embedded in whatever is to happen. Pure: the caller has the clock. Owned by struct loop. Layer: base.
 */
#ifndef HF_BASE_TIMERS_H
#define HF_BASE_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct due { /* {0}: not in a heap */
    uint64_t at_ms;
    uint64_t order;
    size_t place; /* its index, plus one; 0: not in a heap */
};

struct due_heap { /* {0}: empty */
    struct due **nodes;
    size_t count, room;
    uint64_t next_order;
};

void due_heap_fini(struct due_heap *h);
void due_put(struct due_heap *h, struct due *d, uint64_t at_ms); /* moves it if it is there */
void due_remove(struct due_heap *h, struct due *d);              /* no-op if it is not */
struct due *due_first(const struct due_heap *h);                 /* NULL: none */

#endif

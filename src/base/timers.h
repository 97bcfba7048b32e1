/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timers.h - a heap of deadlines: what is due next
 *
 * The earliest comes first; of several with the same time, the one added first. A node is embedded
 * in the object that it schedules. Pure: the caller provides the clock. Owned by struct loop.
 * Layer: base.
 */
#ifndef HF_BASE_TIMERS_H
#define HF_BASE_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct due { /* {0}: not in a heap */
    uint64_t at_ms;
    uint64_t order;
    size_t place; /* index plus one; 0: not in a heap */
};

struct due_heap { /* {0}: empty */
    struct due **nodes;
    size_t count, room;
    uint64_t next_order;
};

void due_heap_fini(struct due_heap *h);
void due_put(struct due_heap *h, struct due *d, uint64_t at_ms); /* moves it if it is in the heap */
void due_remove(struct due_heap *h, struct due *d); /* no-op if it is not in the heap */
struct due *due_first(const struct due_heap *h);    /* NULL: none */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spin.h - whether to look again before going to sleep
 *
 * Who finds its reader asleep pays for waking it, and the reader for being
 * woken; both cost more than the work that follows. Looking again for a few tens of
 * microseconds spares it. That is right only with a CPU to spare, and only while
 * it keeps finding something: this object decides, from how the last looks
 * went. Used by the loop between two turns, and for terminals and pipes in a flood. Layer: base.
 */
#ifndef HF_BASE_SPIN_H
#define HF_BASE_SPIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spin {
    bool allowed;          /* more than one CPU is ours */
    const void *who;       /* the flood we saw last */
    unsigned streak;       /* its bursts in a row */
    unsigned tries, hits;  /* looks since the last verdict */
    uint64_t off_until_ns; /* not worth it: pause */
    uint64_t pause_ns;
};

void spin_init(struct spin *s);
/* A burst of n bytes was read from `who`. */
void spin_burst(struct spin *s, const void *who, size_t n);
bool spin_in_flood(const struct spin *s, const void *who);
/* May we look again? For how long, in ns; 0: sleep. */
uint64_t spin_budget_ns(struct spin *s, const void *who, uint64_t now_ns);
/* The same where there is no flood to be seen first: is looking worth it at present? */
bool spin_is_worth(const struct spin *s, uint64_t now_ns);
void spin_result(struct spin *s, bool found, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spin.h - decides whether to poll before going to sleep
 *
 * A writer that finds its reader asleep pays for waking it, and the reader pays for being woken;
 * both cost more than the work that follows. Polling for a few tens of microseconds avoids that. It
 * is right only with a CPU to spare, and only while it keeps finding something: this object decides
 * from the results of the last polls. Used by the loop between two turns, and for terminals and
 * pipes in a flood. Layer: base.
 */
#ifndef HF_BASE_SPIN_H
#define HF_BASE_SPIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spin {
    bool allowed;          /* we may use more than one CPU */
    const void *source;    /* the source of the last flood */
    unsigned streak;       /* its consecutive bursts */
    unsigned tries, hits;  /* polls since the last verdict */
    uint64_t off_until_ns; /* not worth it: paused */
    uint64_t pause_ns;
};

void spin_init(struct spin *s);
/* A burst of n bytes was read from `source`. */
void spin_burst(struct spin *s, const void *source, size_t n);
bool spin_in_flood(const struct spin *s, const void *source);
/* For how long may we poll, in ns? 0: sleep. */
uint64_t spin_budget_ns(struct spin *s, const void *source, uint64_t now_ns);
/* The same without a flood: is polling worth it at present? */
bool spin_is_worth(const struct spin *s, uint64_t now_ns);
void spin_result(struct spin *s, bool found, uint64_t now_ns);

#endif

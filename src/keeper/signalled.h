/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signalled.h - who has had a signal, so that nobody gets it twice
 *
 * Looks follow one another, and each may find somebody whom the last did not. Layer: keeper.
 */
#ifndef HF_KEEPER_SIGNALLED_H
#define HF_KEEPER_SIGNALLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc;

struct hit {
    pid_t pid;
    uint64_t start_ticks; /* the pid may have been reused */
};

struct signalled {
    struct hit *list; /* by pid, but for those of this look at the end */
    size_t count, sorted;
};

/* Is it its first time? Noted as well; without memory for that, it may be told so again. */
bool signalled_add(struct signalled *h, const struct proc *p);
bool signalled_has(const struct signalled *h, const struct proc *p);
/* After each look. */
void signalled_sort(struct signalled *h);
void signalled_fini(struct signalled *h);

#endif

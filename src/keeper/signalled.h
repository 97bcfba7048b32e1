/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signalled.h - the processes that have received a signal, so that none receives it twice
 *
 * A tree is searched several times, and each search may find processes that the last one missed.
 * Layer: keeper.
 */
#ifndef HF_KEEPER_SIGNALLED_H
#define HF_KEEPER_SIGNALLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc;

struct signalled_proc {
    pid_t pid;
    uint64_t start_ticks; /* the pid may have been reused */
};

struct signalled {
    struct signalled_proc *list; /* by pid, except new ones at the end */
    size_t count, sorted;
};

/* Records the process. False: it was recorded before. Without memory for the record, returns
 * true again. */
bool signalled_add(struct signalled *h, const struct proc *p);
bool signalled_has(const struct signalled *h, const struct proc *p);
/* After each search. */
void signalled_sort(struct signalled *h);
void signalled_fini(struct signalled *h);

#endif

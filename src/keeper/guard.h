/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h - the keeper against its own children, cores and a kernel that is out of memory
 *
 * The keeper holds the tokens and every descriptor, and with it go all processes. So nobody of its user may
 * trace it or open its memory (it is not dumpable), it leaves no core file, and the kernel kills it last. None
 * of that is for the children: they get the limit of cores back, and are born while the keeper's score is what it was started
 * with. A worker is not spared either: its death costs nothing, another process' would. Layer: keeper.
 */
#ifndef HF_KEEPER_GUARD_H
#define HF_KEEPER_GUARD_H

#include <stdbool.h>
#include <sys/resource.h>

struct guard {
    bool dumpable;      /* as we were started: what workers are */
    struct rlimit core; /* as we were started: what children get */
    int oom_fd;         /* our score; -1: it stays as it is */
    char started[8];    /* the score with which we were started */
    const char *low;    /* the score that spares us */
    bool lifted;        /* it is `started` at the moment, for a child's sake */
};

struct keeper;

void guard_begin(struct keeper *k);
/* Before a child or worker is made: it inherits the score. */
void guard_lift(struct keeper *k);
/* Some time later, when no child shares our memory: the kernel changes the score of all that do. */
void guard_lower(struct keeper *k);
/* As we were started, for another binary; guard_begin() takes it back if there is none. */
void guard_end(struct keeper *k);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h - vault and keeper against their own children, cores and a kernel that is out of memory
 *
 * The keeper holds the tokens and every descriptor. So nobody of its user may trace it or open its
 * memory (it is not dumpable), it leaves no core file, and the kernel kills it last. The same goes
 * for the vault. None of that is for the children: they get the limit of cores back, and are born
 * while the score is what the daemon was started with. A worker is not spared either: its death
 * costs nothing, another process' would. Layer: vault.
 */
#ifndef HF_VAULT_GUARD_H
#define HF_VAULT_GUARD_H

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

void guard_begin(struct guard *g);
/* Before a child or worker is made: it inherits the score. */
void guard_lift(struct guard *g);
/* When no child shares our memory: the kernel changes the score of all that do. */
void guard_lower(struct guard *g);
/* As we were started, for another binary; guard_begin() takes it back if there is none. */
void guard_end(struct guard *g);
/* In a forked child, which inherited everything but must not have it. */
void guard_end_in_child(const struct guard *g);

#endif

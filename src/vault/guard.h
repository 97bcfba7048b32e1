/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h - protects vault and keeper from their own children, core dumps and the OOM killer
 *
 * The keeper holds the tokens and every descriptor. So no process of its user may trace it or open
 * its memory (it is not dumpable), it leaves no core file, and the OOM killer takes it last. The
 * same applies to the vault. None of that is passed on to children: they get the original core
 * limit, and are started with the daemon's original score. A worker is not protected either: its
 * death costs nothing, that of another process would. Layer: vault.
 */
#ifndef HF_VAULT_GUARD_H
#define HF_VAULT_GUARD_H

#include <stdbool.h>
#include <sys/resource.h>

struct guard {
    bool dumpable;      /* our initial setting, which workers get */
    struct rlimit core; /* our initial limit, which children get */
    int oom_fd;         /* our score file; -1: the score is left alone */
    char started[8];    /* our initial score */
    const char *low;    /* the score that protects us */
    bool lifted;        /* the score is `started` for now, for a child to inherit */
};

void guard_begin(struct guard *g);
/* Before a child or worker is created: it inherits the score. */
void guard_lift(struct guard *g);
/* When no child shares our memory: the kernel changes the score of all processes that share it. */
void guard_lower(struct guard *g);
/* Restores our initial settings, for another binary; guard_begin() reverts this if its exec
 * fails. */
void guard_end(struct guard *g);
/* In a forked child, which inherited everything and must not keep it. */
void guard_end_in_child(const struct guard *g);

#endif

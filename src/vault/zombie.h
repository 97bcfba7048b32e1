/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zombie.h - a look at a child that has died, before it is reaped
 *
 * Whoever writes down what became of a child does so while it is a zombie: if the writer dies,
 * the next one can look again. Layer: vault.
 */
#ifndef HF_VAULT_ZOMBIE_H
#define HF_VAULT_ZOMBIE_H

#include <stdint.h>
#include <sys/types.h>

struct zombie {
    pid_t pid;
    int status; /* as from waitpid(2) */
    uint64_t utime_us, stime_us, maxrss_kib;
};

/* The child `pid`, or with 0 any child. Its pid, or 0: no such child has died. */
pid_t zombie_peek(pid_t pid, struct zombie *out);
void zombie_reap(pid_t pid);

#endif

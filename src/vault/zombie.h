/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zombie.h - inspects a dead child before it is reaped
 *
 * An exit is recorded while the child is a zombie: if the recording process dies, the next one can
 * inspect the child again. Layer: vault.
 */
#ifndef HF_VAULT_ZOMBIE_H
#define HF_VAULT_ZOMBIE_H

#include <sys/types.h>

#include "base/usage.h"

struct zombie {
    pid_t pid;
    int status; /* as from waitpid(2) */
    struct usage usage;
};

/* The child `pid`, or any child if 0. Returns its pid, or 0: no such child has died. */
pid_t zombie_peek(pid_t pid, struct zombie *out);
void zombie_reap(pid_t pid);

#endif

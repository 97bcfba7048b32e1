/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine_calls.h - the system calls that each role may make, and the filter built from them
 *
 * A call that is not in the role's tables fails with EPERM, clone3(2) with ENOSYS as on a kernel
 * without it. Calls of another architecture kill the process. Layer: cli.
 */
#ifndef HF_CLI_CONFINE_CALLS_H
#define HF_CLI_CONFINE_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "cli/confine.h"

enum call_check {
    CALL_ANY,     /* with any arguments */
    CALL_ONE_OF,  /* argument `arg`, an int, is one of `values` */
    CALL_WITHOUT, /* argument `arg` has none of the bits of `values[0]` */
    CALL_OWN_PID, /* argument `arg` is our own process id */
};

#define CALL_VALUES_MAX 16
struct call_rule {
    uint32_t nr;
    uint8_t check, arg, count;
    uint32_t values[CALL_VALUES_MAX];
};

/* The i-th table of the role; NULL: there are no more. */
const struct call_rule *calls_table(enum confine_role role, size_t i, size_t *count);

/* Installs the filter for this process and its children. 0 or -errno; -ENOSYS: not supported. */
int calls_filter(enum confine_role role);

/* confine_landlock.c: the same convention. */
int landlock_restrict(const struct confine_plan *plan);

#endif

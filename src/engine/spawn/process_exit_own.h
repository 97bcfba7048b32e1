/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_exit_own.h - the part of a process from "the child was reaped" to "exited"
 *
 * Only process_exit.c touches the struct. Layer: engine.
 */
#ifndef HF_ENGINE_SPAWN_PROCESS_EXIT_OWN_H
#define HF_ENGINE_SPAWN_PROCESS_EXIT_OWN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/usage.h"

struct k_exited;
struct process;

struct process_exit {
    bool reaped;
    bool oom;
    int status;
    struct usage usage;
    int64_t reaped_wall_ms;
    uint64_t drain_until_ms, drained_next;
    struct timer *drain;
    struct list waiters;
};

void exit_init(struct process *p);
void exit_fini(struct process *p);
void exit_on_reaped(struct process *p, const struct k_exited *x);
bool exit_is_reaped(const struct process *p); /* the child has exited; output may be left */
void exit_check(struct process *p);           /* after output was read or ended */
/* The exit record was made by an earlier worker: runs everything that follows from it. */
void exit_resume(struct process *p, const struct usage *u);
void exit_run_waiters(struct process *p);
void exit_lost(struct process *p); /* the exit status cannot be obtained; we never invent one */

#endif

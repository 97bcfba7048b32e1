/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill_tree_own.h - the part of a process that tracks the termination of its tree
 *
 * Only kill_tree.c touches the struct. Layer: engine.
 */
#ifndef HF_ENGINE_SPAWN_KILL_TREE_OWN_H
#define HF_ENGINE_SPAWN_KILL_TREE_OWN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "engine/process.h"

/* How far the termination of a process has come. */
enum end_phase { END_NONE, END_TERM, END_KILL, END_DONE };

struct process_end {
    enum end_phase phase;
    bool survey_open;
    uint32_t wait_ms; /* until the next survey */
    uint64_t verify_until_ms, kill_at_ms;
    struct timer *timer;
    struct list waiters;
};

void kill_tree_init(struct process *p);
void kill_tree_free(struct process *p);
void kill_tree_on_exit(struct process *p);
bool kill_tree_is_running(const struct process *p); /* its tree is being terminated */
bool kill_tree_is_idle(const struct process *p);    /* no termination has begun, or it has ended */
/* Records what ends the process, unless something else already does. */
void kill_tree_because(struct process *p, const char *by, enum exit_kind kind);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill_deadline_own.h - the part of a process that terminates it in time
 *
 * One timer serves the next of time-out, idleness and detachment. Only kill_deadline.c touches the
 * struct. Layer: engine.
 */
#ifndef HF_ENGINE_SPAWN_KILL_DEADLINE_OWN_H
#define HF_ENGINE_SPAWN_KILL_DEADLINE_OWN_H

#include <stdint.h>

struct process;

struct process_deadline {
    struct timer *timer;
    uint64_t active_ms; /* monotonic, last input or output */
};

void kill_deadline_active(struct process *p); /* there was input or output */
void kill_deadline_arm(struct process *p);
void kill_deadline_stop(struct process *p);
void kill_deadline_fini(struct process *p);
void kill_deadline_on_detach(struct process *p);
void kill_deadline_on_attach(struct process *p);
void kill_deadline_on_crash(struct process *p);

#endif

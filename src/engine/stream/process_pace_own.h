/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_pace_own.h - the part of a process that pauses its output for slow viewers
 *
 * Only process_pace.c touches the struct. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_PROCESS_PACE_OWN_H
#define HF_ENGINE_STREAM_PROCESS_PACE_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process;

struct process_pace {
    bool paused;      /* reading waits until viewers catch up */
    uint32_t poll_ms; /* delay until the next check whether viewers received more */
    uint64_t since_ms;
    struct timer *poll;
};

bool pace_is_paused(const struct process *p);
/* How much may be read now; pumps once if that is nothing, and then pauses. */
size_t pace_room(struct process *p);
void pace_update(struct process *p); /* ends a pause if the viewers have received enough */
void pace_fini(struct process *p);

#endif

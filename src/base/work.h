/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work.h - heavy work, a little of it in each turn of the loop
 *
 * A client decides how long a search, a recording, a screen or a replay takes, so none of them may
 * run to completion in one go. Together they get WORK_TURN_US per turn; in between, the loop polls
 * its descriptors. A queued item gets at most WORK_SLICE_US at a time, once per turn, in order of
 * arrival. Work that is not queued may start at once: it gets the whole turn if the queue is empty,
 * otherwise one slice. So a short job completes in the turn in which it was requested, and a flood
 * of short jobs cannot starve the long ones.
 *
 * Pure except for the clock. Owned by struct loop, which provides the interface for everyone else
 * (loop_has_time(), loop_defer_work()). Layer: base.
 */
#ifndef HF_BASE_WORK_H
#define HF_BASE_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

struct work_queue {
    struct list items;     /* struct task, in order of arrival */
    struct list border;    /* among them while they run: items after it wait for the next turn */
    uint64_t began_ns;     /* when this turn started heavy work; 0: it has not */
    uint64_t slice_end_ns; /* of the running item; 0: none is running */
};

void work_init(struct work_queue *q);
void work_new_turn(struct work_queue *q);
/* May heavy work continue now? The first call in a turn starts the turn's time. */
bool work_has_time(struct work_queue *q, uint64_t now_ns);
/* Gives every queued item a slice, as far as the time of this turn allows. */
void work_run(struct work_queue *q);

#endif

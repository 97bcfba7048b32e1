/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work.h - heavy work, a little of it in each turn of the loop
 *
 * A client decides how long a search, a recording, a screen or a replay takes, so none of them may run
 * to its end in one go. All of them together have WORK_TURN_US in one turn; in between the loop polls
 * its descriptors. An item that waits gets at most WORK_SLICE_US at a time and once in a turn, first
 * come, first served. Work that does not wait may begin at once: it has the whole turn if nobody waits,
 * else one slice. So a short job ends in the turn in which it was asked for, and a flood of short jobs
 * cannot keep the long ones waiting for ever.
 *
 * Pure but for the clock. Owned by struct loop, which has the calls for everybody else
 * (loop_has_time(), loop_defer_work()). Layer: base.
 */
#ifndef HF_BASE_WORK_H
#define HF_BASE_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

struct work_queue {
    struct list items;  /* struct task, the one that has waited longest first */
    struct list border; /* among them while they run: what is behind it waits for the next turn */
    uint64_t began_ns;  /* when this turn did its first heavy work; 0: it did none */
    uint64_t slice_end_ns; /* of the item that runs; 0: none does */
};

void work_init(struct work_queue *q);
void work_new_turn(struct work_queue *q);
/* May heavy work go on at this moment? The first question of a turn starts its time. */
bool work_has_time(struct work_queue *q, uint64_t now_ns);
/* Gives every item that waits its slice, as far as the time of this turn goes. */
void work_run(struct work_queue *q);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work.c - heavy work, a little of it in each turn of the loop. Layer: base.
 */
#include "base/work.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/loop.h"

#define TURN_NS (WORK_TURN_US * 1000ULL)
#define SLICE_NS (WORK_SLICE_US * 1000ULL)

void work_init(struct work_queue *q)
{
    list_init(&q->items);
    list_init(&q->border);
    work_new_turn(q);
}

void work_new_turn(struct work_queue *q)
{
    q->began_ns = q->slice_end_ns = 0;
}

static uint64_t turn_end(struct work_queue *q, uint64_t now_ns)
{
    if (q->began_ns == 0)
        q->began_ns = now_ns;
    return q->began_ns + TURN_NS;
}

bool work_has_time(struct work_queue *q, uint64_t now_ns)
{
    uint64_t end = turn_end(q, now_ns);

    if (q->slice_end_ns != 0)
        return now_ns < q->slice_end_ns;
    if (!list_is_empty(&q->items))
        end = q->began_ns + SLICE_NS; /* the rest is for queued items */
    return now_ns < end;
}

static void run_item(struct work_queue *q, struct task *t, uint64_t now_ns, uint64_t end_ns)
{
    q->slice_end_ns = now_ns + SLICE_NS < end_ns ? now_ns + SLICE_NS : end_ns;
    list_remove(&t->link);
    t->queued = false;
    t->fn(t->arg); /* may free the task, queue it again or cancel others */
    q->slice_end_ns = 0;
}

/* Anything that the items queue, themselves included, lands after the border. */
void work_run(struct work_queue *q)
{
    if (list_is_empty(&q->items))
        return;
    list_append(&q->items, &q->border);
    while (q->items.next != &q->border) {
        uint64_t now_ns = clock_mono_ns(), end_ns = turn_end(q, now_ns);

        if (now_ns >= end_ns)
            break;
        run_item(q, list_entry(q->items.next, struct task, link), now_ns, end_ns);
    }
    list_remove(&q->border);
}

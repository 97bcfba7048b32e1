/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deadline.c - one time-out per connection, one timer for all of them
 *
 * Layer: transport.
 */
#include "transport/deadline.h"

#include <stddef.h>

void deadlines_init(struct deadlines *d)
{
    *d = (struct deadlines){.armed_ms = DEADLINE_NEVER};
    for (int kind = 0; kind < DEADLINE_KINDS; kind++)
        list_init(&d->queue[kind]);
}

bool deadline_set(struct deadlines *d, struct deadline *e, enum deadline_kind kind, uint64_t now_ms)
{
    deadline_clear(e);
    if (kind == DEADLINE_NONE)
        return false;
    e->kind = kind;
    e->at_ms = now_ms + d->length_ms[kind];
    list_append(&d->queue[kind], &e->link);
    if (e->at_ms >= d->armed_ms)
        return false;
    d->armed_ms = e->at_ms;
    return true;
}

void deadline_clear(struct deadline *e)
{
    if (e->kind == DEADLINE_NONE)
        return;
    list_remove(&e->link);
    e->kind = DEADLINE_NONE;
}

static struct deadline *queue_first(const struct list *queue)
{
    return list_is_empty(queue) ? NULL : list_entry(queue->next, struct deadline, link);
}

struct deadline *deadlines_pop(struct deadlines *d, uint64_t now_ms, enum deadline_kind *kind)
{
    for (int i = 0; i < DEADLINE_KINDS; i++) {
        struct deadline *e = queue_first(&d->queue[i]);

        if (e != NULL && e->at_ms <= now_ms + d->slack_ms[i]) {
            *kind = e->kind;
            deadline_clear(e);
            return e;
        }
    }
    return NULL;
}

uint64_t deadlines_next(struct deadlines *d)
{
    d->armed_ms = DEADLINE_NEVER;
    for (int i = 0; i < DEADLINE_KINDS; i++) {
        const struct deadline *e = queue_first(&d->queue[i]);

        if (e != NULL && e->at_ms < d->armed_ms)
            d->armed_ms = e->at_ms;
    }
    return d->armed_ms;
}

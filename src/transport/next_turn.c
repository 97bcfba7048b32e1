/* SPDX-License-Identifier: Apache-2.0 */
/*
 * next_turn.c - defers a connection's work to the next turn of the loop
 *
 * One packet of a peer can request more than the loop should do before it serves other peers: 128
 * requests, or megabytes that the peer reads as fast as they are sent. Such a connection does its
 * share and defers the rest. Deferred connections continue in order, each with an equal share,
 * after the events of the other connections. Not base/work.h, which divides time and may leave an
 * item for a later turn; docs/DESIGN.md, Heavy work, has the reasons. Layer: transport.
 */
#include "transport/http_server.h"

static void on_later(struct timer *t, void *arg)
{
    struct http_server *s = arg;

    (void)t;
    s->sharers = 0;
    while (!list_is_empty(&s->later)) {
        struct task *next = list_entry(s->later.next, struct task, link);

        task_cancel(next);
        loop_defer(s->loop, next);
        s->sharers++;
    }
}

void server_defer_later(struct http_server *s, struct task *t)
{
    if (t->queued)
        return;
    t->queued = true;
    list_append(&s->later, &t->link);
    if (s->later_timer == NULL)
        s->later_timer = timer_new(s->loop, on_later, s);
    if (!timer_is_active(s->later_timer))
        timer_start(s->later_timer, 0);
}

size_t server_share(const struct http_server *s, size_t whole, size_t least)
{
    size_t share = whole / (s->sharers > 0 ? s->sharers : 1);

    return share > least ? share : least;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_reply.c - replies to terminal queries while no terminal is attached
 *
 * With nobody attached the daemon acts as the terminal: it replies to programs' queries, in order.
 * Only a cursor position report needs the screen, which is then built exactly up to the query.
 * Layer: engine.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/process_own.h"
#include "engine/stream/screen_own.h"

#define PENDING_MAX 32 /* queued; further queries get no reply */

struct pending_query {
    struct query q;
    struct modes modes; /* at the time of the query */
};

struct query_replies {
    struct process *process;
    struct task task, later; /* later: when there is time for heavy work again */
    size_t count;
    struct pending_query list[PENDING_MAX];
};

static bool needs_cursor(const struct query *q)
{
    return q->kind == QUERY_CURSOR || q->kind == QUERY_CURSOR_DEC;
}

/* False: the screen has not caught up yet. */
static bool reply_to_first(struct process *p, const struct pending_query *a)
{
    struct buf text = {0};
    struct screen *s = NULL;
    int x = 0, y = 0;

    if (needs_cursor(&a->q)) {
        s = screen_use(p);
        if (!screen_advance(s, a->q.to))
            return false;
        x = s->term->now->x < s->term->cols ? s->term->now->x : s->term->cols - 1;
        y = s->term->now->y;
    }
    /* Our own input: it bypasses the lease, because no viewer typed it. */
    if (query_write_reply(&text, &a->q, &a->modes, x, y) && !input_is_closed(p))
        input_put(p, buf_data(&text), text.len);
    buf_fini(&text);
    return true;
}

static void replies_run(struct query_replies *a)
{
    struct process *p = process_ref(a->process);

    while (a->count > 0 && process_is_running(p)) {
        if (!reply_to_first(p, &a->list[0])) {
            loop_defer_work(p->engine->loop, &a->later);
            break;
        }
        a->count--;
        memmove(a->list, a->list + 1, a->count * sizeof a->list[0]);
    }
    process_unref(p);
}

static void replies_on_task(void *arg)
{
    replies_run(arg);
}

void query_reply_request(struct process *p, const struct query *q, const struct modes *m)
{
    struct query_replies *a = p->replies;

    if (q->kind == QUERY_OTHER)
        return;
    if (a == NULL) {
        a = p->replies = hf_xalloc(sizeof *a);
        a->process = p;
        a->task = (struct task){.fn = replies_on_task, .arg = a};
        a->later = a->task;
    }
    if (a->count == PENDING_MAX)
        return;
    a->list[a->count++] = (struct pending_query){*q, *m};
    loop_defer(p->engine->loop, &a->task);
}

void query_reply_free(struct process *p)
{
    if (p->replies == NULL)
        return;
    task_cancel(&p->replies->task);
    task_cancel(&p->replies->later);
    free(p->replies);
    p->replies = NULL;
}

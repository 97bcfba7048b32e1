/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With nobody attached the daemon is the terminal: it answers what programs
 * ask, in the order in which they asked. Only the cursor's place needs the
 * screen, which is then built up to the very byte that asks.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/engine_own.h"
#include "engine/stream/screen_own.h"

#define ANSWERS_MAX 32 /* waiting; a program that asks more at once gets no more */

struct answer {
    struct query q;
    struct modes modes; /* as they were */
};

struct answers {
    struct process *process;
    struct task task, later; /* later: when there is time for the screen again */
    size_t count;
    struct answer list[ANSWERS_MAX];
};

static bool needs_cursor(const struct query *q)
{
    return q->kind == QUERY_CURSOR || q->kind == QUERY_CURSOR_DEC;
}

/* False: the screen is not there yet. */
static bool answer_first(struct process *p, const struct answer *a)
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
    /* Ours, whoever holds the lease: nobody typed it. */
    if (query_answer(&text, &a->q, &a->modes, x, y) && !p->in_closed)
        input_put(p, buf_data(&text), text.len);
    buf_fini(&text);
    return true;
}

static void answers_run(struct answers *a)
{
    struct process *p = process_ref(a->process);

    while (a->count > 0 && process_is_running(p)) {
        if (!answer_first(p, &a->list[0])) {
            loop_defer_work(p->engine->loop, &a->later);
            break;
        }
        a->count--;
        memmove(a->list, a->list + 1, a->count * sizeof a->list[0]);
    }
    process_unref(p);
}

static void answers_on_task(void *arg)
{
    answers_run(arg);
}

void query_reply_request(struct process *p, const struct query *q, const struct modes *m)
{
    struct answers *a = p->answers;

    if (q->kind == QUERY_OTHER)
        return;
    if (a == NULL) {
        a = p->answers = hf_xalloc(sizeof *a);
        a->process = p;
        a->task = (struct task){.fn = answers_on_task, .arg = a};
        a->later = a->task;
    }
    if (a->count == ANSWERS_MAX)
        return;
    a->list[a->count++] = (struct answer){*q, *m};
    loop_defer(p->engine->loop, &a->task);
}

void query_reply_free(struct process *p)
{
    if (p->answers == NULL)
        return;
    task_cancel(&p->answers->task);
    task_cancel(&p->answers->later);
    free(p->answers);
    p->answers = NULL;
}

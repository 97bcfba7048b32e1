/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill_tree.c - terminates a process with its whole tree. Layer: engine.
 *
 * The sequence is TERM, a grace period, KILL, and a survey of the survivors. The keeper sends the
 * signals and takes the survey, because it has the rights and sees the whole tree; the sequence is
 * decided here.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/process_own.h"
#include "engine/spawn/keeper_channel.h"

#define SURVEY_MIN_MS 2
#define SURVEY_MAX_MS 50

struct end_waiter {
    struct list link;
    end_done_fn *done;
    void *arg;
};

bool kill_tree_is_running(const struct process *p)
{
    return p->end.phase == END_TERM || p->end.phase == END_KILL;
}

bool kill_tree_is_idle(const struct process *p)
{
    return p->end.phase == END_NONE;
}

void kill_tree_init(struct process *p)
{
    list_init(&p->end.waiters);
}

/* A deletion requested during the termination had to wait for it, so the record is dropped here. */
static void end_finish(struct process *p, const struct survivors *s)
{
    process_ref(p);
    p->end.phase = END_DONE;
    if (p->end.timer != NULL)
        timer_stop(p->end.timer);
    while (!list_is_empty(&p->end.waiters)) {
        struct end_waiter *w = list_entry(p->end.waiters.next, struct end_waiter, link);
        list_remove(&w->link);
        if (w->done != NULL)
            w->done(w->arg, p, s);
        free(w);
    }
    p->end.phase = END_NONE;
    if (p->rec.head->deleting && !process_is_running(p))
        process_forget(p);
    retention_trim(p->engine); /* it could not be trimmed until now */
    process_unref(p);
}

/* The worker exits before the termination is complete; waiters are not notified. */
void kill_tree_free(struct process *p)
{
    timer_close(p->end.timer);
    while (!list_is_empty(&p->end.waiters)) {
        struct end_waiter *w = list_entry(p->end.waiters.next, struct end_waiter, link);

        list_remove(&w->link);
        free(w);
    }
}

static void end_signal(struct process *p, int signum)
{
    process_signal(p, signum, TARGET_TREE, NULL, NULL, NULL);
}

static void end_kill(struct process *p)
{
    p->end.phase = END_KILL;
    p->end.verify_until_ms = clock_mono_ms() + KILL_VERIFY_MS;
    p->end.wait_ms = SURVEY_MIN_MS;
    end_signal(p, SIGKILL);
}

static void survey(struct process *p);

static void end_on_survey(void *arg, const void *packet, size_t len, int *fds, size_t fd_count)
{
    struct process *p = arg;
    const struct k_surveyed *m = packet;
    struct survivors s = {.total = m != NULL ? m->total : 0};
    bool late = p->end.phase == END_KILL && clock_mono_ms() >= p->end.verify_until_ms;
    uint32_t i;

    (void)len, (void)fds, (void)fd_count;
    p->end.survey_open = false;
    if (m == NULL) {
        process_unref(p);
        return;
    }
    for (i = 0; i < m->count && i < SURVIVORS_MAX; i++) {
        s.list[i].pid = m->list[i].pid;
        memcpy(s.list[i].comm, m->list[i].comm, sizeof s.list[i].comm);
        s.count++;
    }
    if (p->end.phase == END_NONE || p->end.phase == END_DONE) {
        ;
    } else if ((m->total == 0 && !process_is_running(p)) || late) {
        end_finish(p, &s);
    } else {
        if (p->end.phase == END_KILL && m->total > 0)
            end_signal(p, SIGKILL); /* for a child that was being forked */
        timer_start(p->end.timer, p->end.wait_ms);
        p->end.wait_ms = p->end.wait_ms * 2 > SURVEY_MAX_MS ? SURVEY_MAX_MS : p->end.wait_ms * 2;
    }
    process_unref(p);
}

/* No survey is needed before the exit, which is reported anyway (kill_tree_on_exit). Only after
 * SIGKILL is it worth checking which processes it missed. */
static void survey(struct process *p)
{
    struct k_simple m = {.type = K_SURVEY, .entry = p->entry};

    if (p->end.survey_open)
        return;
    if (p->end.phase == END_TERM && process_is_running(p)) {
        uint64_t now = clock_mono_ms();

        timer_start(p->end.timer, p->end.kill_at_ms > now ? p->end.kill_at_ms - now : 0);
        return;
    }
    process_ref(p);
    p->end.survey_open = keeper_channel_send(p->engine->channel, &m, sizeof m, NULL, 0, NULL, 0,
                                             end_on_survey, p) == 0;
    if (p->end.survey_open)
        return;
    timer_start(p->end.timer, SURVEY_MAX_MS); /* the channel is full: many are being terminated */
    process_unref(p);
}

static void end_on_timer(struct timer *t, void *arg)
{
    struct process *p = arg;

    (void)t;
    if (p->forgotten) {
        end_finish(p, &(struct survivors){0});
        return;
    }
    if (p->end.phase == END_TERM && clock_mono_ms() >= p->end.kill_at_ms)
        end_kill(p);
    survey(p);
}

static void end_begin(struct process *p, int64_t grace_ms)
{
    if (grace_ms < 0)
        grace_ms = p->rec.head->grace_ms;
    if (p->end.timer == NULL)
        p->end.timer = timer_new(p->engine->loop, end_on_timer, p);
    p->end.wait_ms = SURVEY_MIN_MS;
    p->end.kill_at_ms = clock_mono_ms() + (uint64_t)grace_ms;
    if (p->forgotten) { /* the keeper no longer knows it: there is nothing to survey */
        p->end.phase = END_KILL;
        timer_start(p->end.timer, 0);
        return;
    }
    if (grace_ms == 0) {
        end_kill(p);
    } else {
        p->end.phase = END_TERM;
        end_signal(p, SIGTERM);
        /* A closing terminal sends HUP: interactive shells ignore TERM. */
        if (p->rec.head->pty)
            end_signal(p, SIGHUP);
        end_signal(p, SIGCONT);
    }
    survey(p);
}

/* A shorter grace period replaces the current one; a longer one does not. */
static void end_hurry(struct process *p, int64_t grace_ms)
{
    uint64_t at = clock_mono_ms() + (uint64_t)grace_ms;

    if (p->end.phase == END_TERM && grace_ms >= 0 && at < p->end.kill_at_ms) {
        p->end.kill_at_ms = at;
        timer_start(p->end.timer, 0);
    }
}

void kill_tree_because(struct process *p, const char *by, enum exit_kind kind)
{
    struct record_head *h = p->rec.head;

    if (h->ended_by[0] != '\0' || exit_is_reaped(p))
        return;
    h->end_kind = (uint8_t)kind;
    snprintf(h->ended_by, sizeof h->ended_by, "%s", by);
}

void process_terminate(struct process *p, int64_t grace_ms, const char *by, end_done_fn *done,
                       void *arg)
{
    struct end_waiter *w = hf_xalloc(sizeof *w);

    w->done = done;
    w->arg = arg;
    list_append(&p->end.waiters, &w->link);
    kill_tree_because(p, by, EXIT_KILLED);
    if (p->end.phase == END_NONE)
        end_begin(p, grace_ms);
    else
        end_hurry(p, grace_ms);
}

/* Record the request before acting on it, so that it survives this worker. */
void process_delete(struct process *p, int64_t grace_ms, const char *by, end_done_fn *done,
                    void *arg)
{
    if (!p->rec.head->deleting)
        p->rec.head->deleting = 1;
    process_terminate(p, grace_ms, by, done, arg);
}

void process_end_cancel(struct process *p, void *arg)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &p->end.waiters) {
        struct end_waiter *w = list_entry(it, struct end_waiter, link);
        if (w->arg == arg)
            w->done = NULL;
    }
}

/* The process has exited: survey the survivors at once. */
void kill_tree_on_exit(struct process *p)
{
    if (kill_tree_is_running(p)) {
        p->end.wait_ms = SURVEY_MIN_MS;
        survey(p);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill_tree.c - terminates a process with its whole tree. Layer: engine.
 *
 * The sequence is TERM, a grace period, KILL, and a survey of the survivors. The deadlines that
 * trigger it are here too: time-out, idleness, no viewer attached. The keeper sends the signals and
 * takes the survey, because it has the rights and sees the whole tree; the sequence is decided
 * here.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/engine_own.h"

#define SURVEY_MIN_MS 2
#define SURVEY_MAX_MS 50
#define RECONNECT_MS 10000 /* time for viewers to reconnect after their worker died */

struct end_waiter {
    struct list link;
    end_done_fn *done;
    void *arg;
};

bool kill_tree_is_running(const struct process *p)
{
    return p->end_phase == END_TERM || p->end_phase == END_KILL;
}

/* A deletion requested during the termination had to wait for it, so the record is dropped here. */
static void end_finish(struct process *p, const struct survivors *s)
{
    process_ref(p);
    p->end_phase = END_DONE;
    if (p->end_timer != NULL)
        timer_stop(p->end_timer);
    while (!list_is_empty(&p->end_waiters)) {
        struct end_waiter *w = list_entry(p->end_waiters.next, struct end_waiter, link);
        list_remove(&w->link);
        if (w->done != NULL)
            w->done(w->arg, p, s);
        free(w);
    }
    p->end_phase = END_NONE;
    if (p->rec.head->deleting && !process_is_running(p))
        process_forget(p);
    retention_trim(p->engine); /* it could not be trimmed until now */
    process_unref(p);
}

/* The worker exits before the termination is complete; waiters are not notified. */
void kill_tree_free(struct process *p)
{
    timer_close(p->end_timer);
    while (!list_is_empty(&p->end_waiters)) {
        struct end_waiter *w = list_entry(p->end_waiters.next, struct end_waiter, link);

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
    p->end_phase = END_KILL;
    p->end_verify_until_ms = clock_mono_ms() + KILL_VERIFY_MS;
    p->end_wait_ms = SURVEY_MIN_MS;
    end_signal(p, SIGKILL);
}

static void survey(struct process *p);

static void end_on_survey(void *arg, const void *packet, size_t len, int *fds, size_t fd_count)
{
    struct process *p = arg;
    const struct k_surveyed *m = packet;
    struct survivors s = {.total = m != NULL ? m->total : 0};
    bool late = p->end_phase == END_KILL && clock_mono_ms() >= p->end_verify_until_ms;
    uint32_t i;

    (void)len, (void)fds, (void)fd_count;
    p->survey_open = false;
    if (m == NULL) {
        process_unref(p);
        return;
    }
    for (i = 0; i < m->count && i < SURVIVORS_MAX; i++) {
        s.list[i].pid = m->list[i].pid;
        memcpy(s.list[i].comm, m->list[i].comm, sizeof s.list[i].comm);
        s.count++;
    }
    if (p->end_phase == END_NONE || p->end_phase == END_DONE) {
        ;
    } else if ((m->total == 0 && !process_is_running(p)) || late) {
        end_finish(p, &s);
    } else {
        if (p->end_phase == END_KILL && m->total > 0)
            end_signal(p, SIGKILL); /* for a child that was being forked */
        timer_start(p->end_timer, p->end_wait_ms);
        p->end_wait_ms = p->end_wait_ms * 2 > SURVEY_MAX_MS ? SURVEY_MAX_MS : p->end_wait_ms * 2;
    }
    process_unref(p);
}

/* No survey is needed before the exit, which is reported anyway (kill_tree_on_exit). Only after
 * SIGKILL is it worth checking which processes it missed. */
static void survey(struct process *p)
{
    struct k_simple m = {.type = K_SURVEY, .entry = p->entry};

    if (p->survey_open)
        return;
    if (p->end_phase == END_TERM && process_is_running(p)) {
        uint64_t now = clock_mono_ms();

        timer_start(p->end_timer, p->end_kill_at_ms > now ? p->end_kill_at_ms - now : 0);
        return;
    }
    process_ref(p);
    p->survey_open = keeper_channel_send(p->engine->channel, &m, sizeof m, NULL, 0, NULL, 0,
                                         end_on_survey, p) == 0;
    if (p->survey_open)
        return;
    timer_start(p->end_timer, SURVEY_MAX_MS); /* the channel is full: many are being terminated */
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
    if (p->end_phase == END_TERM && clock_mono_ms() >= p->end_kill_at_ms)
        end_kill(p);
    survey(p);
}

static void end_begin(struct process *p, int64_t grace_ms)
{
    if (grace_ms < 0)
        grace_ms = p->rec.head->grace_ms;
    if (p->end_timer == NULL)
        p->end_timer = timer_new(p->engine->loop, end_on_timer, p);
    p->end_wait_ms = SURVEY_MIN_MS;
    p->end_kill_at_ms = clock_mono_ms() + (uint64_t)grace_ms;
    if (p->forgotten) { /* the keeper no longer knows it: there is nothing to survey */
        p->end_phase = END_KILL;
        timer_start(p->end_timer, 0);
        return;
    }
    if (grace_ms == 0) {
        end_kill(p);
    } else {
        p->end_phase = END_TERM;
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

    if (p->end_phase == END_TERM && grace_ms >= 0 && at < p->end_kill_at_ms) {
        p->end_kill_at_ms = at;
        timer_start(p->end_timer, 0);
    }
}

static void end_because(struct process *p, const char *by, enum exit_kind kind)
{
    struct record_head *h = p->rec.head;

    if (h->ended_by[0] != '\0' || p->reaped)
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
    list_append(&p->end_waiters, &w->link);
    end_because(p, by, EXIT_KILLED);
    if (p->end_phase == END_NONE)
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

    list_for_each (it, tmp, &p->end_waiters) {
        struct end_waiter *w = list_entry(it, struct end_waiter, link);
        if (w->arg == arg)
            w->done = NULL;
    }
}

/* The process has exited: survey the survivors at once. */
void kill_tree_on_exit(struct process *p)
{
    if (kill_tree_is_running(p)) {
        p->end_wait_ms = SURVEY_MIN_MS;
        survey(p);
    }
}

/* --- deadlines --------------------------------------------------------------------- */

static void deadline_hit(struct process *p, const char *by, enum exit_kind kind)
{
    end_because(p, by, kind);
    process_terminate(p, -1, by, NULL, NULL);
}

static uint64_t idle_at(const struct process *p)
{
    int64_t idle = p->rec.head->idle_timeout_ms;

    return idle > 0 ? p->active_ms + (uint64_t)idle : 0;
}

static void deadline_on_timer(struct timer *t, void *arg)
{
    struct process *p = arg;
    struct record_head *h = p->rec.head;
    uint64_t now = clock_mono_ms();

    (void)t;
    if (!process_is_running(p) || p->end_phase != END_NONE)
        return;
    if (h->timeout_at_ms != 0 && now >= h->timeout_at_ms)
        deadline_hit(p, "timeout", EXIT_TIMED_OUT);
    else if (h->detach_at_ms != 0 && now >= h->detach_at_ms)
        deadline_hit(p, "detach", EXIT_KILLED);
    else if (idle_at(p) != 0 && now >= idle_at(p))
        deadline_hit(p, "idle_timeout", EXIT_TIMED_OUT);
    else
        kill_deadline_arm(p);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    if (a == 0 || b == 0)
        return a | b;
    return a < b ? a : b;
}

void kill_deadline_arm(struct process *p)
{
    const struct record_head *h = p->rec.head;
    uint64_t at = sooner(sooner(h->timeout_at_ms, h->detach_at_ms), idle_at(p));
    uint64_t now = clock_mono_ms();

    if (at == 0) {
        if (p->deadline != NULL)
            timer_stop(p->deadline);
        return;
    }
    if (p->deadline == NULL)
        p->deadline = timer_new(p->engine->loop, deadline_on_timer, p);
    timer_start(p->deadline, at > now ? at - now : 0);
}

void kill_deadline_on_attach(struct process *p)
{
    p->rec.head->watched = 1;
    if (p->rec.head->detach_at_ms == 0)
        return;
    p->rec.head->detach_at_ms = 0;
    kill_deadline_arm(p);
}

/* Acts as if the last viewer had left, but with time to reconnect. */
void kill_deadline_on_crash(struct process *p)
{
    struct record_head *h = p->rec.head;
    int64_t wait = h->on_detach == DETACH_KILL_AFTER ? h->detach_ms : 0;

    if (h->on_detach == DETACH_KEEP)
        return;
    h->watched = 0;
    h->detach_at_ms = clock_mono_ms() + (uint64_t)(wait > RECONNECT_MS ? wait : RECONNECT_MS);
}

void kill_deadline_on_detach(struct process *p)
{
    struct record_head *h = p->rec.head;

    if (p->engine->retiring)
        /* no viewer left on purpose: the next worker gives them time to reconnect, as after a
         * crash */
        return;
    h->watched = 0;
    if (!process_is_running(p) || h->on_detach == DETACH_KEEP)
        return;
    if (h->on_detach == DETACH_KILL) {
        process_terminate(p, -1, "detach", NULL, NULL);
        return;
    }
    h->detach_at_ms = clock_mono_ms() + (uint64_t)h->detach_ms;
    kill_deadline_arm(p);
}

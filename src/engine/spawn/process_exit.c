/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_exit.c - from "the child was reaped" to "exited". Layer: engine.
 *
 * The exit record is made after the last byte. Everything that the child wrote is in the kernel
 * when it is reaped, so reading until nothing is left gets it all. If a grandchild still holds the
 * output open, wait a little for what it may be about to write (EXIT_QUIET_MS of silence, at most
 * EXIT_DRAIN_MAX_MS), then report the exit. The output stays open, and reading continues.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "engine/process_own.h"
#include "engine/stream/tty_activity_own.h"
#include "keeper/keeper_proto.h"

void exit_init(struct process *p)
{
    list_init(&p->exit.waiters);
}

void exit_fini(struct process *p)
{
    timer_close(p->exit.drain);
}

bool exit_is_reaped(const struct process *p)
{
    return p->exit.reaped;
}

static void fill_from_status(struct exit_record *x, const struct process *p)
{
    if (p->exit.status == K_STATUS_LOST) {
        x->kind = EXIT_LOST;
        x->code = x->exit_code = -1;
    } else if (WIFSIGNALED(p->exit.status)) {
        x->kind = EXIT_SIGNALED;
        x->signum = WTERMSIG(p->exit.status);
        x->code = -1;
        x->exit_code = 128 + x->signum;
        x->core_dumped = WCOREDUMP(p->exit.status);
    } else {
        x->kind = EXIT_EXITED;
        x->code = x->exit_code = WEXITSTATUS(p->exit.status);
    }
    if (p->exit.oom)
        x->kind = EXIT_OUT_OF_MEMORY;
}

static struct exit_record make_record(const struct process *p)
{
    const struct record_head *h = p->rec.head;
    struct exit_record x = {.offset = journal_next(&p->journal),
                            .at_wall_ms = p->exit.reaped_wall_ms};

    fill_from_status(&x, p);
    /* The termination was requested: record by whom, and that the process did not exit on its
     * own. */
    if (h->ended_by[0] != '\0') {
        snprintf(x.by, sizeof x.by, "%s", h->ended_by);
        if (x.kind != EXIT_OUT_OF_MEMORY && x.kind != EXIT_LOST)
            x.kind = h->end_kind;
    }
    return x;
}

void process_wait_exit(struct process *p, struct exit_waiter *w)
{
    list_append(&p->exit.waiters, &w->link);
    if (!process_is_running(p))
        viewers_pump_later(p);
}

void exit_waiter_cancel(struct exit_waiter *w)
{
    if (w->link.next != NULL)
        list_remove(&w->link);
}

void exit_run_waiters(struct process *p)
{
    while (!list_is_empty(&p->exit.waiters)) {
        struct exit_waiter *w = list_entry(p->exit.waiters.next, struct exit_waiter, link);
        list_remove(&w->link);
        w->fn(w->arg, p);
    }
}

const struct usage *process_usage(const struct process *p)
{
    return process_is_running(p) || !usage_is_known(&p->exit.usage) ? NULL : &p->exit.usage;
}

/* The counters outlive the worker. */
static void exit_count(struct process *p)
{
    struct shared_head *s = p->engine->state.head;
    const struct usage *u = process_usage(p);

    s->exited_total++;
    if (u == NULL)
        return;
    s->used_user_us += u->user_us;
    s->used_system_us += u->system_us;
    s->used_in_blocks += u->in_blocks;
    s->used_out_blocks += u->out_blocks;
}

/* Runs everything that follows from an exit record. */
static void exit_report(struct process *p)
{
    struct engine *e = p->engine;

    process_ref(p);
    e->running--;
    kill_deadline_stop(p);
    tty_activity_stop(p);
    if (!p->rec.head->exit_reported) {
        exit_count(p);
        events_append(&e->events, "process.exited", p, NULL);
        p->rec.head->exit_reported = 1;
    }
    input_close(p);
    input_wake(p);
    viewers_pump(p);
    exit_run_waiters(p);
    kill_tree_on_exit(p);
    if (p->rec.head->deleting)
        process_forget(p);
    else if (p->in_table && list_is_empty(&p->exited_link))
        retention_add(e, p);
    process_unref(p);
}

void exit_resume(struct process *p, const struct usage *u)
{
    p->exit.reaped = true;
    p->exit.usage = *u;
    exit_report(p);
}

static void exit_finish(struct process *p)
{
    struct record_head *h = p->rec.head;

    if (p->exit.drain != NULL)
        timer_stop(p->exit.drain);
    h->exit = make_record(p);
    atomic_store_explicit(&h->exit_set, 1, memory_order_release);
    exit_report(p);
}

/* Viewers must catch up before the child's last output can be read; they call back here when they
 * have. A grandchild's later output is not worth waiting for. */
static bool waits_for_viewers(const struct process *p)
{
    return pace_is_paused(p) && !output_is_dry(p);
}

static void drain_on_timer(struct timer *t, void *arg)
{
    struct process *p = arg;

    (void)t;
    if (!p->exit.reaped || !process_is_running(p))
        return;
    output_read_rest(p);
    if (!process_is_running(p) || waits_for_viewers(p))
        return;
    if (!output_is_dry(p) || (journal_next(&p->journal) != p->exit.drained_next &&
                              clock_mono_ms() < p->exit.drain_until_ms))
        exit_check(p);
    else
        exit_finish(p);
}

void exit_check(struct process *p)
{
    uint64_t now, left;

    if (!p->exit.reaped || !process_is_running(p))
        return;
    output_read_rest(p);
    if (!process_is_running(p))
        return;
    if (!output_is_open(p)) {
        exit_finish(p);
        return;
    }
    if (waits_for_viewers(p))
        return;
    now = clock_mono_ms();
    left = p->exit.drain_until_ms > now ? p->exit.drain_until_ms - now : 0;
    p->exit.drained_next = journal_next(&p->journal);
    if (p->exit.drain == NULL)
        p->exit.drain = timer_new(p->engine->loop, drain_on_timer, p);
    timer_start(p->exit.drain, !output_is_dry(p) ? 1 : left < EXIT_QUIET_MS ? left : EXIT_QUIET_MS);
}

void exit_on_reaped(struct process *p, const struct k_exited *x)
{
    if (p->exit.reaped)
        return;
    p->exit.reaped = true;
    p->exit.status = x->status;
    p->exit.oom = x->oom != 0;
    p->exit.usage = x->usage;
    p->exit.reaped_wall_ms = x->at_wall_ms;
    p->exit.drain_until_ms = clock_mono_ms() + EXIT_DRAIN_MAX_MS;
    process_touch(p);
    exit_check(p);
}

void exit_lost(struct process *p)
{
    struct record_head *h = p->rec.head;

    if (!process_is_running(p))
        return;
    p->exit.reaped = true;
    h->exit = (struct exit_record){.kind = EXIT_LOST,
                                   .exit_code = -1,
                                   .code = -1,
                                   .offset = journal_next(&p->journal),
                                   .at_wall_ms = clock_wall_ms()};
    atomic_store_explicit(&h->exit_set, 1, memory_order_release);
    exit_report(p);
}

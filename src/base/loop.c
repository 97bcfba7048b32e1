/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.c - the event loop, on epoll
 *
 * A turn is: timers that are due, tasks, changes of interest, sleep in epoll, watches, tasks, heavy
 * work, tasks. Tasks run before the sleep (for what timers deferred) and after the watches and the
 * work (for what these deferred), so none waits through a sleep. While there is heavy work the loop
 * does not sleep: it polls between two turns.
 *
 * watch_set() only records a change. Changes are applied once per turn, before the sleep; until
 * then events that a watch no longer wants are filtered out. A watch that is closed before that
 * (the pipes of a program that has already exited, a connection with one short request) never
 * reaches epoll. A watch that is closed while its event may be in the array of this turn is freed
 * at the end of the turn. Layer: base.
 */
#include "base/loop.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/spin.h"
#include "base/timers.h"
#include "base/work.h"

#define LOOP_SPIN_NS 100000 /* a program's reply to a key takes half of it; a sleep costs as much */
#define LOOP_STARVED_MS 100
#define LOOP_EVENTS 256 /* fetched at once; the rest follows in the next turn */

struct loop {
    struct list tasks;
    struct list idle; /* tasks that can wait */
    struct work_queue work;
    struct list changed; /* watches whose interest in epoll is outdated */
    struct list watches; /* all that are open */
    struct list closed;  /* watches to free at the end of this turn */
    struct list timers;  /* all */
    struct due_heap due;
    struct spin spin;
    uint64_t now_ms;
    uint64_t events;        /* calls of watches so far */
    uint64_t spin_until_ns; /* 0: no reply is expected */
    int fd;                 /* epoll's */
    bool stopped;
};

struct watch {
    struct list all;  /* in loop->watches or loop->closed */
    struct list link; /* in loop->changed, or alone */
    struct loop *loop;
    watch_fn *fn;
    void *arg;
    int fd;
    int want;  /* as set by the caller */
    int armed; /* in epoll; 0: not registered */
    bool closed;
};

struct timer {
    struct list all;
    struct due due;
    struct loop *loop;
    timer_fn *fn;
    void *arg;
};

/* --- lifetime -------------------------------------------------------------------- */

struct loop *loop_new(void)
{
    struct loop *l = hf_xalloc(sizeof *l);

    l->fd = epoll_create1(EPOLL_CLOEXEC);
    if (l->fd < 0) {
        free(l);
        return NULL;
    }
    list_init(&l->tasks);
    list_init(&l->idle);
    work_init(&l->work);
    list_init(&l->changed);
    list_init(&l->watches);
    list_init(&l->closed);
    list_init(&l->timers);
    spin_init(&l->spin);
    l->now_ms = clock_mono_ms();
    return l;
}

static void free_watches(struct list *all)
{
    while (!list_is_empty(all)) {
        struct watch *w = list_entry(all->next, struct watch, all);

        list_remove(&w->all);
        free(w);
    }
}

/* Frees watches and timers that their owner has not closed. */
void loop_free(struct loop *l)
{
    if (l == NULL)
        return;
    free_watches(&l->watches);
    free_watches(&l->closed);
    while (!list_is_empty(&l->timers))
        timer_close(list_entry(l->timers.next, struct timer, all));
    due_heap_fini(&l->due);
    close(l->fd);
    free(l);
}

/* --- turns ------------------------------------------------------------------------- */

static void run_tasks(struct list *tasks)
{
    while (!list_is_empty(tasks)) {
        struct task *t = list_entry(tasks->next, struct task, link);

        list_remove(&t->link);
        t->queued = false;
        t->fn(t->arg); /* may free the task */
    }
}

/* Timers that the callbacks start wait for the next turn, even if they are due at once. */
static void run_timers(struct loop *l)
{
    uint64_t end = l->due.next_order;
    struct due *d;

    while ((d = due_first(&l->due)) != NULL && d->at_ms <= l->now_ms && d->order < end) {
        struct timer *t = list_entry(d, struct timer, due);

        due_remove(&l->due, d);
        t->fn(t, t->arg); /* may close t */
    }
}

/* False: the system is out of resources for it now. Any other failure is our own mistake: a
 * regular file, or two watches of one fd. */
static bool watch_arm(struct watch *w)
{
    struct epoll_event e = {.data.ptr = w};
    int op = w->armed == 0 ? EPOLL_CTL_ADD : w->want == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;

    if (w->want == w->armed)
        return true;
    e.events = (w->want & LOOP_READ ? EPOLLIN : 0) | (w->want & LOOP_WRITE ? EPOLLOUT : 0) |
               (w->want & LOOP_LEAVE ? EPOLLRDHUP | EPOLLET : 0);
    if (epoll_ctl(w->loop->fd, op, w->fd, &e) < 0) {
        assert(errno == ENOMEM || errno == ENOSPC);
        return false;
    }
    w->armed = w->want;
    return true;
}

/* Changes that fail for lack of resources stay queued, and are retried before the next sleep. */
static void arm_changed(struct loop *l)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &l->changed) {
        struct watch *w = list_entry(it, struct watch, link);

        if (watch_arm(w))
            list_remove(&w->link);
    }
}

static void watch_on_events(struct watch *w, uint32_t events)
{
    int got = 0;

    if (w->closed)
        return;
    if (events & (EPOLLERR | EPOLLHUP))
        got = LOOP_READ | LOOP_WRITE | LOOP_LEAVE;
    if (events & EPOLLRDHUP)
        got |= LOOP_LEAVE;
    if (events & EPOLLIN)
        got |= LOOP_READ;
    if (events & EPOLLOUT)
        got |= LOOP_WRITE;
    got &= w->want;
    if ((got & LOOP_LEAVE) && (events & (EPOLLERR | EPOLLHUP)))
        got |= LOOP_CUT;
    w->loop->events++;
    if (got != 0)
        w->fn(w, got, w->arg); /* may close w */
}

static int sleep_ms(const struct loop *l)
{
    const struct due *d = due_first(&l->due);
    bool starved = !list_is_empty(&l->changed); /* all changes that could be applied have been */
    uint64_t most = starved ? LOOP_STARVED_MS : INT_MAX;

    if (l->stopped || !list_is_empty(&l->work.items) || (d != NULL && d->at_ms <= l->now_ms))
        return 0;
    if (d == NULL)
        return starved ? LOOP_STARVED_MS : -1;
    return (int)(d->at_ms - l->now_ms < most ? d->at_ms - l->now_ms : most);
}

static void loop_turn(struct loop *l, bool may_sleep)
{
    struct epoll_event got[LOOP_EVENTS];
    int n;

    l->now_ms = clock_mono_ms();
    run_timers(l);
    run_tasks(&l->tasks);
    arm_changed(l);
    n = epoll_wait(l->fd, got, LOOP_EVENTS, may_sleep ? sleep_ms(l) : 0);
    l->now_ms = clock_mono_ms();
    work_new_turn(&l->work);
    for (int i = 0; i < n; i++) /* -1: interrupted */
        watch_on_events(got[i].data.ptr, got[i].events);
    run_tasks(&l->tasks);
    work_run(&l->work);
    run_tasks(&l->tasks);
    free_watches(&l->closed);
}

void loop_expect(struct loop *l)
{
    uint64_t now = clock_mono_ns();

    if (spin_is_worth(&l->spin, now))
        l->spin_until_ns = now + LOOP_SPIN_NS;
}

/*
 * Between two turns: may the loop poll again instead of sleeping? Only while a reply is expected,
 * and only after yielding the CPU to anyone who wants it. Any event counts as the reply.
 */
static bool loop_should_spin(struct loop *l, uint64_t expected_until_ns, bool had_events)
{
    uint64_t now;

    if (l->spin_until_ns == 0)
        return false;
    /* This turn itself has set the expectation. */
    if (l->spin_until_ns != expected_until_ns)
        return true;
    now = clock_mono_ns();
    if (had_events || now >= l->spin_until_ns) {
        spin_result(&l->spin, had_events, now);
        l->spin_until_ns = 0;
        return false;
    }
    sched_yield();
    return true;
}

void loop_run(struct loop *l)
{
    bool spins = false;

    l->stopped = false;
    while (!l->stopped) {
        bool idle = !spins && !list_is_empty(&l->idle) && list_is_empty(&l->work.items);
        uint64_t before = l->events, until = l->spin_until_ns;

        if (idle)
            sched_yield();
        loop_turn(l, !spins && !idle);
        if (idle && l->events == before)
            run_tasks(&l->idle);
        spins = loop_should_spin(l, until, l->events != before);
    }
}

void loop_stop(struct loop *l)
{
    l->stopped = true;
}

uint64_t loop_now_ms(struct loop *l)
{
    return l->now_ms;
}

/* --- watches ------------------------------------------------------------------------ */

struct watch *watch_new(struct loop *l, int fd, watch_fn *fn, void *arg)
{
    struct watch *w = hf_xalloc(sizeof *w);

    list_init(&w->link);
    list_append(&l->watches, &w->all);
    w->fd = fd;
    w->loop = l;
    w->fn = fn;
    w->arg = arg;
    return w;
}

void watch_set(struct watch *w, int events)
{
    assert(!w->closed && (events == LOOP_LEAVE || (events & ~(LOOP_READ | LOOP_WRITE)) == 0));
    w->want = events;
    list_remove(&w->link);
    if (w->want != w->armed)
        list_append(&w->loop->changed, &w->link);
}

/* Its memory may still be referenced by this turn's events if epoll knows the fd. */
static void watch_release(struct watch *w)
{
    w->closed = true;
    w->want = 0;
    list_remove(&w->link);
    list_remove(&w->all);
    if (w->armed != 0)
        list_append(&w->loop->closed, &w->all);
    else
        free(w);
}

void watch_close(struct watch *w)
{
    if (w == NULL)
        return;
    assert(!w->closed);
    if (w->armed != 0)
        epoll_ctl(w->loop->fd, EPOLL_CTL_DEL, w->fd, NULL);
    watch_release(w);
}

void watch_close_with_fd(struct watch *w)
{
    assert(!w->closed);
    close(w->fd);
    watch_release(w);
}

/* --- timers ------------------------------------------------------------------------- */

struct timer *timer_new(struct loop *l, timer_fn *fn, void *arg)
{
    struct timer *t = hf_xalloc(sizeof *t);

    list_append(&l->timers, &t->all);
    t->loop = l;
    t->fn = fn;
    t->arg = arg;
    return t;
}

/* Counts from now: this turn may have started a while ago. */
void timer_start(struct timer *t, uint64_t ms)
{
    due_put(&t->loop->due, &t->due, clock_mono_ms() + ms);
}

void timer_stop(struct timer *t)
{
    due_remove(&t->loop->due, &t->due);
}

bool timer_is_active(const struct timer *t)
{
    return t->due.place != 0;
}

void timer_close(struct timer *t)
{
    if (t == NULL)
        return;
    timer_stop(t);
    list_remove(&t->all);
    free(t);
}

/* --- tasks -------------------------------------------------------------------------- */

static void defer_to(struct list *tasks, struct task *t)
{
    if (t->queued)
        return;
    t->queued = true;
    list_append(tasks, &t->link);
}

void loop_defer(struct loop *l, struct task *t)
{
    defer_to(&l->tasks, t);
}

void loop_defer_idle(struct loop *l, struct task *t)
{
    defer_to(&l->idle, t);
}

void loop_defer_work(struct loop *l, struct task *t)
{
    defer_to(&l->work.items, t);
}

bool loop_has_time(struct loop *l)
{
    return work_has_time(&l->work, clock_mono_ns());
}

bool loop_is_late(const struct loop *l)
{
    return clock_mono_ms() - l->now_ms >= TURN_LONG_MS;
}

void task_cancel(struct task *t)
{
    if (!t->queued)
        return;
    t->queued = false;
    list_remove(&t->link);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.c - the event loop: a thin skin over libuv
 *
 * A turn of uv_run() is: timers, prepare, sleep in epoll, watches, check. Tasks
 * are run in prepare (for what timers deferred) and in check (for what watches
 * deferred), so none waits through a sleep.
 *
 * A change of interest costs libuv two calls of epoll_ctl, so watch_set() only
 * notes it and the changes are made once per turn, in prepare; what a watch
 * no longer wants is filtered out until then. A watch that is closed before that
 * (the pipes of a program that has already ended) was never libuv's at all. Layer: base.
 */
#include "base/loop.h"

#include <assert.h>
#include <sched.h>
#include <stdlib.h>
#include <uv.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/spin.h"

#define LOOP_LOOK_NS                                                                               \
    100000 /* a program's answer to a key takes half of it; a sleep costs as much */

struct loop {
    uv_loop_t uv;
    uv_prepare_t prepare;
    uv_check_t check;
    struct list tasks;
    struct list idle;    /* tasks that can wait */
    struct list changed; /* watches whose libuv interest is not the wanted one */
    struct spin spin;
    uint64_t events;        /* watches that were called, ever */
    uint64_t look_until_ns; /* 0: nothing is expected */
    bool stopped;
};

struct watch {
    uv_poll_t uv;
    struct list link; /* in loop->changed, or alone */
    struct loop *loop;
    watch_fn *fn;
    void *arg;
    int fd;
    int want;   /* by our user */
    int armed;  /* in libuv */
    bool known; /* to libuv */
    bool closed;
};

struct timer {
    uv_timer_t uv;
    timer_fn *fn;
    void *arg;
};

static void watch_arm(struct watch *w);

static void run_tasks(struct list *tasks)
{
    while (!list_is_empty(tasks)) {
        struct task *t = list_entry(tasks->next, struct task, link);

        list_remove(&t->link);
        t->queued = false;
        t->fn(t->arg); /* may free the task */
    }
}

static void loop_on_prepare(uv_prepare_t *handle)
{
    struct loop *l = handle->data;

    run_tasks(&l->tasks);
    while (!list_is_empty(&l->changed)) {
        struct watch *w = list_entry(l->changed.next, struct watch, link);

        list_remove(&w->link);
        watch_arm(w);
    }
}

static void loop_on_check(uv_check_t *handle)
{
    struct loop *l = handle->data;

    run_tasks(&l->tasks);
}

struct loop *loop_new(void)
{
    struct loop *l = hf_xalloc(sizeof *l);

    if (uv_loop_init(&l->uv) < 0) {
        free(l);
        return NULL;
    }
    list_init(&l->tasks);
    list_init(&l->idle);
    list_init(&l->changed);
    spin_init(&l->spin);
    uv_prepare_init(&l->uv, &l->prepare);
    uv_check_init(&l->uv, &l->check);
    l->prepare.data = l->check.data = l;
    /* Both count as active, so uv_run() does not end by itself. */
    uv_prepare_start(&l->prepare, loop_on_prepare);
    uv_check_start(&l->check, loop_on_check);
    return l;
}

static void free_handle(uv_handle_t *handle)
{
    free(handle->data);
}

static void close_leftover(uv_handle_t *handle, void *arg)
{
    struct loop *l = arg;

    if (uv_is_closing(handle))
        return;
    if (handle == (uv_handle_t *)&l->prepare || handle == (uv_handle_t *)&l->check)
        uv_close(handle, NULL);
    else
        uv_close(handle, free_handle);
}

/* Watches and timers whose owner is gone without closing them go with the loop. */
void loop_free(struct loop *l)
{
    int rc;

    if (l == NULL)
        return;
    while (!list_is_empty(&l->changed)) {
        struct watch *w = list_entry(l->changed.next, struct watch, link);

        if (w->known)
            list_remove(&w->link); /* libuv knows it: below */
        else
            watch_close(w);
    }
    uv_walk(&l->uv, close_leftover, l);
    while (uv_run(&l->uv, UV_RUN_DEFAULT) != 0)
        ; /* the first time may only have heard of an earlier loop_stop() */
    rc = uv_loop_close(&l->uv);
    assert(rc == 0);
    (void)rc;
    free(l);
}

void loop_expect(struct loop *l)
{
    uint64_t now = clock_mono_ns();

    if (spin_is_worth(&l->spin, now))
        l->look_until_ns = now + LOOP_LOOK_NS;
}

/*
 * Between two turns: may the loop look again before it sleeps? Only while something is
 * expected, and whoever wants the CPU meanwhile goes first. Whatever comes is what was waited for.
 */
static bool loop_looks(struct loop *l, uint64_t expected_until_ns, bool had_events)
{
    uint64_t now;

    if (l->look_until_ns == 0)
        return false;
    /* The turn itself has begun the waiting. */
    if (l->look_until_ns != expected_until_ns)
        return true;
    now = clock_mono_ns();
    if (had_events || now >= l->look_until_ns) {
        spin_result(&l->spin, had_events, now);
        l->look_until_ns = 0;
        return false;
    }
    sched_yield();
    return true;
}

void loop_run(struct loop *l)
{
    bool looks = false;

    l->stopped = false;
    while (!l->stopped) {
        bool chores = !looks && !list_is_empty(&l->idle);
        uint64_t before = l->events, until = l->look_until_ns;

        if (chores)
            sched_yield();
        uv_run(&l->uv, looks || chores ? UV_RUN_NOWAIT : UV_RUN_ONCE);
        if (chores && l->events == before)
            run_tasks(&l->idle);
        looks = loop_looks(l, until, l->events != before);
    }
}

void loop_stop(struct loop *l)
{
    l->stopped = true;
    uv_stop(&l->uv);
}

uint64_t loop_now_ms(struct loop *l)
{
    return uv_now(&l->uv);
}

static void watch_on_poll(uv_poll_t *handle, int status, int events)
{
    struct watch *w = handle->data;
    int got = 0;

    if (w->closed)
        return;
    if (status < 0) {
        /* libuv has stopped watching; as long as somebody wants to, go on. */
        w->armed = 0;
        list_remove(&w->link);
        list_append(&w->loop->changed, &w->link);
        got = LOOP_READ | LOOP_WRITE;
    }
    if (events & UV_READABLE)
        got |= LOOP_READ;
    if (events & UV_WRITABLE)
        got |= LOOP_WRITE;
    got &= w->want;
    w->loop->events++;
    if (got != 0)
        w->fn(w, got, w->arg); /* may close w */
}

static void watch_arm(struct watch *w)
{
    int events = (w->want & LOOP_READ ? UV_READABLE : 0) | (w->want & LOOP_WRITE ? UV_WRITABLE : 0);
    int rc;

    if (w->want == w->armed)
        return;
    if (!w->known) {
        rc = uv_poll_init(&w->loop->uv, &w->uv, w->fd);
        assert(rc == 0); /* a regular file: our own mistake as well */
        w->known = true;
    }
    rc = events == 0 ? uv_poll_stop(&w->uv) : uv_poll_start(&w->uv, events, watch_on_poll);
    assert(rc == 0); /* two watches of one fd: our own mistake */
    (void)rc;
    w->armed = w->want;
}

struct watch *watch_new(struct loop *l, int fd, watch_fn *fn, void *arg)
{
    struct watch *w = hf_xalloc(sizeof *w);

    list_init(&w->link);
    w->fd = fd;
    w->loop = l;
    w->uv.data = w;
    w->fn = fn;
    w->arg = arg;
    return w;
}

void watch_set(struct watch *w, int events)
{
    assert(!w->closed);
    w->want = events;
    list_remove(&w->link);
    if (w->want != w->armed)
        list_append(&w->loop->changed, &w->link);
}

/* uv_close() takes the fd out of epoll at once, and what epoll has already told of it. */
void watch_close(struct watch *w)
{
    if (w == NULL)
        return;
    assert(!w->closed);
    w->closed = true;
    w->want = 0;
    list_remove(&w->link);
    if (w->known)
        uv_close((uv_handle_t *)&w->uv, free_handle);
    else
        free(w);
}

static void timer_on_fire(uv_timer_t *handle)
{
    struct timer *t = handle->data;

    t->fn(t, t->arg); /* may close t */
}

struct timer *timer_new(struct loop *l, timer_fn *fn, void *arg)
{
    struct timer *t = hf_xalloc(sizeof *t);

    uv_timer_init(&l->uv, &t->uv);
    t->uv.data = t;
    t->fn = fn;
    t->arg = arg;
    return t;
}

/* libuv counts from the start of this turn, which may be a while ago. */
void timer_start(struct timer *t, uint64_t ms)
{
    uint64_t now = clock_mono_ms(), turn = uv_now(t->uv.loop);

    uv_timer_start(&t->uv, timer_on_fire, ms + (now > turn ? now - turn : 0), 0);
}

void timer_stop(struct timer *t)
{
    uv_timer_stop(&t->uv);
}

bool timer_is_active(const struct timer *t)
{
    return uv_is_active((const uv_handle_t *)&t->uv);
}

void timer_close(struct timer *t)
{
    if (t != NULL)
        uv_close((uv_handle_t *)&t->uv, free_handle);
}

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

void task_cancel(struct task *t)
{
    if (!t->queued)
        return;
    t->queued = false;
    list_remove(&t->link);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.h - the event loop: descriptors, timers, and tasks at the end of a turn
 *
 * One loop, one thread, one process: a child process must not use it. A closed watch or timer never
 * calls back again. Layer: base.
 */
#ifndef HF_BASE_LOOP_H
#define HF_BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

struct loop;
struct watch;
struct timer;

/*
 * LOOP_LEAVE is for a socket that is not being read, and must be the only interest: the peer has
 * sent its last byte. It fires once each time it is set, since unread data would otherwise wake the
 * loop continuously. LOOP_CUT is never requested: it comes with LOOP_LEAVE on an error or when both
 * directions are closed.
 */
enum { LOOP_READ = 1, LOOP_WRITE = 2, LOOP_LEAVE = 4, LOOP_CUT = 8 };

typedef void watch_fn(struct watch *w, int events, void *arg);
typedef void timer_fn(struct timer *t, void *arg);
typedef void task_fn(void *arg);

struct loop *loop_new(void);
void loop_free(struct loop *l); /* and everything that is still open */
void loop_run(struct loop *l);  /* until loop_stop() */
void loop_stop(struct loop *l);
uint64_t loop_now_ms(struct loop *l); /* monotonic, as of this turn */
/* A reply is likely within microseconds (of a program to what was typed): poll for a moment
 * before sleeping. Sleeping and being woken would cost both sides more than that. */
void loop_expect(struct loop *l);

/*
 * A new watch has no interest, and costs nothing until it has one. An error or hang-up of the fd is
 * delivered as every interest that is set. The fd stays the caller's, must be pollable (not a
 * regular file), and must outlive the watch.
 */
struct watch *watch_new(struct loop *l, int fd, watch_fn *fn, void *arg);
void watch_set(struct watch *w, int events); /* no-op when unchanged */
void watch_close(struct watch *w);           /* NULL is fine; then close(fd) is safe */
/* Closes watch and fd with one system call, for an fd that no other process and no dup(2)
 * shares: only then does epoll forget it by itself. */
void watch_close_with_fd(struct watch *w);

struct timer *timer_new(struct loop *l, timer_fn *fn, void *arg);
void timer_start(struct timer *t, uint64_t ms); /* one-shot; restarts */
void timer_stop(struct timer *t);
bool timer_is_active(const struct timer *t);
void timer_close(struct timer *t); /* NULL is fine */

/* Runs fn once before the loop sleeps again. Tasks may add tasks, which then run in the same
 * flush. {0}-initialised; adding a task twice adds it once. */
struct task {
    struct list link;
    task_fn *fn;
    void *arg;
    bool queued;
};
void loop_defer(struct loop *l, struct task *t);
/* The same for work that no one is waiting for: runs when nothing else is left to do and other
 * processes have had the CPU. A loop that is never idle never runs it. */
void loop_defer_idle(struct loop *l, struct task *t);
/* The same for a piece of heavy work: runs in a later turn, within the time that all such work
 * shares (work.h). It runs until loop_has_time() returns false, and then defers itself again. */
void loop_defer_work(struct loop *l, struct task *t);
void task_cancel(struct task *t);

/* May heavy work continue in this turn? Reads the clock: call it after every piece of about 50
 * us. */
bool loop_has_time(struct loop *l);
/* This turn has taken so long (TURN_LONG_MS) that work should be deferred where possible. */
bool loop_is_late(const struct loop *l);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.h - the event loop: descriptors, timers, and "at the end of this turn"
 *
 * One loop, one thread, one process: no child may use it. A closed watch or timer never calls
 * back again. Layer: base.
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
 * LOOP_LEAVE is for a socket that is not read for now, and stands alone: the peer has said its last
 * byte. It comes once each time it is set, as what is unread would otherwise wake the loop for ever.
 * LOOP_CUT is never asked for: it comes with LOOP_LEAVE for an error, or an end of both directions.
 */
enum { LOOP_READ = 1, LOOP_WRITE = 2, LOOP_LEAVE = 4, LOOP_CUT = 8 };

typedef void watch_fn(struct watch *w, int events, void *arg);
typedef void timer_fn(struct timer *t, void *arg);
typedef void task_fn(void *arg);

struct loop *loop_new(void);
void loop_free(struct loop *l); /* and what nobody has closed */
void loop_run(struct loop *l);  /* until loop_stop() */
void loop_stop(struct loop *l);
uint64_t loop_now_ms(struct loop *l); /* monotonic, as of this turn */
/* An answer is likely within microseconds (a program's to what was typed): look for it for a
 * moment before sleeping. Sleeping and being woken would cost both sides more than that. */
void loop_expect(struct loop *l);

/* Born with no interest, and costs nothing until it has some. An error or hang-up of
 * the fd is delivered as every interest there is. The fd stays the caller's, must be one that
 * can be waited for (no regular file), and must outlive the watch. */
struct watch *watch_new(struct loop *l, int fd, watch_fn *fn, void *arg);
void watch_set(struct watch *w, int events); /* no-op when unchanged */
void watch_close(struct watch *w);           /* NULL is fine; then close(fd) is safe */
/* Both in one call of the system, for an fd that no other process and no dup(2) has: epoll forgets
 * it by itself then, and only then. */
void watch_close_with_fd(struct watch *w);

struct timer *timer_new(struct loop *l, timer_fn *fn, void *arg);
void timer_start(struct timer *t, uint64_t ms); /* once; restarts */
void timer_stop(struct timer *t);
bool timer_is_active(const struct timer *t);
void timer_close(struct timer *t); /* NULL is fine */

/* Runs fn once before the loop sleeps again; tasks may add tasks, which then run in
 * the same flush. {0}-initialised; adding twice is once. */
struct task {
    struct list link;
    task_fn *fn;
    void *arg;
    bool queued;
};
void loop_defer(struct loop *l, struct task *t);
/* The same for what nobody waits for: when nothing else is left to do and whoever
 * else wanted the CPU has had it. A loop that is never idle never runs it. */
void loop_defer_idle(struct loop *l, struct task *t);
/* The same for a piece of heavy work: in a later turn, under the time that all such work shares
 * (work.h). It runs until loop_has_time() says no, and then defers itself again. */
void loop_defer_work(struct loop *l, struct task *t);
void task_cancel(struct task *t);

/* May heavy work go on in this turn? Reads the clock: ask after every piece of some 50 us or more. */
bool loop_has_time(struct loop *l);
/* This turn has taken so long (TURN_LONG_MS) that what can wait for the next one should. */
bool loop_is_late(const struct loop *l);

#endif

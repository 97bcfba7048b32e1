/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_loop.c - the event loop: descriptors, timers, and "at the end of this turn"
 *
 * Order is noted in a string of letters; a run ends by loop_stop() in a task
 * or a callback.
 */
#include "base/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/io.h"
#include "test.h"

static int epoll_refusals; /* so many fds are not taken */

/* Instead of libc's. */
int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
    if (op == EPOLL_CTL_ADD && epoll_refusals > 0) {
        epoll_refusals--;
        errno = ENOSPC;
        return -1;
    }
    return (int)syscall(SYS_epoll_ctl, epfd, op, fd, event);
}

struct story {
    struct loop *loop;
    struct watch *watch, *other;
    struct timer *timer;
    struct task task;
    int pair[2], events, left;
    char told[64];
};

static void tell(struct story *s, char c)
{
    size_t len = strlen(s->told);

    if (len + 1 < sizeof s->told)
        s->told[len] = c;
}

static void story_init(struct story *s)
{
    *s = (struct story){.loop = loop_new(), .pair = {-1, -1}};
    REQUIRE(s->loop != NULL);
}

static void make_pair(int p[2])
{
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p) == 0);
}

static void story_pair(struct story *s)
{
    story_init(s);
    make_pair(s->pair);
}

static void story_end(struct story *s)
{
    io_close(&s->pair[0]);
    io_close(&s->pair[1]);
    loop_free(s->loop);
}

static void stop_on_task(void *arg)
{
    struct story *s = arg;

    tell(s, 'T');
    loop_stop(s->loop);
}

static void on_ready(struct watch *w, int events, void *arg)
{
    struct story *s = arg;

    (void)w;
    s->events = events;
    tell(s, 'w');
    s->task.fn = stop_on_task;
    s->task.arg = s;
    loop_defer(s->loop, &s->task);
}

TEST(a_watch_tells_what_is_ready)
{
    struct story s;

    story_pair(&s);
    s.watch = watch_new(s.loop, s.pair[0], on_ready, &s);
    watch_set(s.watch, LOOP_READ);
    EXPECT_INT(send(s.pair[1], "x", 1, 0), 1);
    loop_run(s.loop);
    EXPECT_INT(s.events, LOOP_READ);
    watch_set(s.watch, LOOP_READ | LOOP_WRITE);
    loop_run(s.loop);
    EXPECT_INT(s.events, LOOP_READ | LOOP_WRITE);
    watch_set(s.watch, LOOP_WRITE);
    loop_run(s.loop);
    EXPECT_INT(s.events, LOOP_WRITE);
    EXPECT_STR(s.told, "wTwTwT");
    watch_close(s.watch);
    story_end(&s);
}

static void close_on_ready(struct watch *w, int events, void *arg)
{
    struct story *s = arg;

    (void)events;
    tell(s, 'c');
    watch_close(w);
    io_close(&s->pair[0]);
    loop_stop(s->loop);
}

static void close_on_ready_and_go_on(struct watch *w, int events, void *arg)
{
    struct story *s = arg;

    (void)events;
    tell(s, 'c');
    watch_close(w);
    io_close(&s->pair[0]);
}

TEST(a_watch_may_close_itself_and_its_fd)
{
    struct story s;

    story_pair(&s);
    watch_set(watch_new(s.loop, s.pair[0], close_on_ready, &s), LOOP_READ | LOOP_WRITE);
    loop_run(s.loop);
    EXPECT_STR(s.told, "c");
    story_end(&s);
}

static void close_other(struct watch *w, int events, void *arg)
{
    struct story *s = arg;

    (void)events;
    tell(s, 'o');
    watch_close(w == s->watch ? s->other : s->watch);
    watch_set(w, 0);
    if (w == s->watch)
        s->other = NULL;
    else
        s->watch = NULL;
    s->task.fn = stop_on_task;
    s->task.arg = s;
    loop_defer(s->loop, &s->task);
}

/* Both are ready in the same turn; whoever is first closes the other. */
TEST(a_closed_watch_is_silent_even_when_its_event_was_fetched)
{
    struct story s;

    story_pair(&s);
    s.watch = watch_new(s.loop, s.pair[0], close_other, &s);
    s.other = watch_new(s.loop, s.pair[1], close_other, &s);
    watch_set(s.watch, LOOP_WRITE);
    watch_set(s.other, LOOP_WRITE);
    loop_run(s.loop);
    EXPECT_STR(s.told, "oT");
    watch_close(s.watch);
    watch_close(s.other);
    story_end(&s);
}

static void lose_interest(struct watch *w, int events, void *arg)
{
    struct story *s = arg;

    (void)w, (void)events;
    tell(s, 'l');
    watch_set(s->watch, 0);
    watch_set(s->other, 0);
    loop_stop(s->loop);
}

TEST(lost_interest_is_respected_within_the_turn)
{
    struct story s;

    story_pair(&s);
    s.watch = watch_new(s.loop, s.pair[0], lose_interest, &s);
    s.other = watch_new(s.loop, s.pair[1], lose_interest, &s);
    watch_set(s.watch, LOOP_WRITE);
    watch_set(s.other, LOOP_WRITE);
    loop_run(s.loop);
    EXPECT_STR(s.told, "l");
    watch_close(s.watch);
    watch_close(s.other);
    story_end(&s);
}

static void count_errors(struct watch *w, int events, void *arg)
{
    struct story *s = arg;

    (void)w;
    s->events = events;
    tell(s, 'e');
    if (--s->left == 0)
        loop_stop(s->loop);
}

/*
 * The reader of a pipe is gone: epoll says "error", whatever was asked.
 * The writer must hear of it, and again, until it does something about it.
 */
TEST(an_error_is_every_direction_of_interest_and_stays)
{
    struct story s;
    int p[2];

    story_init(&s);
    REQUIRE(pipe2(p, O_CLOEXEC) == 0);
    io_close(&p[0]);
    s.left = 3;
    s.watch = watch_new(s.loop, p[1], count_errors, &s);
    watch_set(s.watch, LOOP_WRITE);
    loop_run(s.loop);
    EXPECT_INT(s.events, LOOP_WRITE);
    EXPECT_STR(s.told, "eee");
    watch_close(s.watch);
    io_close(&p[1]);
    loop_free(s.loop);
}

static void on_timer(struct timer *t, void *arg)
{
    struct story *s = arg;

    EXPECT(!timer_is_active(t));
    tell(s, 't');
    s->task.fn = stop_on_task;
    s->task.arg = s;
    loop_defer(s->loop, &s->task);
}

TEST(a_hang_up_without_interest_is_no_event)
{
    struct story s;

    story_pair(&s);
    s.watch = watch_new(s.loop, s.pair[0], on_ready, &s);
    watch_set(s.watch, LOOP_READ);
    watch_set(s.watch, 0);
    io_close(&s.pair[1]);
    s.timer = timer_new(s.loop, on_timer, &s);
    timer_start(s.timer, 20);
    loop_run(s.loop);
    EXPECT_STR(s.told, "tT");
    watch_close(s.watch);
    timer_close(s.timer);
    story_end(&s);
}

static void count_leaves(struct watch *w, int events, void *arg)
{
    struct story *s = arg;

    (void)w;
    s->events = events;
    tell(s, 'l');
}

static void run_for(struct story *s, uint64_t ms)
{
    timer_start(s->timer, ms);
    loop_run(s->loop);
}

/* What is unread stays unread, so it must not wake the loop again and again. */
TEST(who_does_not_read_is_told_once_that_the_peer_leaves)
{
    struct story s;

    story_pair(&s);
    s.timer = timer_new(s.loop, on_timer, &s);
    s.watch = watch_new(s.loop, s.pair[0], count_leaves, &s);
    watch_set(s.watch, LOOP_LEAVE);
    REQUIRE(write(s.pair[1], "unread", 6) == 6);
    run_for(&s, 20);
    EXPECT_STR(s.told, "tT");
    shutdown(s.pair[1], SHUT_WR);
    run_for(&s, 20);
    EXPECT_STR(s.told, "tTltT");
    EXPECT_INT(s.events, LOOP_LEAVE);
    watch_set(s.watch, 0);
    run_for(&s, 1);
    watch_set(s.watch, LOOP_LEAVE);
    run_for(&s, 20);
    EXPECT_STR(s.told, "tTltTtTltT");
    io_close(&s.pair[1]);
    run_for(&s, 20);
    EXPECT_STR(s.told, "tTltTtTltTltT");
    EXPECT_INT(s.events, LOOP_LEAVE | LOOP_CUT);
    watch_close(s.watch);
    timer_close(s.timer);
    story_end(&s);
}

/* The system's limit of watches is shared with others of the same user: it may be reached by them. */
TEST(a_watch_for_which_there_is_no_room_waits_for_it)
{
    struct story s;

    story_pair(&s);
    s.watch = watch_new(s.loop, s.pair[0], on_ready, &s);
    watch_set(s.watch, LOOP_READ);
    REQUIRE(write(s.pair[1], "x", 1) == 1);
    epoll_refusals = 2;
    loop_run(s.loop);
    EXPECT_INT(epoll_refusals, 0);
    EXPECT_STR(s.told, "wT");
    watch_close(s.watch);
    story_end(&s);
}

/* A program that has ended before anybody waited for its output costs no call of epoll. */
TEST(a_watch_that_is_closed_before_the_loop_runs_never_was)
{
    struct story s;

    story_pair(&s);
    s.watch = watch_new(s.loop, s.pair[0], on_ready, &s);
    watch_set(s.watch, LOOP_WRITE);
    watch_close(s.watch);
    s.watch = watch_new(s.loop, s.pair[0], on_ready, &s);
    watch_close(s.watch);
    watch_close(NULL);
    timer_close(NULL);
    io_close(&s.pair[0]);
    io_close(&s.pair[1]);
    s.task = (struct task){.fn = stop_on_task, .arg = &s};
    loop_defer(s.loop, &s.task);
    loop_run(s.loop);
    EXPECT_STR(s.told, "T");
    loop_free(s.loop);
}

static void close_other_with_fd(struct watch *w, int events, void *arg)
{
    struct story *s = arg;

    (void)events;
    tell(s, 'o');
    watch_close_with_fd(w == s->watch ? s->other : s->watch);
    watch_close_with_fd(w);
    s->task = (struct task){.fn = stop_on_task, .arg = s};
    loop_defer(s->loop, &s->task);
}

/* Both are ready in the same turn, and the number of the fd is another's at once. */
TEST(a_watch_that_is_closed_with_its_fd_is_silent_and_its_number_is_free)
{
    struct story s;
    int p[2], q[2];

    story_init(&s);
    make_pair(p);
    s.watch = watch_new(s.loop, p[0], close_other_with_fd, &s);
    s.other = watch_new(s.loop, p[1], close_other_with_fd, &s);
    watch_set(s.watch, LOOP_WRITE);
    watch_set(s.other, LOOP_WRITE);
    loop_run(s.loop);
    EXPECT_STR(s.told, "oT");
    make_pair(q);
    EXPECT_INT(q[0], p[0]);
    s.watch = watch_new(s.loop, q[0], on_ready, &s);
    watch_set(s.watch, LOOP_WRITE);
    loop_run(s.loop);
    EXPECT_STR(s.told, "oTwT");
    watch_close_with_fd(s.watch);
    io_close(&q[1]);
    loop_free(s.loop);
}

static void start_again(struct timer *t, void *arg)
{
    struct story *s = arg;

    tell(s, 'a');
    if (--s->left > 0)
        timer_start(t, 0);
    else
        loop_stop(s->loop);
}

/* One that starts itself again at once must not keep everything else from its turn. */
TEST(a_timer_started_by_a_timer_waits_for_the_next_turn)
{
    struct story s;

    story_pair(&s);
    s.left = 3;
    s.timer = timer_new(s.loop, start_again, &s);
    timer_start(s.timer, 0);
    watch_set(watch_new(s.loop, s.pair[0], close_on_ready_and_go_on, &s), LOOP_WRITE);
    loop_run(s.loop);
    EXPECT_STR(s.told, "acaa");
    timer_close(s.timer);
    story_end(&s);
}

/* Whoever went without closing them must not make the loop leak. */
TEST(what_nobody_has_closed_goes_with_the_loop)
{
    struct story s;

    story_pair(&s);
    watch_set(watch_new(s.loop, s.pair[0], on_ready, &s), LOOP_WRITE);
    timer_start(timer_new(s.loop, on_timer, &s), 100000);
    timer_new(s.loop, on_timer, &s);
    loop_run(s.loop);
    watch_new(s.loop, s.pair[1], on_ready, &s);
    loop_free(s.loop);
    io_close(&s.pair[0]);
    io_close(&s.pair[1]);
}

/* What nobody waits for comes after what has happened, and still before the sleep. */
TEST(an_idle_task_runs_when_nothing_else_is_left)
{
    struct story s;
    struct task idle;

    story_pair(&s);
    idle = (struct task){.fn = stop_on_task, .arg = &s};
    loop_defer_idle(s.loop, &idle);
    loop_defer_idle(s.loop, &idle);
    watch_set(watch_new(s.loop, s.pair[0], close_on_ready_and_go_on, &s), LOOP_WRITE);
    loop_run(s.loop);
    EXPECT_STR(s.told, "cT");
    story_end(&s);
}

/* Deferred by a timer, a task must not wait through the sleep that follows. */
TEST(a_task_of_a_timer_runs_before_the_loop_sleeps)
{
    struct story s;

    story_init(&s);
    s.timer = timer_new(s.loop, on_timer, &s);
    timer_start(s.timer, 1);
    EXPECT(timer_is_active(s.timer));
    loop_run(s.loop);
    EXPECT_STR(s.told, "tT");
    timer_close(s.timer);
    loop_free(s.loop);
}

TEST(a_stopped_timer_is_silent_and_a_restarted_one_tells_once)
{
    struct story s;
    struct timer *stopped;
    uint64_t start;

    story_init(&s);
    stopped = timer_new(s.loop, on_timer, &s);
    timer_start(stopped, 1);
    timer_stop(stopped);
    s.timer = timer_new(s.loop, on_timer, &s);
    timer_start(s.timer, 1);
    timer_start(s.timer, 30);
    start = loop_now_ms(s.loop);
    loop_run(s.loop);
    EXPECT(loop_now_ms(s.loop) - start >= 29);
    EXPECT_STR(s.told, "tT");
    timer_close(stopped);
    timer_close(s.timer);
    loop_free(s.loop);
}

/* A turn that took long once made timers fire at once: they count from now. */
TEST(a_timer_counts_from_now_not_from_the_start_of_the_turn)
{
    struct story s;
    uint64_t start;

    story_init(&s);
    s.timer = timer_new(s.loop, on_timer, &s);
    start = loop_now_ms(s.loop);
    while (clock_mono_ms() < start + 60)
        ;
    timer_start(s.timer, 30);
    loop_run(s.loop);
    EXPECT(loop_now_ms(s.loop) - start >= 85);
    timer_close(s.timer);
    loop_free(s.loop);
}

struct chain {
    struct story *story;
    struct task first, second, third;
};

static void third_task(void *arg)
{
    struct chain *c = arg;

    tell(c->story, '3');
    loop_stop(c->story->loop);
}

static void second_task(void *arg)
{
    struct chain *c = arg;

    tell(c->story, '2');
    c->third = (struct task){.fn = third_task, .arg = c};
    loop_defer(c->story->loop, &c->third);
}

static void first_task(void *arg)
{
    struct chain *c = arg;

    tell(c->story, '1');
    loop_defer(c->story->loop, &c->second);
    loop_defer(c->story->loop, &c->second);
}

TEST(tasks_run_once_in_order_and_may_add_tasks)
{
    struct story s;
    struct task cancelled = {.fn = stop_on_task, .arg = &s};
    struct chain c = {.story = &s};

    story_init(&s);
    c.first = (struct task){.fn = first_task, .arg = &c};
    c.second = (struct task){.fn = second_task, .arg = &c};
    loop_defer(s.loop, &cancelled);
    loop_defer(s.loop, &c.first);
    loop_defer(s.loop, &c.first);
    task_cancel(&cancelled);
    task_cancel(&cancelled);
    loop_run(s.loop);
    EXPECT_STR(s.told, "123");
    EXPECT(!c.first.queued && !c.third.queued);
    loop_free(s.loop);
}

static void free_self(void *arg)
{
    struct task *t = arg;

    free(t);
}

TEST(a_task_may_free_itself)
{
    struct story s;
    struct task *t = calloc(1, sizeof *t);

    REQUIRE(t != NULL);
    story_init(&s);
    t->fn = free_self;
    t->arg = t;
    loop_defer(s.loop, t);
    s.task = (struct task){.fn = stop_on_task, .arg = &s};
    loop_defer(s.loop, &s.task);
    loop_run(s.loop);
    EXPECT_STR(s.told, "T");
    loop_free(s.loop);
}

static void work_on_and_on(void *arg)
{
    struct story *s = arg;

    while (loop_has_time(s->loop))
        ;
    if (s->told[0] == '\0')
        loop_defer_work(s->loop, &s->task);
}

static void stop_on_ready(struct watch *w, int events, void *arg)
{
    struct story *s = arg;

    (void)events;
    tell(s, 'w');
    watch_set(w, 0);
    loop_stop(s->loop);
}

TEST(descriptors_have_their_turn_while_there_is_work_without_end)
{
    struct story s;

    story_pair(&s);
    s.task = (struct task){.fn = work_on_and_on, .arg = &s};
    s.watch = watch_new(s.loop, s.pair[0], stop_on_ready, &s);
    loop_defer_work(s.loop, &s.task);
    watch_set(s.watch, LOOP_READ);
    EXPECT_INT(send(s.pair[1], "x", 1, 0), 1);
    loop_run(s.loop);
    EXPECT_STR(s.told, "w");
    task_cancel(&s.task);
    watch_close(s.watch);
    story_end(&s);
}

static void stop_after_work(void *arg)
{
    struct story *s = arg;

    tell(s, 'h');
    s->task = (struct task){.fn = stop_on_task, .arg = s};
    loop_defer(s->loop, &s->task);
}

TEST(work_runs_without_an_event_and_its_tasks_in_the_same_turn)
{
    struct task work = {.fn = stop_after_work};
    struct story s;

    story_init(&s);
    work.arg = &s;
    loop_defer_work(s.loop, &work);
    loop_run(s.loop);
    EXPECT_STR(s.told, "hT");
    loop_free(s.loop);
}

TEST(what_is_left_goes_with_the_loop)
{
    struct story s;

    story_pair(&s);
    watch_set(watch_new(s.loop, s.pair[0], on_ready, &s), LOOP_READ);
    timer_start(timer_new(s.loop, on_timer, &s), 100000);
    loop_free(s.loop);
    loop_free(NULL);
    EXPECT_STR(s.told, "");
    io_close(&s.pair[0]);
    io_close(&s.pair[1]);
}

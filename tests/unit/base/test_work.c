/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_work.c - heavy work, a little of it in each turn of the loop
 *
 * The clock stands still unless a test moves it, so every number here is exact.
 */
#include "base/work.h"

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/loop.h"
#include "test.h"

#define US 1000ULL

static uint64_t fake_ns = 1000000000;

/* Instead of libc's. */
int clock_gettime(clockid_t id, struct timespec *ts)
{
    (void)id;
    ts->tv_sec = (time_t)(fake_ns / 1000000000);
    ts->tv_nsec = (long)(fake_ns % 1000000000);
    return 0;
}

/* An item that would work for ever, if it were let. */
struct job {
    struct task task;
    struct work_queue *q;
    char name;
};

static char told[64];

static void tell(char c)
{
    size_t len = strlen(told);

    if (len + 1 < sizeof told)
        told[len] = c;
}

static void enqueue(struct work_queue *q, struct task *t)
{
    t->queued = true;
    list_append(&q->items, &t->link);
}

static void job_run(void *arg)
{
    struct job *j = arg;

    tell(j->name);
    while (work_has_time(j->q, clock_mono_ns()))
        fake_ns += 100 * US;
    enqueue(j->q, &j->task);
}

static void job_queue(struct job *j, struct work_queue *q, char name)
{
    *j = (struct job){.task = {.fn = job_run, .arg = j}, .q = q, .name = name};
    enqueue(q, &j->task);
}

static void one_turn(struct work_queue *q)
{
    work_new_turn(q);
    work_run(q);
}

TEST(work_that_does_not_wait_has_the_whole_turn_if_nobody_waits)
{
    struct work_queue q;
    uint64_t from = fake_ns;

    work_init(&q);
    while (work_has_time(&q, clock_mono_ns()))
        fake_ns += 100 * US;
    EXPECT_INT(fake_ns - from, WORK_TURN_US * US);
    work_new_turn(&q);
    EXPECT(work_has_time(&q, clock_mono_ns()));
}

TEST(and_one_slice_if_somebody_does)
{
    struct work_queue q;
    struct job a;
    uint64_t from = fake_ns;

    work_init(&q);
    job_queue(&a, &q, 'a');
    work_new_turn(&q);
    while (work_has_time(&q, clock_mono_ns()))
        fake_ns += 100 * US;
    EXPECT_INT(fake_ns - from, WORK_SLICE_US * US);
    work_run(&q);
    EXPECT_STR(told, "a");
}

TEST(items_take_turns_and_all_of_them_share_the_time_of_a_turn)
{
    struct work_queue q;
    struct job jobs[6];
    uint64_t from = fake_ns;

    work_init(&q);
    for (int i = 0; i < 6; i++)
        job_queue(&jobs[i], &q, (char)('a' + i));
    one_turn(&q);
    EXPECT_STR(told, "abcd");
    EXPECT_INT(fake_ns - from, WORK_TURN_US * US);
    one_turn(&q);
    EXPECT_STR(told, "abcdefab");
}

TEST(an_item_runs_once_in_a_turn)
{
    struct work_queue q;
    struct job a;

    work_init(&q);
    job_queue(&a, &q, 'a');
    one_turn(&q);
    EXPECT_STR(told, "a");
    EXPECT(!list_is_empty(&q.items));
}

static struct task victim;

static void cancel_victim(void *arg)
{
    (void)arg;
    tell('c');
    task_cancel(&victim);
}

static void free_self(void *arg)
{
    tell('f');
    free(arg);
}

TEST(an_item_may_free_itself_and_cancel_another)
{
    struct task killer = {.fn = cancel_victim};
    struct task *mortal = calloc(1, sizeof *mortal);
    struct work_queue q;

    REQUIRE(mortal != NULL);
    work_init(&q);
    *mortal = (struct task){.fn = free_self, .arg = mortal};
    victim = (struct task){.fn = free_self};
    enqueue(&q, mortal);
    enqueue(&q, &killer);
    enqueue(&q, &victim);
    one_turn(&q);
    EXPECT_STR(told, "fc");
    EXPECT(list_is_empty(&q.items) && !victim.queued);
}

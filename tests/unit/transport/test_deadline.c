/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_deadline.c - one time-out per connection, one timer for all of them
 */
#include "transport/deadline.h"

#include "test.h"

static struct deadlines new_deadlines(struct deadlines *d)
{
    deadlines_init(d);
    d->length_ms[DEADLINE_HEAD] = 10;
    d->length_ms[DEADLINE_IDLE] = 100;
    d->length_ms[DEADLINE_PING] = 50;
    d->slack_ms[DEADLINE_PING] = 5;
    return *d;
}

TEST(the_timer_is_started_only_for_what_comes_sooner)
{
    struct deadlines d;
    struct deadline a = {0}, b = {0}, c = {0};

    new_deadlines(&d);
    EXPECT(deadline_set(&d, &a, DEADLINE_IDLE, 1000));
    EXPECT_U64(d.armed_ms, 1100);
    EXPECT(!deadline_set(&d, &b, DEADLINE_IDLE, 1001));
    EXPECT(deadline_set(&d, &c, DEADLINE_HEAD, 1002));
    EXPECT_U64(d.armed_ms, 1012);
    deadline_clear(&c);
    EXPECT(!deadline_set(&d, &c, DEADLINE_HEAD, 1003)); /* early is fine, it will look again */
}

TEST(what_is_due_comes_out_in_order_and_once)
{
    struct deadlines d;
    struct deadline a = {0}, b = {0}, c = {0};
    enum deadline_kind kind;

    new_deadlines(&d);
    deadline_set(&d, &a, DEADLINE_IDLE, 0);
    deadline_set(&d, &b, DEADLINE_IDLE, 1);
    deadline_set(&d, &c, DEADLINE_HEAD, 95);
    EXPECT(deadlines_pop(&d, 99, &kind) == NULL);
    EXPECT(deadlines_pop(&d, 100, &kind) == &a);
    EXPECT_INT(kind, DEADLINE_IDLE);
    EXPECT(deadlines_pop(&d, 100, &kind) == NULL);
    EXPECT_U64(deadlines_next(&d), 101);
    EXPECT(deadlines_pop(&d, 200, &kind) == &c);
    EXPECT_INT(kind, DEADLINE_HEAD);
    EXPECT(deadlines_pop(&d, 200, &kind) == &b);
    EXPECT_U64(deadlines_next(&d), DEADLINE_NEVER);
}

TEST(a_deadline_that_is_set_again_moves_back)
{
    struct deadlines d;
    struct deadline a = {0}, b = {0};
    enum deadline_kind kind;

    new_deadlines(&d);
    deadline_set(&d, &a, DEADLINE_IDLE, 0);
    deadline_set(&d, &b, DEADLINE_IDLE, 10);
    deadline_set(&d, &a, DEADLINE_IDLE, 20);
    EXPECT(deadlines_pop(&d, 115, &kind) == &b);
    EXPECT(deadlines_pop(&d, 115, &kind) == NULL);
    deadline_set(&d, &a, DEADLINE_NONE, 20);
    EXPECT_U64(deadlines_next(&d), DEADLINE_NEVER);
    deadline_clear(&a);
}

/* Pings that are nearly due go in the same wake-up. */
TEST(slack_lets_neighbours_share_a_wake_up)
{
    struct deadlines d;
    struct deadline a = {0}, b = {0}, c = {0};
    enum deadline_kind kind;

    new_deadlines(&d);
    deadline_set(&d, &a, DEADLINE_PING, 0);
    deadline_set(&d, &b, DEADLINE_PING, 4);
    deadline_set(&d, &c, DEADLINE_PING, 6);
    EXPECT(deadlines_pop(&d, 50, &kind) == &a);
    EXPECT(deadlines_pop(&d, 50, &kind) == &b);
    EXPECT(deadlines_pop(&d, 50, &kind) == NULL);
    EXPECT_U64(deadlines_next(&d), 56);
}

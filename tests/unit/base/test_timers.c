/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_timers.c - what is due next: a heap of points in time
 */
#include "base/timers.h"

#include "test.h"

#define MANY 200

TEST(the_earliest_is_first_and_equals_keep_their_order)
{
    struct due_heap h = {0};
    struct due a = {0}, b = {0}, c = {0}, d = {0};

    EXPECT(due_first(&h) == NULL);
    due_put(&h, &a, 30);
    due_put(&h, &b, 10);
    due_put(&h, &c, 10);
    due_put(&h, &d, 20);
    EXPECT(due_first(&h) == &b);
    due_remove(&h, &b);
    EXPECT(due_first(&h) == &c);
    due_remove(&h, &c);
    EXPECT(due_first(&h) == &d);
    due_remove(&h, &d);
    EXPECT(due_first(&h) == &a);
    due_remove(&h, &a);
    EXPECT(due_first(&h) == NULL);
    due_heap_fini(&h);
}

TEST(what_is_put_again_moves_and_what_is_not_there_can_be_removed)
{
    struct due_heap h = {0};
    struct due a = {0}, b = {0};

    due_remove(&h, &a);
    due_put(&h, &a, 10);
    due_put(&h, &b, 20);
    due_put(&h, &a, 30);
    EXPECT(due_first(&h) == &b);
    due_put(&h, &a, 5);
    EXPECT(due_first(&h) == &a);
    EXPECT_U64(h.count, 2);
    due_remove(&h, &a);
    due_remove(&h, &a);
    EXPECT(due_first(&h) == &b && a.place == 0);
    due_heap_fini(&h);
}

static uint32_t next_random(uint32_t *state)
{
    return *state = *state * 1664525u + 1013904223u;
}

/* Against the slow way: look at all of them. */
static const struct due *earliest(const struct due *all)
{
    const struct due *best = NULL;

    for (int i = 0; i < MANY; i++) {
        const struct due *d = &all[i];

        if (d->place != 0 && (best == NULL || d->at_ms < best->at_ms ||
                              (d->at_ms == best->at_ms && d->order < best->order)))
            best = d;
    }
    return best;
}

TEST(any_sequence_of_puts_and_removes_keeps_the_order)
{
    static struct due all[MANY];
    struct due_heap h = {0};
    uint32_t state = 7;

    for (int i = 0; i < 20000; i++) {
        struct due *d = &all[next_random(&state) >> 8 & 127];

        if ((next_random(&state) >> 16) % 3 == 0)
            due_remove(&h, d);
        else
            due_put(&h, d, next_random(&state) >> 20);
        REQUIRE(due_first(&h) == earliest(all));
    }
    while (due_first(&h) != NULL) {
        REQUIRE(due_first(&h) == earliest(all));
        due_remove(&h, due_first(&h));
    }
    due_heap_fini(&h);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_spin.c - Looking again before sleeping: only in a flood, only while it pays.
 */
#include "base/spin.h"
#include "test.h"

static struct spin flooding(const void *who)
{
    struct spin s;
    int i;

    spin_init(&s);
    s.allowed = true;
    for (i = 0; i < 8; i++)
        spin_burst(&s, who, 4096);
    return s;
}

TEST(spin_is_off_until_there_is_a_flood)
{
    struct spin s;
    int who = 0;

    spin_init(&s);
    s.allowed = true;
    EXPECT_U64(spin_budget_ns(&s, &who, 1), 0);
    spin_burst(&s, &who, 4096);
    EXPECT_U64(spin_budget_ns(&s, &who, 1), 0);
    s = flooding(&who);
    EXPECT(spin_budget_ns(&s, &who, 1) > 0);
}

TEST(spin_ends_with_the_first_small_burst)
{
    int who = 0;
    struct spin s = flooding(&who);

    spin_burst(&s, &who, 1);
    EXPECT_U64(spin_budget_ns(&s, &who, 1), 0);
}

/* Two floods at once: looking at one would starve the other. */
TEST(spin_is_for_one_flood_at_a_time)
{
    int who = 0, other = 0;
    struct spin s = flooding(&who);

    EXPECT_U64(spin_budget_ns(&s, &other, 1), 0);
    spin_burst(&s, &other, 4096);
    EXPECT_U64(spin_budget_ns(&s, &who, 1), 0);
    EXPECT_U64(spin_budget_ns(&s, &other, 1), 0);
}

TEST(spin_is_off_on_one_cpu)
{
    int who = 0;
    struct spin s = flooding(&who);

    s.allowed = false;
    EXPECT_U64(spin_budget_ns(&s, &who, 1), 0);
}

TEST(spin_pauses_when_it_finds_nothing_and_comes_back)
{
    int who = 0, i;
    struct spin s = flooding(&who);
    uint64_t now = 1000;

    for (i = 0; i < 64; i++)
        spin_result(&s, false, now);
    EXPECT_U64(spin_budget_ns(&s, &who, now), 0);
    EXPECT(spin_budget_ns(&s, &who, now + 20000000) > 0);
}

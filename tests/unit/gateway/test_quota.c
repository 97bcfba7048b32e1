/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_quota.c - how often a client may connect, over all workers
 */
#include "test.h"

#include "base/limits.h"
#include "gateway/quota.h"

TEST(quota_counts_over_seats_and_refills)
{
    struct gateway_shared *s = shared_new();
    struct quota_limits two = {2, 0}, rate = {0, 2};
    uint32_t a, b, c;

    EXPECT(quota_take(s, 0, 's', "x", &two, 1000, &a));
    EXPECT(quota_take(s, 1, 's', "x", &two, 1000, &b));
    EXPECT(!quota_take(s, 1, 's', "x", &two, 1000, &c));
    EXPECT(quota_take(s, 1, 'p', "x", &two, 1000, &c));
    quota_give(s, 0, &a);
    EXPECT(quota_take(s, 0, 's', "x", &two, 1000, &a));
    shared_leave_seat(s, 0); /* a worker that died holds nothing */
    EXPECT(quota_take(s, 2, 's', "x", &two, 1000, &c));
    EXPECT(quota_take(s, 0, 's', "r", &rate, 1000, &a) &&
           quota_take(s, 0, 's', "r", &rate, 1000, &b));
    EXPECT(!quota_take(s, 0, 's', "r", &rate, 1400, &c));
    EXPECT(quota_take(s, 0, 's', "r", &rate, 1500, &c));
    shared_free(s);
}

/* Beyond sixteen neighbours a name once went uncounted. */
TEST(quota_counts_everybody_or_refuses)
{
    struct gateway_shared *s = shared_new();
    struct quota_limits one = {1, 0};
    size_t refused = 0;
    uint32_t slot;
    char name[16];

    for (int i = 0; i < QUOTA_SLOTS + QUOTA_SLOTS / 2; i++) {
        snprintf(name, sizeof name, "n%d", i);
        if (!quota_take(s, 0, 's', name, &one, 1000, &slot))
            refused++;
        else
            EXPECT(slot != 0);
    }
    EXPECT(refused >= QUOTA_SLOTS / 2);
    shared_free(s);
}

TEST(quota_forgets_the_idle_to_count_the_busy)
{
    struct gateway_shared *s = shared_new();
    struct quota_limits both = {1, 1};
    uint32_t slot, held;
    char name[16];

    EXPECT(quota_take(s, 0, 's', "busy", &both, 1000, &held));
    for (int i = 0; i < 3 * QUOTA_SLOTS; i++) {
        snprintf(name, sizeof name, "n%d", i);
        EXPECT(quota_take(s, 0, 's', name, &both, 1000, &slot) && slot != 0);
        quota_give(s, 0, &slot);
    }
    EXPECT(!quota_take(s, 0, 's', "busy", &both, 1000, &slot));
    shared_free(s);
}

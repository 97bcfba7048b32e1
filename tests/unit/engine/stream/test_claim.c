/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_claim.c - What has certainly arrived, and what is kept for those who were cut off.
 */
#include "engine/stream/claim.h"
#include "engine/stream/receipt.h"
#include "test.h"

#include <string.h>

#define NOW 1000

static void put(struct claim *c, uint64_t at, uint64_t until_ms, uint32_t clients)
{
    claims_add(c, &(struct claim){.at = at, .until_ms = until_ms, .clients = clients}, NOW);
}

static uint64_t hold(const struct claim *c, uint64_t now)
{
    return claims_hold(c, 0, UINT64_MAX, now);
}

TEST(a_receipt_is_never_ahead_of_what_was_confirmed)
{
    struct receipt r;

    receipt_reset(&r, 100);
    EXPECT_INT(receipt_noted(&r), 100);
    EXPECT(!receipt_confirm(&r, UINT64_MAX));
    receipt_note(&r, 50, 140);
    receipt_note(&r, 90, 180);
    EXPECT_INT(receipt_noted(&r), 180);
    EXPECT(!receipt_confirm(&r, 49));
    EXPECT_INT(r.at, 100);
    EXPECT(receipt_confirm(&r, 50));
    EXPECT_INT(r.at, 140);
    EXPECT(receipt_confirm(&r, 1000));
    EXPECT_INT(r.at, 180);
    EXPECT_INT(r.count, 0);
}

TEST(a_receipt_with_all_marks_taken_moves_in_larger_steps)
{
    struct receipt r;

    receipt_reset(&r, 0);
    for (uint64_t i = 1; i <= RECEIPT_MARKS + 5; i++)
        receipt_note(&r, i * 10, i);
    EXPECT_INT(r.count, RECEIPT_MARKS);
    EXPECT_INT(receipt_noted(&r), RECEIPT_MARKS + 5);
    EXPECT(receipt_confirm(&r, (RECEIPT_MARKS + 4) * 10));
    EXPECT_INT(r.at, RECEIPT_MARKS - 1);
    EXPECT(receipt_confirm(&r, (RECEIPT_MARKS + 5) * 10));
    EXPECT_INT(r.at, RECEIPT_MARKS + 5);
}

TEST(a_claim_holds_until_its_time_or_until_its_client_is_back)
{
    struct claim c[LIMIT_CLAIMS] = {0};

    EXPECT_INT(hold(c, NOW), UINT64_MAX);
    EXPECT_INT(claims_next_end(c, NOW), 0);
    put(c, 500, NOW + LIMIT_CLAIM_MS, 1);
    put(c, 300, NOW + 10, 1);
    EXPECT_INT(hold(c, NOW), 300);
    EXPECT_INT(claims_next_end(c, NOW), NOW + 10);
    EXPECT_INT(hold(c, NOW + 10), 500);
    EXPECT(claims_take(c, 600, NOW + 10));
    EXPECT_INT(hold(c, NOW + 10), UINT64_MAX);
    EXPECT(!claims_take(c, 600, NOW + 10));
}

TEST(what_is_overwritten_is_not_waited_for)
{
    struct claim c[LIMIT_CLAIMS] = {0};

    put(c, 100, NOW + 10, 1);
    put(c, 900, NOW + 10, 1);
    EXPECT_INT(claims_hold(c, 101, 2000, NOW), 900);
    EXPECT_INT(claims_hold(c, 101, 800, NOW), 800);
}

TEST(who_comes_back_ends_the_claim_that_fits_best)
{
    struct claim c[LIMIT_CLAIMS] = {0};

    put(c, 100, NOW + 10, 1);
    put(c, 300, NOW + 10, 1);
    put(c, 200, NOW + 10, 1);
    EXPECT(claims_take(c, 250, NOW));
    EXPECT_INT(c[2].clients, 0);
    EXPECT(claims_take(c, 50, NOW)); /* had less than was thought */
    EXPECT_INT(c[0].clients, 0);
    EXPECT_INT(hold(c, NOW), 300);
}

TEST(a_worker_that_died_had_several_clients)
{
    struct claim c[LIMIT_CLAIMS] = {0};

    put(c, 100, NOW + 10, 2);
    EXPECT(claims_take(c, 150, NOW));
    EXPECT_INT(hold(c, NOW), 100);
    EXPECT(claims_take(c, 120, NOW));
    EXPECT_INT(hold(c, NOW), UINT64_MAX);
}

TEST(whoever_comes_ends_what_waits_for_anybody)
{
    struct claim c[LIMIT_CLAIMS] = {0};

    claims_add(c, &(struct claim){.at = 0, .until_ms = NOW + 10, .clients = 1, .any = 1}, NOW);
    put(c, 400, NOW + 10, 1);
    claims_take_any(c);
    EXPECT_INT(hold(c, NOW), 400);
}

TEST(one_claim_too_many_takes_the_place_of_the_one_that_would_end_first)
{
    struct claim c[LIMIT_CLAIMS] = {0};

    for (uint64_t i = 0; i < LIMIT_CLAIMS; i++)
        put(c, 100 + i, NOW + 100 - i, 1);
    put(c, 50, NOW + LIMIT_CLAIM_MS, 1);
    EXPECT_INT(c[LIMIT_CLAIMS - 1].at, 50);
    EXPECT_INT(c[0].at, 100);
}

TEST(the_next_worker_gives_open_claims_their_time_again_and_believes_no_other)
{
    struct claim c[LIMIT_CLAIMS] = {0};

    put(c, 100, NOW + 10, 1);
    put(c, 200, UINT64_MAX, 1);
    put(c, 3000, NOW + 10, 1); /* behind the end */
    put(c, 50, NOW + 1, 1);
    claims_renew(c, 1000, NOW + 5, LIMIT_CLAIM_MS);
    EXPECT_INT(hold(c, NOW + 5), 100);
    EXPECT_INT(hold(c, NOW + 4 + LIMIT_CLAIM_MS), 100);
    EXPECT_INT(hold(c, NOW + 5 + LIMIT_CLAIM_MS), UINT64_MAX);
}

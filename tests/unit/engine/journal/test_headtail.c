/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_headtail.c - the beginning and the end of an output, exactly
 */
#include "engine/journal/headtail.h"

#include "test.h"

static uint32_t seed = 3;

static uint32_t rnd(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

TEST(what_fits_is_kept_whole)
{
    struct headtail h;
    struct headtail_view v;

    headtail_init(&h, 10);
    headtail_feed(&h, "01234", 5);
    headtail_feed(&h, "56789", 5);
    headtail_peek(&h, &v);
    EXPECT_BYTES(v.head, v.head_len, "01234");
    EXPECT_BYTES(v.tail, v.tail_len, "56789");
    EXPECT_U64(v.omitted, 0);
    headtail_fini(&h);
}

TEST(what_does_not_fit_is_left_out_in_the_middle)
{
    struct headtail h;
    struct headtail_view v;

    headtail_init(&h, 7);
    headtail_feed(&h, "0123456789ab", 12);
    headtail_peek(&h, &v);
    EXPECT_BYTES(v.head, v.head_len, "0123");
    EXPECT_BYTES(v.tail, v.tail_len, "9ab");
    EXPECT_U64(v.omitted, 5);
    headtail_feed(&h, "c", 1);
    headtail_peek(&h, &v);
    EXPECT_BYTES(v.tail, v.tail_len, "abc");
    EXPECT_U64(v.omitted, 6);
    headtail_fini(&h);
}

TEST(nothing_fed_is_nothing_held)
{
    struct headtail h;
    struct headtail_view v;

    headtail_init(&h, 1000);
    headtail_feed(&h, NULL, 0);
    headtail_peek(&h, &v);
    EXPECT_U64(v.head_len + v.tail_len + v.omitted, 0);
    headtail_fini(&h);
}

TEST(a_bound_of_nothing_counts_all)
{
    for (size_t max = 0; max < 2; max++) {
        struct headtail h;
        struct headtail_view v;

        headtail_init(&h, max);
        headtail_feed(&h, "abc", 3);
        headtail_peek(&h, &v);
        EXPECT_U64(v.head_len, max);
        EXPECT_U64(v.tail_len, 0);
        EXPECT_U64(v.omitted, 3 - max);
        headtail_fini(&h);
    }
}

TEST(what_follows_skipped_bytes_is_tail)
{
    struct headtail h;
    struct headtail_view v;

    headtail_init(&h, 6);
    headtail_skip(&h, 10);
    headtail_feed(&h, "abcd", 4);
    headtail_peek(&h, &v);
    EXPECT_U64(v.head_len, 0);
    EXPECT_BYTES(v.tail, v.tail_len, "abcd");
    EXPECT_U64(v.omitted, 10);
    headtail_feed(&h, "efgh", 4);
    headtail_peek(&h, &v);
    EXPECT_BYTES(v.tail, v.tail_len, "cdefgh");
    EXPECT_U64(v.omitted, 12);
    headtail_fini(&h);

    headtail_init(&h, 6);
    headtail_feed(&h, "0123456", 7);
    headtail_skip(&h, 3);
    headtail_feed(&h, "ab", 2);
    headtail_peek(&h, &v);
    EXPECT_BYTES(v.head, v.head_len, "012");
    EXPECT_BYTES(v.tail, v.tail_len, "ab");
    EXPECT_U64(v.omitted, 7);
    headtail_fini(&h);
}

/* A cut character would make the answer's JSON show replacement marks. */
TEST(a_cut_character_counts_as_omitted)
{
    struct headtail h;
    struct headtail_view v;

    headtail_init(&h, 8);
    headtail_feed(&h, "ab\xE2\x82\xAC....\xE2\x82\xACyz", 14);
    headtail_peek(&h, &v);
    EXPECT_BYTES(v.head, v.head_len, "ab");
    EXPECT_BYTES(v.tail, v.tail_len, "yz");
    EXPECT_U64(v.omitted, 10);
    headtail_fini(&h);
}

TEST(a_character_across_the_two_halves_is_whole_if_nothing_is_omitted)
{
    struct headtail h;
    struct headtail_view v;

    headtail_init(&h, 8);
    headtail_feed(&h,
                  "abc\xE2\x82\xAC"
                  "de",
                  8);
    headtail_peek(&h, &v);
    EXPECT_BYTES(v.head, v.head_len, "abc\xE2");
    EXPECT_BYTES(v.tail, v.tail_len,
                 "\x82\xAC"
                 "de");
    EXPECT_U64(v.omitted, 0);
    headtail_fini(&h);
}

TEST(a_short_output_costs_little)
{
    struct headtail h;

    headtail_init(&h, 64 << 20);
    EXPECT_U64(h.head.cap + h.tail.cap, 0);
    headtail_feed(&h, "short", 5);
    EXPECT(h.head.cap <= 4096);
    EXPECT_U64(h.tail.cap, 0);
    headtail_fini(&h);
}

/* Any chunks, any bound: head, tail and count are those of the whole. */
TEST(random_chunks_are_kept_exactly)
{
    static char all[20000];

    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (char)(i % 95 + 32);
    for (int i = 0; i < 500; i++) {
        size_t max = rnd(rnd(4) == 0 ? 20 : 9000), len = rnd(20000);
        size_t tail = max / 2, head = max - tail;
        struct headtail h;
        struct headtail_view v;

        headtail_init(&h, max);
        for (size_t at = 0, n; at < len; at += n) {
            n = 1 + rnd(rnd(3) == 0 ? 8000 : 50);
            n = n < len - at ? n : len - at;
            headtail_feed(&h, all + at, n);
            if (rnd(50) == 0)
                headtail_peek(&h, &v);
        }
        headtail_peek(&h, &v);
        head = len < head ? len : head;
        tail = len - head < tail ? len - head : tail;
        EXPECT_MEM(v.head, v.head_len, all, head);
        EXPECT_MEM(v.tail, v.tail_len, all + len - tail, tail);
        EXPECT_U64(v.omitted, len - head - tail);
        EXPECT(h.head.cap + h.tail.cap <= max);
        headtail_fini(&h);
    }
}

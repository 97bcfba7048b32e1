/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_usage.c - the usage of an ended process in three words
 */
#include "base/usage.h"

#include "test.h"

static struct usage through_words(struct usage u)
{
    uint64_t words[USAGE_WORDS];

    usage_pack(&u, words);
    return usage_unpack(words);
}

static void expect_same(struct usage a)
{
    struct usage b = through_words(a);

    EXPECT(usage_is_known(&b));
    EXPECT_U64(b.user_us, a.user_us);
    EXPECT_U64(b.system_us, a.system_us);
    EXPECT_U64(b.max_rss_kib, a.max_rss_kib);
    EXPECT_INT(b.has_blocks, a.has_blocks);
    EXPECT_U64(b.in_blocks, a.in_blocks);
    EXPECT_U64(b.out_blocks, a.out_blocks);
}

TEST(words_return_every_figure)
{
    const uint64_t most = (1ULL << 46) - 1;

    expect_same((struct usage){1, 2, 3, true, 4, 5});
    expect_same((struct usage){0, 0, 1, true, 0, 0});
    expect_same((struct usage){1, 2, 3, .has_blocks = false});
    expect_same((struct usage){most, 0, 1, true, UINT32_MAX - 1, 0});
    expect_same((struct usage){0, most, (1ULL << 36) - 1, true, 0, UINT32_MAX - 1});
    expect_same((struct usage){0, 0, 1, true, 0x12345678, 0x9abcdef0});
}

TEST(words_of_an_older_version_have_no_blocks)
{
    const uint64_t words[USAGE_WORDS] = {3000001, 4000002, 65536}, none[USAGE_WORDS] = {0};
    struct usage u = usage_unpack(words);

    EXPECT(usage_is_known(&u) && !u.has_blocks);
    EXPECT_U64(u.user_us, 3000001);
    EXPECT_U64(u.system_us, 4000002);
    EXPECT_U64(u.max_rss_kib, 65536);
    u = usage_unpack(none);
    EXPECT(!usage_is_known(&u));
}

TEST(what_has_no_room_is_unknown_and_not_wrong)
{
    struct usage u = through_words((struct usage){1ULL << 46, 2, 3, true, 4, 5});

    EXPECT(!usage_is_known(&u));
    u = through_words((struct usage){1, 1ULL << 46, 3, true, 4, 5});
    EXPECT(!usage_is_known(&u));
    u = through_words((struct usage){1, 2, 1ULL << 36, true, 4, 5});
    EXPECT(!usage_is_known(&u));
    u = through_words((struct usage){1, 2, 3, true, UINT32_MAX, 5});
    EXPECT(usage_is_known(&u) && !u.has_blocks);
    EXPECT_U64(u.out_blocks, 0);
}

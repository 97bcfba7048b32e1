/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_textscan.c - a fixed text is found wherever the chunks are cut
 */
#include "engine/match/textscan.h"

#include "base/limits.h"
#include "test.h"

static uint32_t seed = 5;

static uint32_t rnd(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

TEST(the_text_is_found_over_chunk_borders)
{
    struct textscan *s = textscan_new("ready", 5, 100);
    struct textscan_match m;

    EXPECT_INT(textscan_feed(s, "not re", 6, &m), TEXTSCAN_MORE);
    EXPECT_INT(textscan_feed(s, "a", 1, &m), TEXTSCAN_MORE);
    EXPECT_INT(textscan_feed(s, "", 0, &m), TEXTSCAN_MORE);
    EXPECT_INT(textscan_feed(s, "dy\nready", 8, &m), TEXTSCAN_MATCH);
    EXPECT_U64(m.start, 104);
    EXPECT_U64(m.end, 109);
    EXPECT_INT(textscan_feed(s, "ready", 5, &m), TEXTSCAN_MATCH);
    EXPECT_U64(m.end, 109);
    textscan_free(s);
}

TEST(a_false_start_does_not_hide_the_true_one)
{
    struct textscan *s = textscan_new("aab", 3, 0);
    struct textscan_match m;

    EXPECT_INT(textscan_feed(s, "aaaab", 5, &m), TEXTSCAN_MATCH);
    EXPECT_U64(m.start, 2);
    textscan_free(s);
}

TEST(an_empty_text_is_found_at_once)
{
    struct textscan *s = textscan_new(NULL, 0, 9);
    struct textscan_match m;

    EXPECT_INT(textscan_feed(s, NULL, 0, &m), TEXTSCAN_MATCH);
    EXPECT_U64(m.start, 9);
    EXPECT_U64(m.end, 9);
    textscan_free(s);
}

TEST(nul_bytes_are_bytes)
{
    struct textscan *s = textscan_new("a\0b", 3, 0);
    struct textscan_match m;

    EXPECT_INT(textscan_feed(s, "a\0a\0b", 5, &m), TEXTSCAN_MATCH);
    EXPECT_U64(m.start, 2);
    textscan_free(s);
}

TEST(the_length_is_bounded)
{
    static char text[LIMIT_TEXT_BYTES + 1];
    struct textscan *s = textscan_new(text, LIMIT_TEXT_BYTES, 0);
    struct textscan_match m;

    EXPECT(textscan_new(text, LIMIT_TEXT_BYTES + 1, 0) == NULL);
    EXPECT_INT(textscan_feed(s, text, LIMIT_TEXT_BYTES - 1, &m), TEXTSCAN_MORE);
    EXPECT_INT(textscan_feed(s, text, 2, &m), TEXTSCAN_MATCH);
    EXPECT_U64(m.end, LIMIT_TEXT_BYTES);
    textscan_free(s);
}

TEST(random_texts_agree_with_memmem)
{
    for (int i = 0; i < 20000; i++) {
        char text[8], all[64];
        size_t len = 1 + rnd(7), total = rnd(64), at = 0;
        struct textscan_match m = {UINT64_MAX, UINT64_MAX};
        struct textscan *s;
        const char *want;

        for (size_t k = 0; k < len; k++)
            text[k] = "ab"[rnd(2)];
        for (size_t k = 0; k < total; k++)
            all[k] = "ab"[rnd(2)];
        s = textscan_new(text, len, 7);
        while (at < total) {
            size_t n = 1 + rnd((uint32_t)(total - at));

            if (textscan_feed(s, all + at, n, &m) == TEXTSCAN_MATCH)
                break;
            at += n;
        }
        want = total > 0 ? memmem(all, total, text, len) : NULL;
        EXPECT_U64(m.start, want == NULL ? UINT64_MAX : 7 + (uint64_t)(want - all));
        EXPECT_U64(m.end, want == NULL ? UINT64_MAX : m.start + len);
        textscan_free(s);
    }
}

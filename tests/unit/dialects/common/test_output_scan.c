/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_output_scan.c - Several texts and expressions at once: the first in the output wins, not the first in the list.
 */
#include "dialects/common/output_scan.h"
#include "test.h"

static struct scan *scan_of(const char *body, uint64_t at, int before, struct hf_error *err)
{
    json_t *tree = json_parse(body, strlen(body), NULL);
    struct wait_request ask;
    struct scan *s;

    REQUIRE(tree != NULL && wait_request_decode(tree, &ask, NULL) == 0);
    s = scan_new(&ask, at, before, err);
    json_decref(tree);
    return s;
}

static bool feed(struct scan *s, const char *text, struct scan_match *m)
{
    return scan_feed(s, text, strlen(text), m);
}

TEST(scan_finds_what_ends_first)
{
    struct scan *s = scan_of(
        "{\"until\":[{\"text\":\"beta\"},{\"exit\":true},{\"regex\":\"al.ha\"}]}", 100, -1, NULL);
    struct scan_match m = {0};

    EXPECT(!feed(s, "x", &m));
    EXPECT(feed(s, "alphabeta", &m));
    EXPECT_U64(m.index, 2);
    EXPECT_U64(m.start, 101);
    EXPECT_U64(m.end, 106);
    EXPECT_INT(scan_kind(s, m.index), WAIT_REGEX);
    EXPECT_INT(scan_kind(s, 0), WAIT_TEXT);
    scan_free(s);
}

TEST(scan_prefers_the_first_in_the_list_at_the_same_place)
{
    struct scan *s = scan_of("{\"until\":[{\"text\":\"bc\"},{\"text\":\"abc\"}]}", 0, -1, NULL);
    struct scan_match m = {0};

    EXPECT(feed(s, "abc", &m));
    EXPECT_U64(m.index, 0);
    EXPECT_U64(m.start, 1);
    scan_free(s);
}

TEST(scan_joins_what_was_cut)
{
    struct scan *s = scan_of("{\"until\":[{\"text\":\"ready\"}]}", 10, -1, NULL);
    struct scan_match m = {0};

    EXPECT(!feed(s, "not rea", &m));
    EXPECT(feed(s, "dy", &m));
    EXPECT_U64(m.start, 14);
    EXPECT_U64(m.end, 19);
    EXPECT(!scan_needs_pauses(s));
    scan_free(s);
}

/* A prompt has no line end behind it, so only a pause tells that it is one. */
TEST(scan_matches_a_prompt_at_the_end_only)
{
    struct scan *s = scan_of("{\"until\":[{\"regex\":\"\\\\$ $\"}]}", 0, -1, NULL);
    struct scan_match m = {0};

    EXPECT(!feed(s, "a $ b\n$ ", &m));
    EXPECT(scan_at_end(s, false, &m));
    EXPECT_U64(m.start, 6);
    EXPECT_U64(m.end, 8);
    scan_free(s);
}

TEST(scan_knows_the_byte_before)
{
    struct scan *s = scan_of("{\"until\":[{\"regex\":\"^x\"}]}", 5, 'a', NULL);
    struct scan_match m = {0};

    EXPECT(!feed(s, "x", &m));
    scan_free(s);
    s = scan_of("{\"until\":[{\"regex\":\"^x\"}]}", 5, '\n', NULL);
    EXPECT(feed(s, "x", &m));
    scan_free(s);
}

TEST(scan_refuses_a_bad_expression_and_leaves_nothing)
{
    struct hf_error err = {0};

    EXPECT(scan_of("{\"until\":[{\"text\":\"x\"},{\"regex\":\"(\"}]}", 0, -1, &err) == NULL);
    EXPECT_INT(err.code, HF_E_bad_regex);
}

TEST(scan_of_nothing_is_empty)
{
    struct scan *s = scan_of("{\"until\":[{\"exit\":true}]}", 0, -1, NULL);
    struct scan_match m;

    EXPECT(scan_is_empty(s));
    EXPECT(!feed(s, "x", &m));
    EXPECT(!scan_at_end(s, false, &m));
    EXPECT(scan_piece_bytes(s) > 0);
    scan_free(s);
}

/* Whatever is searched for and wherever the chunks are cut, the answer is the same. */
TEST(scan_finds_everything_over_every_border)
{
    static const char *const bodies[] = {
        "{\"until\":[{\"text\":\"ready\"}]}",
        "{\"until\":[{\"regex\":\"r.*d(y|ied)\"}]}",
        "{\"until\":[{\"prompt\":true}]}",
        "{\"until\":[{\"text\":\"never\"},{\"regex\":\"rea\\\\w+\\\\b\"},{\"prompt\":true}]}",
    };
    static const char bytes[] = "a\x1b]133;D;1\x07r rea\x1b]133;A\x07> ready\x1b]133;B\x07 z";
    size_t len = sizeof bytes - 1;

    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct scan *s = scan_of(bodies[i], 0, -1, NULL);
        struct scan_match whole = {0};

        EXPECT(scan_feed(s, bytes, len, &whole));
        scan_free(s);
        for (size_t cut = 0; cut <= len; cut++) {
            struct scan_match m = {0};

            s = scan_of(bodies[i], 0, -1, NULL);
            if (!scan_feed(s, bytes, cut, &m))
                EXPECT(scan_feed(s, bytes + cut, len - cut, &m));
            EXPECT_U64(m.index, whole.index);
            EXPECT_U64(m.start, whole.start);
            EXPECT_U64(m.end, whole.end);
            EXPECT_INT(m.exit_code, whole.exit_code);
            scan_free(s);
        }
    }
}

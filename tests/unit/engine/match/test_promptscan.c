/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_promptscan.c - the next prompt of a shell that marks it
 */
#include "engine/match/promptscan.h"

#include "test.h"

#define A "\x1b]133;A\x07"
#define B "\x1b]133;B\x1b\\"
#define C "\x1b]133;C\x07"
#define D3 "\x1b]133;D;3\x07"

static bool feed(struct promptscan *s, const char *bytes, struct promptscan_match *m)
{
    return promptscan_feed(s, bytes, strlen(bytes), m);
}

TEST(a_prompt_is_there_at_its_end_with_the_code_of_the_command_before)
{
    struct promptscan *s = promptscan_new(100);
    struct promptscan_match m = {0};

    EXPECT(!feed(s, "ls\r\n" C "file\r\n" D3 A "$ ", &m));
    EXPECT(feed(s, B "typed" D3, &m));
    EXPECT_U64(m.start, 100 + 4 + 8 + 6 + 10 + 8 + 2);
    EXPECT_U64(m.end, m.start + 9);
    EXPECT_INT(m.exit_code, 3);
    EXPECT(feed(s, A B, &m));
    EXPECT_U64(m.end - m.start, 9);
    promptscan_free(s);
}

TEST(without_an_end_mark_a_pause_behind_the_first_is_one)
{
    struct promptscan *s = promptscan_new(0);
    struct promptscan_match m = {0};

    EXPECT(!promptscan_at_pause(s, &m));
    EXPECT(!feed(s, "x" A "$ ", &m));
    EXPECT(promptscan_at_pause(s, &m));
    EXPECT_U64(m.start, 1);
    EXPECT_U64(m.end, 11);
    EXPECT_INT(m.exit_code, -1);
    EXPECT(!feed(s, "ls\r\n" C, &m));
    EXPECT(!promptscan_at_pause(s, &m));
    promptscan_free(s);
}

TEST(every_border_between_chunks_gives_the_same_prompt)
{
    static const char bytes[] = "x" D3 A "$ " B;
    size_t len = sizeof bytes - 1;

    for (size_t cut = 0; cut < len; cut++) {
        struct promptscan *s = promptscan_new(0);
        struct promptscan_match m = {0};

        EXPECT(!promptscan_feed(s, bytes, cut, &m));
        EXPECT(promptscan_feed(s, bytes + cut, len - cut, &m));
        EXPECT_U64(m.end, len);
        EXPECT_INT(m.exit_code, 3);
        promptscan_free(s);
    }
}

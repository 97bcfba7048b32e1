/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_screen_guard.c - what output changes is undone, and a replay sends no query
 */
#include "test.h"

#include "cli/client/screen_guard.h"

static void expect_text(struct buf *b, const char *want, int line)
{
    if (strcmp(buf_cstr(b), want) != 0) {
        test_fail_at(__FILE__, line);
        fprintf(stderr, "got \"%s\", not \"%s\"\n", buf_cstr(b), want);
    }
    buf_fini(b);
}
#define EXPECT_TEXT(b, want) expect_text((b), (want), __LINE__)

TEST(only_what_was_switched_on_is_switched_off)
{
    struct screen_guard g = {0};
    struct buf out = {0};
    const char *text = "\033[?1049;25h\033[?25l\033[?2004h\033[?2004l\033[1mbold\033[m";

    screen_guard_feed(&g, text, strlen(text), &out);
    EXPECT_TEXT(&out, text);
    EXPECT(screen_guard_is_full_screen(&g));
    screen_guard_reset(&g, &out);
    EXPECT_TEXT(&out, "\033[?25h\033[?1049l");
    screen_guard_reset(&g, &out);
    EXPECT_TEXT(&out, "");
}

TEST(a_replay_asks_nothing_and_live_output_does)
{
    struct screen_guard g = {.replaying = true};
    struct buf out = {0};
    const char *text = "a\033[cb\033[6nc\033]10;?\033\\d\033P$qm\033\\e\033[?25$pf\005g\033[31mh";

    screen_guard_feed(&g, text, strlen(text), &out);
    EXPECT_TEXT(&out, "abcdefg\033[31mh");
    g.replaying = false;
    screen_guard_feed(&g, text, strlen(text), &out);
    EXPECT_TEXT(&out, text);
}

TEST(a_query_that_breaks_something_off_ends_it_in_a_replay_too)
{
    struct screen_guard g = {.replaying = true};
    struct buf out = {0};
    const char *text = "a\033[1\033[cb\033]0;t\033[cd\033]10;?\033]11;?\033\\e";

    for (size_t i = 0; i < strlen(text); i++)
        screen_guard_feed(&g, text + i, 1, &out);
    EXPECT_TEXT(&out, "a\033[1\030b\033]0;t\033\\de");
}

/* Line drawing stayed on: the designation's last byte was taken for its first. */
TEST(another_character_set_is_undone)
{
    struct screen_guard g = {0};
    struct buf out = {0};

    screen_guard_feed(&g, "\033(B", 3, &out);
    screen_guard_feed(&g, "\033(0", 3, &out);
    buf_clear(&out);
    screen_guard_reset(&g, &out);
    EXPECT_TEXT(&out, "\033(B\017");
}

TEST(a_sequence_without_end_is_passed_on)
{
    struct screen_guard g = {0};
    struct buf out = {0};
    char image[2000];

    memset(image, 'x', sizeof image);
    screen_guard_feed(&g, "\033_G", 3, &out);
    screen_guard_feed(&g, image, sizeof image, &out);
    screen_guard_feed(&g, "\033\\", 2, &out);
    EXPECT_U64(out.len, sizeof image + 5);
    EXPECT(!vt_is_open(&g.vt));
    buf_fini(&out);
}

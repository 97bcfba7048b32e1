/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_osc.c - titles, directories, prompt marks and bells are seen however the chunks are cut
 */
#include "term/osc.h"

#include "test.h"

struct seen {
    char text[2048]; /* one line for each event */
    size_t count;
};

static void note(void *arg, const struct osc_event *e)
{
    struct seen *s = arg;
    size_t at = strlen(s->text);
    char *to = s->text + at;
    size_t room = sizeof s->text - at;

    s->count++;
    switch (e->kind) {
    case OSC_TITLE: snprintf(to, room, "title %s\n", e->text); break;
    case OSC_CWD: snprintf(to, room, "cwd %s\n", e->text); break;
    case OSC_MARK:
        snprintf(to, room, "mark %c %d [%d,%d)\n", e->mark, e->exit_code, (int)e->start,
                 (int)e->end);
        break;
    case OSC_BELL: snprintf(to, room, "bell %d\n", (int)e->start); break;
    }
}

static const char *whole(struct seen *s, const char *bytes)
{
    struct osc o;

    memset(s, 0, sizeof *s);
    osc_init(&o, 0);
    osc_feed(&o, bytes, strlen(bytes), note, s);
    return s->text;
}

TEST(titles_directories_marks_and_bells_are_told_in_order)
{
    struct seen s;

    EXPECT_STR(whole(&s, "a\x1b]0;one\x07"
                         "b\x1b]2;two\x1b\\c\x07"),
               "title one\ntitle two\nbell 20\n");
    EXPECT_STR(whole(&s, "\x1b]7;file:///tmp/a%20b\x07\x1b]7;file://localhost/x\x1b\\"),
               "cwd /tmp/a b\ncwd /x\n");
    EXPECT_STR(whole(&s, "\x1b]133;D;130\x07\x1b]133;A\x07$ \x1b]133;B\x1b\\\x1b]133;C;x=y\x07"),
               "mark D 130 [0,12)\nmark A -1 [12,20)\nmark B -1 [22,31)\nmark C -1 [31,43)\n");
    EXPECT_STR(whole(&s, "\x1b]133;D\x07\x1b]133;D;x\x07\x1b]133;D;0;aid=3\x07"),
               "mark D -1 [0,8)\nmark D -1 [8,18)\nmark D 0 [18,34)\n");
}

TEST(what_is_not_meant_for_us_says_nothing)
{
    struct seen s;

    EXPECT_STR(whole(&s, "\x1b]1;icon\x07\x1b]52;c;QQ==\x07\x1b]8;;http://x\x1b\\"), "");
    EXPECT_STR(whole(&s, "\x1b]7;file://another.example.invalid/tmp\x07"), "");
    EXPECT_STR(whole(&s, "\x1b]7;relative\x07\x1b]7;file:///a%00b\x07\x1b]7;\x07"), "");
    EXPECT_STR(whole(&s, "\x1b]133;Z\x07\x1b]133;AB\x07\x1b]133;\x07\x1b]133\x07"), "");
    EXPECT_STR(whole(&s, "\x1b]2;bad \xff utf-8\x07"), "");
    EXPECT_STR(whole(&s, "\x1bPtmux;\x07\x1b\\\x1b_apc\x07\x1b\\\x1b]2;no\x18\x1b]2;no\x1b[m"), "");
    EXPECT_STR(whole(&s, "\x1b[31m\x1b(B\x1b]2;yes\x07"), "title yes\n");
    EXPECT_STR(whole(&s, "\x1b]2;no\x1b]2;yes\x07"), "title yes\n");
}

TEST(a_long_title_is_cut_at_a_character_and_a_long_directory_is_none)
{
    char bytes[2000] = "\x1b]2;";
    struct seen s;

    for (int i = 0; i < 400; i++)
        strcat(bytes, "\xc3\xa4");
    strcat(bytes, "\x07");
    EXPECT_INT(strlen(whole(&s, bytes)), 6 + 510 + 1);
    memcpy(bytes, "\x1b]7;/", 5);
    EXPECT_STR(whole(&s, bytes), "");
}

/* Every byte position as a border, and a start anew from where it is said to be safe. */
TEST(no_border_between_chunks_hides_anything)
{
    static const char bytes[] =
        "x\x1b]133;D;7\x07\x1b]7;file:///a%2Fb\x1b\\\x1b]0;t\xc3\xa4\x07\x07"
        "\x1bPq\x07\x1b\\\x1b]133;B\x1b\\y";
    struct seen all, s;
    struct osc o;

    whole(&all, bytes);
    EXPECT_U64(all.count, 5);
    for (size_t cut = 0; cut < sizeof bytes; cut++) {
        uint64_t from;

        memset(&s, 0, sizeof s);
        osc_init(&o, 0);
        osc_feed(&o, bytes, cut, note, &s);
        from = osc_resume_at(&o);
        EXPECT(from <= cut);
        osc_init(&o, from);
        osc_feed(&o, bytes + from, sizeof bytes - 1 - from, note, &s);
        EXPECT_STR(s.text, all.text);
        memset(&s, 0, sizeof s);
        osc_init(&o, 0);
        osc_feed(&o, bytes, cut, note, &s);
        osc_feed(&o, bytes + cut, sizeof bytes - 1 - cut, note, &s);
        EXPECT_STR(s.text, all.text);
    }
}

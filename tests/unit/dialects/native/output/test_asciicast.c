/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asciicast v2: every line is what asciinema's own recorder would have written.
 */
#include "dialects/native/output/asciicast.h"
#include "test.h"

struct fixture {
    struct buf out, text;
    struct asciicast a;
};

static void setup(struct fixture *f, bool cook)
{
    memset(f, 0, sizeof *f);
    f->a = (struct asciicast){.out = &f->out,
                              .text = &f->text,
                              .base_ms = 1700000000123,
                              .rows = 24,
                              .cols = 80,
                              .cook = cook,
                              .lane = -1};
}

static void expect(struct fixture *f, const char *lines)
{
    EXPECT_STR(buf_cstr(&f->out), lines);
    buf_clear(&f->out);
}

static void put(struct fixture *f, int64_t at_ms, const char *bytes)
{
    asciicast_output(&f->a, f->a.base_ms + at_ms, 0, bytes, strlen(bytes));
}

static void teardown(struct fixture *f)
{
    buf_fini(&f->out);
    buf_fini(&f->text);
}

TEST(asciicast_begins_with_its_header)
{
    struct fixture f;

    setup(&f, false);
    asciicast_begin(&f.a, &(struct asciicast_head){.title = "a \"b\"", .command = "bash"});
    expect(
        &f,
        "{\"version\":2,\"width\":80,\"height\":24,\"timestamp\":1700000000,"
        "\"title\":\"a \\\"b\\\"\",\"command\":\"bash\",\"env\":{\"TERM\":\"xterm-256color\"}}\n");
    teardown(&f);
}

TEST(asciicast_times_count_from_the_base_and_never_go_back)
{
    struct fixture f;

    setup(&f, false);
    put(&f, 1, "a");
    put(&f, 61002, "b");
    put(&f, 500, "c");
    put(&f, -500, "d");
    expect(
        &f,
        "[0.001,\"o\",\"a\"]\n[61.002,\"o\",\"b\"]\n[61.002,\"o\",\"c\"]\n[61.002,\"o\",\"d\"]\n");
    teardown(&f);
}

TEST(asciicast_tells_a_size_once)
{
    struct fixture f;

    setup(&f, false);
    asciicast_resize(&f.a, f.a.base_ms + 5, 24, 80);
    asciicast_resize(&f.a, f.a.base_ms + 10, 50, 100);
    asciicast_resize(&f.a, f.a.base_ms + 20, 50, 100);
    expect(&f, "[0.010,\"r\",\"100x50\"]\n");
    teardown(&f);
}

/* Whatever the pieces are, the text is the same: no character is torn by a read that ended in it. */
TEST(asciicast_does_not_tear_characters_at_any_cut)
{
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
    size_t len = sizeof text - 1;

    for (size_t i = 0; i <= len; i++) {
        for (size_t k = i; k <= len; k++) {
            struct fixture f;
            struct buf joined = {0};
            char *line;

            setup(&f, false);
            asciicast_output(&f.a, f.a.base_ms, 0, text, i);
            asciicast_output(&f.a, f.a.base_ms, 0, text + i, k - i);
            asciicast_output(&f.a, f.a.base_ms, 0, text + k, len - k);
            buf_cstr(&f.out);
            for (line = strtok(buf_data(&f.out), "\n"); line != NULL; line = strtok(NULL, "\n"))
                buf_put(&joined, line + 12, strlen(line) - 14); /* [0.000,"o"," and "] */
            EXPECT_STR(buf_cstr(&joined), text);
            buf_fini(&joined);
            teardown(&f);
        }
    }
}

/* Python's decoder with errors="replace", which asciinema uses, gives one for each of these. */
TEST(asciicast_replaces_each_maximal_bad_piece_by_one_character)
{
    struct fixture f;

    setup(&f, false);
    put(&f, 0, "\xff");
    put(&f, 0, "\xe2\x82(");
    put(&f, 0, "\xc0\xaf");
    put(&f, 0, "\xed\xa0\x80");
    put(&f, 0, "\xf0\x9f\x98");
    put(&f, 0, "x");
    expect(&f, "[0.000,\"o\",\"\xef\xbf\xbd\"]\n"
               "[0.000,\"o\",\"\xef\xbf\xbd(\"]\n"
               "[0.000,\"o\",\"\xef\xbf\xbd\xef\xbf\xbd\"]\n"
               "[0.000,\"o\",\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"]\n"
               "[0.000,\"o\",\"\xef\xbf\xbdx\"]\n");
    teardown(&f);
}

TEST(asciicast_lets_go_of_a_character_that_nobody_completes)
{
    struct fixture f;

    setup(&f, false);
    put(&f, 3, "a\xe2\x82");
    asciicast_flush(&f.a);
    asciicast_flush(&f.a);
    asciicast_output(&f.a, f.a.base_ms, 1, "\xe2", 1);
    asciicast_output(&f.a, f.a.base_ms, 2, "\x82\xac", 2);
    expect(&f,
           "[0.003,\"o\",\"a\"]\n[0.003,\"o\",\"\xef\xbf\xbd\"]\n[0.003,\"o\",\"\xef\xbf\xbd\"]\n"
           "[0.003,\"o\",\"\xef\xbf\xbd\xef\xbf\xbd\"]\n");
    teardown(&f);
}

TEST(asciicast_of_pipes_gets_the_carriage_returns_of_a_terminal)
{
    struct fixture f;

    setup(&f, true);
    put(&f, 0, "a\nb\r\n\n");
    put(&f, 0, "c\r");
    put(&f, 0, "\nd\n");
    expect(
        &f,
        "[0.000,\"o\",\"a\\r\\nb\\r\\n\\r\\n\"]\n[0.000,\"o\",\"c\\r\"]\n[0.000,\"o\",\"\\nd\\r\\n\"]\n");
    teardown(&f);
}

TEST(asciicast_says_what_is_gone)
{
    struct fixture f;

    setup(&f, false);
    put(&f, 7, "a");
    asciicast_gap(&f.a, 10, 20);
    expect(&f, "[0.007,\"o\",\"a\"]\n[0.007,\"m\",\"gap: output from 10 to 20 was lost\"]\n");
    teardown(&f);
}

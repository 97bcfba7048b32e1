/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_safecut.c - output is never cut inside a character or an escape sequence
 */
#include "engine/journal/safecut.h"

#include "test.h"

static uint32_t seed = 7;

static uint32_t rnd(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

#define FIND(literal, want, from_start)                                                            \
    safecut_find((literal), sizeof(literal) - 1, (want), (from_start))

TEST(a_known_sequence_is_skipped_whole)
{
    EXPECT_U64(FIND("ab\033[1;31mred", 1, true), 1);
    EXPECT_U64(FIND("ab\033[1;31mred", 2, true), 2);
    EXPECT_U64(FIND("ab\033[1;31mred", 3, true), 9);
    EXPECT_U64(FIND("ab\033[1;31mred", 8, true), 9);
    EXPECT_U64(FIND("ab\033[1;31mred", 9, true), 9);
    EXPECT_U64(FIND("\033]0;title\007x", 4, true), 10);
    EXPECT_U64(FIND("\033]0;title\033\\x", 4, true), 11);
    EXPECT_U64(FIND("\033]0;title\033\\x", 10, true), 11);
    EXPECT_U64(FIND("\033Pq#0\007\n#1\033\\x", 3, true), 11);
    EXPECT_U64(FIND("\033_Ga=T\033\\x", 3, true), 8);
    EXPECT_U64(FIND("\033^pm\033\\x", 3, true), 6);
    EXPECT_U64(FIND("\033Xsos\033\\x", 3, true), 7);
    EXPECT_U64(FIND("\033(Bx", 2, true), 3);
    EXPECT_U64(FIND("\033cx", 1, true), 2);
    EXPECT_U64(FIND("\033Oax", 2, true), 3);
    EXPECT_U64(FIND("\033N\xC3\xA9x", 3, true), 4);
    EXPECT_U64(FIND("\xE2\x82\xACx", 1, true), 3);
    EXPECT_U64(FIND("\xF0\x9F\x98\x80x", 2, true), 4);
}

/* As the terminals do: ESC begins anew, CAN and SUB end, controls inside are executed. */
TEST(what_breaks_a_sequence_off_is_known)
{
    EXPECT_U64(FIND("\033[1\033[2mx", 2, true), 7);
    EXPECT_U64(FIND("\033[1\030x", 2, true), 4);
    EXPECT_U64(FIND("\033]0;t\032x", 2, true), 6);
    EXPECT_U64(FIND("\033[1\n;2mx", 2, true), 7);
    EXPECT_U64(FIND("\xE2\x82x", 1, true), 2);
    EXPECT_U64(FIND("\xE2\x82\033[mx", 1, true), 2);
    EXPECT_U64(FIND("\x80\xFFx", 1, true), 1);
}

TEST(a_line_end_a_bell_or_an_escape_tells_where_we_are)
{
    EXPECT_U64(safecut_forward("1;31mred\r\nnext", 14), 9);
    EXPECT_U64(safecut_forward("le\007next", 7), 3);
    EXPECT_U64(safecut_forward("tle\033\\next", 9), 5);
    EXPECT_U64(safecut_forward("text\033[mnext", 11), 7);
    EXPECT_U64(FIND("line\nlong text \xE2\x82\xAC", 8, false), 8);
    EXPECT_U64(FIND("line\nlong text \xE2\x82\xAC", 16, false), 18);
}

TEST(without_any_hint_only_characters_count)
{
    EXPECT_U64(safecut_forward("hello", 5), 0);
    EXPECT_U64(safecut_forward("", 0), 0);
    EXPECT_U64(safecut_forward("\x82\xAC text", 7), 2);
    EXPECT_U64(FIND("a\xE2\x82\xAC"
                    "b",
                    2, false),
               4);
    EXPECT_U64(FIND("a\xE2\x82\xAC"
                    "b",
                    3, false),
               4);
    EXPECT_U64(FIND("a\xE2\x82\xAC"
                    "b",
                    4, false),
               4);
    EXPECT_U64(FIND("a\xE2\x82\xAC"
                    "b",
                    5, false),
               5);
}

/* What has not ended yet is given from its start: the rest of it will follow. */
TEST(an_unfinished_token_is_given_whole)
{
    EXPECT_U64(FIND("abc\033[1;3", 6, true), 3);
    EXPECT_U64(FIND("abc\033[1;3", 8, true), 3);
    EXPECT_U64(FIND("abc\033]0;title", 8, true), 3);
    EXPECT_U64(FIND("abc\033]0;title\033", 13, true), 3);
    EXPECT_U64(FIND("abc\033", 4, true), 3);
    EXPECT_U64(FIND("abc\xE2\x82", 4, true), 3);
    EXPECT_U64(FIND("abc\xE2\x82", 5, true), 3);
    EXPECT_U64(FIND("abc\xE2\x82", 4, false), 3);
    EXPECT_U64(FIND("abc\xE2\x82", 5, false), 3);
    EXPECT_U64(FIND("abc", 3, true), 3);
}

TEST(not_more_than_the_bound_is_skipped)
{
    size_t len = 3 * SAFECUT_SKIP_MAX_BYTES;
    char *text = malloc(len);

    memset(text, 'x', len);
    text[len - 1] = '\n';
    EXPECT_U64(safecut_find(text, len, 10, false), 10);
    memcpy(text + 5, "\033Pq", 3);
    EXPECT_U64(safecut_find(text, len, 100, false), 5);
    EXPECT_U64(safecut_find(text, len, len, false), 5);
    free(text);
}

/* --- streams whose borders are known --- */

#define STREAM_MAX 65536
static char stream[STREAM_MAX + 8192];
static bool border[STREAM_MAX + 8193];
static size_t stream_len;

static void put(const char *bytes, size_t len)
{
    memcpy(stream + stream_len, bytes, len);
    stream_len += len;
}

static void put_any(const char *set, size_t n)
{
    put(set + rnd((uint32_t)n), 1);
}

static void put_char(void)
{
    static const char *chars[] = {"a",
                                  "Z",
                                  "0",
                                  ";",
                                  "[",
                                  "]",
                                  "\\",
                                  "P",
                                  " ",
                                  "\xC3\xA9",
                                  "\xE2\x82\xAC",
                                  "\xED\x9F\xBF",
                                  "\xF0\x9F\x98\x80"};
    const char *c = chars[rnd(13)];

    put(c, strlen(c));
}

/*
 * Shorter than the bound, so that the end is always found. `wild`: with line
 * ends inside, which is allowed where the start of the string is seen.
 */
static void put_string(bool wild)
{
    bool osc = rnd(2) == 0;
    uint32_t n = rnd(20) == 0 ? rnd(1000) : rnd(30);

    put("\033", 1);
    put_any(osc ? "]" : "PX^_", osc ? 1 : 4);
    while (n-- > 0) {
        if (wild && rnd(20) == 0)
            put_any(osc ? "\n\r\t" : "\n\r\007", 3);
        else
            put_char();
    }
    if (osc && rnd(2) == 0)
        put("\007", 1);
    else
        put("\033\\", 2);
}

static void put_csi(void)
{
    put("\033[", 2);
    for (uint32_t n = rnd(8); n > 0; n--)
        put_any("0123456789;:<=>?", 16);
    if (rnd(4) == 0)
        put_any(" !\"$'", 5);
    put_any("@AHJKmhlnqr~z", 13);
}

static void put_token(bool wild)
{
    switch (rnd(10)) {
    case 0: put_string(wild); break;
    case 1:
    case 2: put_csi(); break;
    case 3: put_any("\n\r\t\b\007", 5); break;
    case 4:
        put("\033", 1);
        put_any("78=>cDEHM\\", 10);
        break;
    case 5:
        put("\033", 1);
        put_any("()*+#%", 6);
        put_any("0AB8G", 5);
        break;
    case 6:
        put("\033", 1);
        put_any("NO", 2);
        put_char();
        break;
    default: put_char();
    }
}

static void make_stream(size_t len, bool wild)
{
    stream_len = 0;
    memset(border, 0, sizeof border);
    while (stream_len < len) {
        border[stream_len] = true;
        put_token(wild);
    }
    border[stream_len] = true;
    put("\n", 1);
    border[stream_len] = true;
}

static size_t next_border(size_t at)
{
    while (!border[at])
        at++;
    return at;
}

static void expect_border(size_t got, size_t from, size_t want, size_t len)
{
    if (!border[got]) {
        test_failures++;
        fprintf(stderr, "held %zu+%zu, want %zu, got %zu: inside of ", from, len, want, got);
        test_print_bytes(stream + from, len);
    }
}

TEST(from_the_start_the_answer_is_the_first_border)
{
    for (int i = 0; i < 400; i++) {
        make_stream(1 + rnd(6000), true);
        for (int k = 0; k < 50; k++) {
            size_t want = rnd((uint32_t)stream_len + 1);

            EXPECT_U64(safecut_find(stream, stream_len, want, true), next_border(want));
        }
    }
}

TEST(an_end_anywhere_still_gives_a_border)
{
    for (int i = 0; i < 400; i++) {
        make_stream(1 + rnd(6000), true);
        for (int k = 0; k < 50; k++) {
            size_t len = rnd((uint32_t)stream_len + 1);
            size_t want = rnd((uint32_t)len + 1);
            size_t got = safecut_find(stream, len, want, true);

            expect_border(got, 0, want, len);
            EXPECT(got <= len);
        }
    }
}

TEST(from_anywhere_the_answer_is_a_border)
{
    for (int i = 0; i < 400; i++) {
        make_stream(1 + rnd(6000), false);
        for (int k = 0; k < 50; k++) {
            size_t from = rnd((uint32_t)stream_len);
            size_t len = stream_len - from;
            size_t want = rnd((uint32_t)len);
            size_t got = from + safecut_find(stream + from, len, want, false);

            expect_border(got, from, want, len);
            EXPECT(got >= from + want && got - from - want <= SAFECUT_SKIP_MAX_BYTES);
        }
    }
}

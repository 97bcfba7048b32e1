/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_regex.c - what matches, where, when it is told, and what is refused
 */
#include "engine/match/regex.h"

#include <locale.h>
#include <regex.h>

#include "base/limits.h"
#include "engine/match/regex_prog.h"
#include "test.h"

#define NONE UINT64_MAX
#define BASE 1000 /* offset of the first byte in every test: offsets are absolute */

static uint32_t seed = 1;

static uint32_t rnd(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

static struct regex *compile(const char *pattern)
{
    struct hf_error err = {0};
    struct regex *re = regex_new(pattern, strlen(pattern), &err);

    if (re == NULL)
        fprintf(stderr, "%s: %s\n", pattern, err.detail);
    return re;
}

/* Feeds chunks of at most `chunk` bytes (0: all at once), then the end. */
static struct regex_match search(const struct regex *re, const char *text, size_t len, size_t chunk)
{
    struct regex_run *run = regex_run_new(re, BASE);
    struct regex_match m = {NONE, NONE};
    size_t n;

    REQUIRE(run != NULL);
    for (size_t i = 0; i < len; i += n) {
        n = chunk == 0 || len - i < chunk ? len - i : chunk;
        if (regex_run_feed(run, text + i, n, &m) == REGEX_MATCH)
            break;
    }
    if (m.start == NONE)
        regex_run_finish(run, &m);
    regex_run_free(run);
    return m;
}

static void expect_match(const char *pattern, const char *text, size_t len, uint64_t start,
                         uint64_t end)
{
    struct regex *re = compile(pattern);

    REQUIRE(re != NULL);
    for (size_t chunk = 0; chunk < 4; chunk++) {
        struct regex_match m = search(re, text, len, chunk);

        if (start != NONE)
            m = (struct regex_match){m.start - BASE, m.end - BASE};
        if (m.start != start || m.end != end) {
            test_failures++;
            fprintf(stderr, "/%s/ in chunks of %zu: [%" PRId64 ", %" PRId64 ") in ", pattern, chunk,
                    (int64_t)m.start, (int64_t)m.end);
            test_print_bytes(text, len);
        }
    }
    regex_free(re);
}

#define MATCH(pattern, text, start, end) expect_match(pattern, text, sizeof(text) - 1, start, end)
#define NO_MATCH(pattern, text) expect_match(pattern, text, sizeof(text) - 1, NONE, NONE)

TEST(literals_and_classes_match_where_they_stand)
{
    MATCH("b", "abc", 1, 2);
    MATCH("abc", "ababc", 2, 5);
    NO_MATCH("abc", "ab");
    MATCH("[b-d]x", "axbx", 2, 4);
    MATCH("[^a]", "aab", 2, 3);
    MATCH("[]a]", "x]", 1, 2);
    MATCH("[^]]", "]]x", 2, 3);
    MATCH("[a-]", "x-", 1, 2);
    MATCH("[-a]", "x-", 1, 2);
    MATCH("[\\]\\-x]+$", "a]-x", 1, 4);
    MATCH("[\\b]", "a\b", 1, 2);
    MATCH("[a.*]", "b*", 1, 2);
    MATCH("\\d\\D\\w\\W\\s\\S", "x1.a. x", 1, 7);
    MATCH("[\\d.]+;", "v1.22;", 1, 6);
    MATCH("[^\\s\\d]", "1 2\tx", 4, 5);
    MATCH("[\\D]", "12x", 2, 3);
    NO_MATCH("[^\\d\\D]", "abc1");
    MATCH("\\.\\*\\/\\ ", "a.*/ ", 1, 5);
}

TEST(escapes_name_characters)
{
    MATCH("\\n\\r\\t\\f\\v\\a\\e", "x\n\r\t\f\v\a\033", 1, 8);
    MATCH("\\x41\\x{42}\\x{1F600}", "AB\xF0\x9F\x98\x80", 0, 6);
    MATCH("\\xe9", "\xC3\xA9", 0, 2);
    NO_MATCH("\\xe9", "\xE9");
    MATCH("\\x00", "a\0", 1, 2);
    MATCH("\\{\\}\\[\\(\\|", "{}[(|", 0, 5);
    MATCH("\\é", "\xC3\xA9", 0, 2);
}

TEST(groups_alternation_and_repetition)
{
    MATCH("(?:ab)+c", "xababc", 1, 6);
    MATCH("(a|bc|)d", "bcd", 0, 3);
    MATCH("foo|bar", "a bar foo", 2, 5);
    MATCH("a{3}", "aaaa", 0, 3);
    MATCH("ba{2,3}c", "bac baac", 4, 8);
    NO_MATCH("ba{2,3}c", "baaaac");
    MATCH("ba{2,}c", "baaaac", 0, 6);
    MATCH("ba{0}c", "bac bc", 4, 6);
    MATCH("x(ab?){2}y", "xaaby xaby xaay", 0, 5);
    MATCH("(a*)*b", "aaab", 0, 4);
    MATCH("(a+)+b", "aaab", 0, 4);
    MATCH("(()*)+b", "ab", 1, 2);
    MATCH("a{,3}", "a{,3}", 0, 5);
    MATCH("{\"a\": {}}", "{\"a\": {}}", 0, 9);
    MATCH("a{x}", "a{x}", 0, 4);
    MATCH("(((((a{2}){2}){2}){2}){2})b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", 0, 33);
}

/* The earliest end is the answer, so that waiting ends as soon as it can. */
TEST(the_match_that_ends_first_wins_and_then_the_leftmost)
{
    MATCH("a+", "aaa", 0, 1);
    MATCH("abcd|c", "abcd", 2, 3);
    MATCH("abc|bc", "abc", 0, 3);
    MATCH("bc|abc", "abc", 0, 3);
    MATCH(".*c", "xx\nabc", 3, 6);
    MATCH("a*", "baaa", 0, 0);
    MATCH("", "abc", 0, 0);
    MATCH("error: .*", "an error: no", 3, 10);
    MATCH("error: .*$", "an error: no\r\nmore", 3, 12);
}

TEST(lazy_forms_change_nothing)
{
    MATCH("a+?", "aaa", 0, 1);
    MATCH("<.*?>", "x<a><b>", 1, 4);
    MATCH("<.*>", "x<a><b>", 1, 4);
    MATCH("ba??c", "bac", 0, 3);
    MATCH("a{2,3}?b", "aaab", 0, 4);
}

TEST(anchors_know_all_three_line_ends)
{
    MATCH("^b", "ab\nb", 3, 4);
    MATCH("^b", "ab\r\nb", 4, 5);
    MATCH("^b", "ab\rb", 3, 4);
    MATCH("a$", "ab a\nx", 3, 4);
    MATCH("a$", "ab a\r\nx", 3, 4);
    MATCH("a$", "ab a\rx", 3, 4);
    MATCH("a$", "ab a", 3, 4);
    NO_MATCH("^$", "a\r\nb\r\n.");
    MATCH("^$", "a\r\n\r\nb", 3, 3);
    MATCH("^$", "a\n\nb", 2, 2);
    MATCH("^$", "a\n", 2, 2);
    MATCH("^.*$", "one\r\ntwo", 0, 3);
    MATCH("b\\r?$", "ab\r\n", 1, 2);
    MATCH("a\\r\\n^b", "a\r\nb", 0, 4);
    NO_MATCH("a\\r^\\nb", "a\r\nb");
    NO_MATCH("a.b", "a\nb a\rb");
    MATCH("(?s)a.b", "a\nb", 0, 3);
    MATCH("(?:^|,)x", "y,x", 1, 3);
}

TEST(word_borders)
{
    MATCH("\\bcat\\b", "concat cats cat.", 12, 15);
    MATCH("\\bcat\\b", "cat", 0, 3);
    MATCH("\\Bcat", "cat concat", 7, 10);
    MATCH("cat\\B", "cat cats", 4, 7);
    MATCH("x\\b", "xx x", 1, 2);
}

TEST(case_is_ignored_on_request)
{
    MATCH("(?i)password:", "PassWORD:", 0, 9);
    MATCH("(?i)[a-c]+z", "xABcZ", 1, 5);
    MATCH("(?i)[^a]", "aAb", 2, 3);
    MATCH("(?im)x", "X", 0, 1);
    MATCH("(?i)(?:a|B)\\x43", "abC", 1, 3);
    NO_MATCH("password:", "PASSWORD:");
}

TEST(characters_are_whole)
{
    MATCH("^.$", "\xE2\x82\xAC", 0, 3);
    MATCH("a.b",
          "a\xF0\x9F\x98\x80"
          "b",
          0, 6);
    NO_MATCH("a..b", "a\xC3\xA9"
                     "b");
    MATCH("[é-ü]", "\xC3\xA8\xC3\xAA", 2, 4);
    MATCH("[^a-z]", "abc\xE2\x82\xAC", 3, 6);
    MATCH("[\\x{80}-\\x{10FFFF}]", "a\xF4\x8F\xBF\xBF", 1, 5);
    NO_MATCH("[\\x{80}-\\x{10FFFF}]", "\x80\xFF\xC0\xAF\xED\xA0\x80\xF4\x90\x80\x80");
    NO_MATCH(".", "\x80\xFF\xC0\xAF\xED\xA0\x80\xE0\x80\x80\xF0\x80\x80\x80");
    MATCH("€+x", "\xE2\x82\xAC\xE2\x82\xACx", 0, 7);
    MATCH("[€x]{2}", "\xE2\x82\xACx", 0, 4);
}

static size_t encode(char *to, uint32_t c)
{
    int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    size_t len = 0;

    to[len++] = (char)(more == 0 ? c : (0xFF00u >> (more + 1) & 0xFF) | c >> (6 * more));
    while (more-- > 0)
        to[len++] = (char)(0x80 | (c >> (6 * more) & 0x3F));
    return len;
}

/* Every range of code points takes exactly its characters, whatever its form in UTF-8. */
TEST(classes_hold_exactly_their_code_points)
{
    static const uint32_t edges[] = {0x0,     0x41,    0x7F,    0x80,    0xBF,     0xC0,    0xFF,
                                     0x7FF,   0x800,   0xFFF,   0x1000,  0xD7FF,   0xE000,  0xFFFF,
                                     0x10000, 0x3FFFF, 0x40000, 0xFFFFF, 0x100000, 0x10FFFF};
    size_t n = sizeof edges / sizeof *edges;

    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++) {
            char pattern[64], text[8];
            struct regex *re;

            snprintf(pattern, sizeof pattern, "^[\\x{%X}-\\x{%X}]$", edges[i], edges[j]);
            re = compile(pattern);
            REQUIRE(re != NULL);
            for (size_t k = 0; k < n; k++) {
                uint32_t c = edges[k];
                size_t len = encode(text, c);
                bool in = c >= edges[i] && c <= edges[j];

                EXPECT_INT(search(re, text, len, 1).start != NONE, in);
            }
            regex_free(re);
        }
}

/* What needs no look ahead is told with its last byte, not with the next chunk. */
TEST(a_match_is_told_at_its_last_byte)
{
    struct regex *re = compile("done(?:\\.|$)");
    struct regex_run *run = regex_run_new(re, 0);
    struct regex_match m;

    EXPECT_INT(regex_run_feed(run, "don", 3, &m), REGEX_MORE);
    EXPECT_INT(regex_run_feed(run, "e", 1, &m), REGEX_MORE);
    EXPECT_INT(regex_run_feed(run, "", 0, &m), REGEX_MORE);
    EXPECT_INT(regex_run_feed(run, ".", 1, &m), REGEX_MATCH);
    EXPECT_U64(m.start, 0);
    EXPECT_U64(m.end, 5);
    EXPECT_INT(regex_run_feed(run, "done.", 5, &m), REGEX_MATCH);
    EXPECT_U64(m.end, 5);
    regex_run_free(run);
    regex_free(re);
}

TEST(asking_for_the_end_in_a_pause_changes_nothing)
{
    struct regex *re = compile("\\$ $|ab$");
    struct regex_run *run = regex_run_new(re, 7);
    struct regex_match m;

    EXPECT_INT(regex_run_finish(run, &m), REGEX_MORE);
    EXPECT_INT(regex_run_feed(run, "a", 1, &m), REGEX_MORE);
    EXPECT_INT(regex_run_finish(run, &m), REGEX_MORE);
    EXPECT_INT(regex_run_feed(run, "bc\r\n$", 5, &m), REGEX_MORE);
    EXPECT_INT(regex_run_finish(run, &m), REGEX_MORE);
    EXPECT_INT(regex_run_feed(run, " ", 1, &m), REGEX_MORE);
    EXPECT_INT(regex_run_finish(run, &m), REGEX_MATCH);
    EXPECT_U64(m.start, 12);
    EXPECT_U64(m.end, 14);
    regex_run_free(run);
    regex_free(re);
}

TEST(the_byte_before_the_run_decides_about_the_first_anchor)
{
    struct regex *re = compile("^a|\\bb");
    struct regex_match m;

    for (int i = 0; i < 4; i++) {
        struct regex_run *run = regex_run_new(re, 5);

        if (i > 0)
            regex_run_set_before(run, (unsigned char)"\n x"[i - 1]);
        EXPECT_INT(regex_run_feed(run, "ab", 2, &m), i < 2 ? REGEX_MATCH : REGEX_MORE);
        regex_run_free(run);
        run = regex_run_new(re, 5);
        if (i > 0)
            regex_run_set_before(run, (unsigned char)"\n x"[i - 1]);
        EXPECT_INT(regex_run_feed(run, "b", 1, &m), i < 3 ? REGEX_MATCH : REGEX_MORE);
        regex_run_free(run);
    }
    regex_free(re);
}

static void expect_refused(const char *pattern, const char *where, const char *reason)
{
    struct hf_error err = {0};
    struct regex *re = regex_new(pattern, strlen(pattern), &err);

    if (re != NULL || err.code != HF_E_bad_regex || strstr(err.detail, where) == NULL ||
        strstr(err.detail, reason) == NULL) {
        test_failures++;
        fprintf(stderr, "/%s/: %s\n", pattern, re ? "taken" : err.detail);
    }
    regex_free(re);
}

TEST(what_is_not_understood_is_refused_with_place_and_reason)
{
    expect_refused("a\\1", "byte 1", "back-references");
    expect_refused("(a)\\k<x>", "byte 3", "back-references");
    expect_refused("(?P=x)", "byte 0", "back-references");
    expect_refused("x(?=a)", "byte 1", "look-around");
    expect_refused("x(?!a)", "byte 1", "look-around");
    expect_refused("(?<=a)", "byte 0", "look-around");
    expect_refused("(?<!a)", "byte 0", "look-around");
    expect_refused("(?<n>a)", "byte 0", "named groups");
    expect_refused("(?P<n>a)", "byte 0", "named groups");
    expect_refused("(?>a)", "byte 0", "kind of group");
    expect_refused("a(?i)b", "byte 1", "front");
    expect_refused("(?i:a)", "byte 0", "front");
    expect_refused("(a", "byte 0", "no )");
    expect_refused("a)", "byte 1", "no (");
    expect_refused("x[a", "byte 1", "no ]");
    expect_refused("x[]", "byte 1", "no ]");
    expect_refused("[[:alpha:]]", "byte 1", "POSIX");
    expect_refused("[b-a]", "byte 1", "high to low");
    expect_refused("[\\d-x]", "byte 1", "between characters");
    expect_refused("[\\B]", "byte 1", "unknown escape");
    expect_refused("*a", "byte 0", "nothing to repeat");
    expect_refused("a|+", "byte 2", "nothing to repeat");
    expect_refused("{2}", "byte 0", "nothing to repeat");
    expect_refused("^*", "byte 1", "nothing to repeat");
    expect_refused("a**", "byte 2", "second quantifier");
    expect_refused("a{2}{3}", "byte 4", "second quantifier");
    expect_refused("a++", "byte 2", "possessive");
    expect_refused("a{3,2}", "byte 1", "high to low");
    expect_refused("a{1001}", "byte 1", "1000");
    expect_refused("a{1,99999999999999999999}", "byte 1", "1000");
    expect_refused("\\", "byte 0", "at the end");
    expect_refused("[\\", "byte 1", "at the end");
    expect_refused("\\y", "byte 0", "unknown escape");
    expect_refused("\\Aa", "byte 0", "use ^");
    expect_refused("\\pL", "byte 0", "properties");
    expect_refused("\\012", "byte 0", "octal");
    expect_refused("\\x4", "byte 0", "hexadecimal");
    expect_refused("\\x{}", "byte 0", "hexadecimal");
    expect_refused("\\x{1234567}", "byte 0", "hexadecimal");
    expect_refused("\\x{110000}", "byte 0", "does not exist");
    expect_refused("\\x{D800}", "byte 0", "does not exist");
    expect_refused("\xFF", "", "UTF-8");
}

TEST(size_is_bounded)
{
    char deep[512] = "", wide[LIMIT_REGEX_BYTES + 2];
    struct regex *re;

    expect_refused("(?:[^a]{1000}){1000}", "states", "too large");
    expect_refused("((((((((a{9}){9}){9}){9}){9}){9}){9}){9})", "states", "too large");
    expect_refused("(?:[acegikmoqsuwyACEGIKMOQSUWY02468]{1000}){3}", "states", "too large");
    for (int i = 0; i < 101; i++)
        strcat(deep, "(");
    expect_refused(deep, "byte 100", "nested too deeply");
    memset(wide, 'a', sizeof wide);
    wide[LIMIT_REGEX_BYTES + 1] = '\0';
    expect_refused(wide, "", "longer than");
    /* Neither of these may take long, though they are repeated a lot. */
    MATCH("((((((((){1000}){1000}){1000}){1000}){1000}){1000}){1000})b", "ab", 1, 2);
    MATCH("((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)b", "aaab", 0, 4);
    re = compile(".{0,450}x");
    EXPECT(re != NULL && regex_slice_bytes(re) >= 16);
    regex_free(re);
    re = compile("x");
    EXPECT(re != NULL && regex_slice_bytes(re) >= 32 * 1024);
    regex_free(re);
}

/* What is counted before is what is built after, else one of the two limits would be wrong. */
static void expect_built_in_full(const char *pattern)
{
    struct regex_tree tree = {0};
    struct regex *re = calloc(1, sizeof *re);

    REQUIRE(re != NULL && regex_parse(&tree, pattern, strlen(pattern), NULL) == 0);
    EXPECT_INT(regex_build(re, &tree, NULL), 0);
    EXPECT_INT(regex_states_needed(&tree), re->state_count);
    regex_tree_fini(&tree);
    regex_free(re);
}

TEST(a_pattern_that_is_refused_was_not_built)
{
    static const char *const refused[] = {
        "(?:[acegikmoqsuwyACEGIKMOQSUWY02468]{1000}){3}",
        "((((a{1000}){1000}){1000}){1000}){1000}",
        ".{1000}",
        "(?:\\W\\S|[^\\x{100}-\\x{20000}]){500}",
    };
    static const char *const built[] = {
        "a",
        "",
        "a|b|cd",
        "(a|bc){3,7}",
        "x{0}",
        "(ab){2,}",
        "(a*)+",
        ".{5}",
        "\\W\\D*",
        "[^\\x{100}-\\x{20000}]+\\b$",
        "(?i)[a-f\\x{fc}\\x{20ac}\\x{1f600}-\\x{1f64f}]{2,4}?",
        "((){1000}){1000}",
    };

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct regex_tree tree = {0};
        struct regex re = {0};
        struct hf_error err;

        REQUIRE(regex_parse(&tree, refused[i], strlen(refused[i]), NULL) == 0);
        EXPECT(regex_build(&re, &tree, &err) < 0 && err.code == HF_E_bad_regex);
        EXPECT(re.states == NULL && re.edges == NULL && re.state_count == 0);
        regex_tree_fini(&tree);
    }
    for (size_t i = 0; i < sizeof built / sizeof *built; i++)
        expect_built_in_full(built[i]);
}

/* --- against the C library, on small patterns and texts --- */

static void put(char *to, const char *s)
{
    strcat(to, s);
}

static void make_pattern(char *to, int depth)
{
    static const char *atoms[] = {"a", "b", "c", ".", "[ab]", "[^a]", "[b-c]", "é"};
    static const char *tails[] = {"", "", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}"};
    int items = 1 + (int)rnd(3);

    for (int i = 0; i < items; i++) {
        if (depth > 0 && rnd(3) == 0) {
            put(to, "(");
            make_pattern(to, depth - 1);
            put(to, ")");
        } else {
            put(to, atoms[rnd(8)]);
        }
        put(to, tails[rnd(11)]);
        if (i + 1 < items && rnd(4) == 0)
            put(to, "|");
    }
}

static bool is_char_start(const char *s)
{
    return ((unsigned char)*s & 0xC0) != 0x80;
}

/* The first end, then the first start, for which the piece matches as a whole. */
static struct regex_match reference(const regex_t *whole, const char *text)
{
    size_t len = strlen(text);

    for (size_t end = 0; end <= len; end++)
        for (size_t start = 0; start <= end; start++) {
            char piece[64] = "";

            if (!is_char_start(text + start) || !is_char_start(text + end))
                continue;
            memcpy(piece, text + start, end - start);
            if (regexec(whole, piece, 0, NULL, 0) == 0)
                return (struct regex_match){BASE + start, BASE + end};
        }
    return (struct regex_match){NONE, NONE};
}

/*
 * A dot of ours is one character, so the C library must know UTF-8 too; where no
 * such locale is there, the patterns have no character that shows the difference.
 */
TEST(random_patterns_agree_with_the_c_library)
{
    bool utf8 = setlocale(LC_ALL, "C.UTF-8") != NULL;

    for (int i = 0; i < 3000; i++) {
        char pattern[512] = "", anchored[600], text[64] = "";
        struct regex *re;
        struct regex_match want;
        regex_t whole;

        make_pattern(pattern, 2);
        snprintf(anchored, sizeof anchored, "^(%s)$", pattern);
        if (!utf8 && strstr(pattern, "é") != NULL)
            continue;
        if (regcomp(&whole, anchored, REG_EXTENDED | REG_NOSUB) != 0)
            continue;
        re = compile(pattern);
        REQUIRE(re != NULL);
        for (int k = 0; k < 4; k++) {
            text[0] = '\0';
            for (uint32_t n = rnd(9); n > 0; n--)
                put(text, ((const char *[]){"a", "b", "c", utf8 ? "é" : "d"})[rnd(4)]);
            want = reference(&whole, text);
            for (size_t chunk = 0; chunk < 3; chunk++) {
                struct regex_match got = search(re, text, strlen(text), chunk);

                if (got.start != want.start || got.end != want.end) {
                    test_failures++;
                    fprintf(stderr,
                            "/%s/ in \"%s\": [%" PRId64 ",%" PRId64 ") not [%" PRId64 ",%" PRId64
                            ")\n",
                            pattern, text, (int64_t)got.start, (int64_t)got.end,
                            (int64_t)want.start, (int64_t)want.end);
                }
            }
        }
        regex_free(re);
        regfree(&whole);
    }
}

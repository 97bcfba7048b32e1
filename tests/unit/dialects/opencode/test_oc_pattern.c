/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_oc_pattern.c - an expression of ripgrep's becomes one of the C library's
 */
#include "test.h"

#include <regex.h>
#include <string.h>

#include "base/limits.h"
#include "dialects/opencode/oc_pattern.h"

/* What the expression matches in the text; NULL: nothing, or it is refused. */
static const char *match(const char *pattern, const char *text)
{
    static char out[100];
    struct buf b = {0};
    struct hf_error err = {0};
    const char *found = NULL;
    bool any_case;
    regmatch_t m;
    regex_t r;

    if (oc_pattern_decode(pattern, &b, &any_case, &err) == 0 &&
        regcomp(&r, buf_cstr(&b), REG_EXTENDED | (any_case ? REG_ICASE : 0)) == 0) {
        if (regexec(&r, text, 1, &m, 0) == 0) {
            snprintf(out, sizeof out, "%.*s", (int)(m.rm_eo - m.rm_so), text + m.rm_so);
            found = out;
        }
        regfree(&r);
    }
    buf_fini(&b);
    return found;
}

static const char *refusal(const char *pattern)
{
    static struct hf_error err;
    struct buf b = {0};
    bool any_case;
    int rc = oc_pattern_decode(pattern, &b, &any_case, &err);

    buf_fini(&b);
    return rc < 0 && err.code == HF_E_bad_query ? err.detail : NULL;
}

TEST(escapes_and_classes_find_the_same)
{
    EXPECT_STR(match("\\d+", "ab 123 c"), "123");
    EXPECT_STR(match("[\\d.]+\\s\\w+", "v 1.2 ab-c"), "1.2 ab");
    EXPECT_STR(match("\\bfoo\\(\\)", "xfoo() foo()"), "foo()");
    EXPECT_STR(match("(?:a|b)+?c", "xabac"), "abac");
    EXPECT_STR(match("(?P<n>a)(?<m>b)", "ab"), "ab");
    EXPECT_STR(match("(?i)hello", "HeLLo"), "HeLLo");
    EXPECT_STR(match("a\\tb", "a\tb"), "a\tb");
    EXPECT_STR(match("\\<\\/\\-\\#", "</-#"), "</-#");
    EXPECT_STR(match("\\Aab\\z", "ab"), "ab");
}

TEST(what_has_a_meaning_in_a_bracket_is_placed_where_it_has_none)
{
    EXPECT_STR(match("[\\]a-]+", "x]-ax"), "]-a");
    EXPECT_STR(match("[]x]+", "a]x"), "]x");
    EXPECT_STR(match("[\\^]", "a^"), "^");
    EXPECT_STR(match("[\\^-]+", "a-^"), "-^");
    EXPECT_STR(match("[^^-]+", "^ab-"), "ab");
    EXPECT_STR(match("[^]]+", "]ab]"), "ab");
    EXPECT_STR(match("[\\\\/]+", "a\\/"), "\\/");
    EXPECT_STR(match("[[:digit:]a-f]+", "x12ag"), "12a");
    EXPECT_STR(match("[[:^digit:]]+", "12ab1"), "ab");
    EXPECT_STR(match("[a-c\\-e]+", "xb-e"), "b-e");
}

/* They matched bytes: `x.y` did not find "x\u00e9y", and `\u00e9+` found half of a character. */
TEST(what_matches_one_character_matches_its_bytes)
{
    EXPECT_STR(match("x\u00e9?y", "xy"), "xy");
    EXPECT_STR(match("\u00e9+", "a\u00e9\u00e9b"), "\u00e9\u00e9");
    EXPECT_STR(match("\u20ac{2}x", "\u20ac\u20ac\u20acx"), "\u20ac\u20acx");
    EXPECT_STR(match("x.y", "x\u00e9y"), "x\u00e9y");
    EXPECT_STR(match("^caf.$", "caf\u00e9"), "caf\u00e9");
    EXPECT_STR(match(".", "\U0001f600"), "\U0001f600");
    EXPECT_STR(match("^.{2}$", "\u20ac\U0001f600"), "\u20ac\U0001f600");
    EXPECT_STR(match("^.{2}$", "\u20ac"), NULL);
    EXPECT_STR(match("^.+.$", "\u20ac"), NULL);
    EXPECT_STR(match("^(.+){2}$", "\u20ac"), NULL);
    EXPECT_STR(match("a.*b", "a\u20acb"), "a\u20acb");
    EXPECT_STR(match(".b", "\u00e9b"), "\u00e9b");
    EXPECT_STR(match("x[^a]y", "x\u00e9y"), "x\u00e9y");
    EXPECT_STR(match("x[^a]*y", "x\u00e9\u20acy"), "x\u00e9\u20acy");
    EXPECT_STR(match("[^\\]a^-]", "]^-\u00e9"), "\u00e9");
    EXPECT_STR(match("x\\Wy", "x\u00e9y"), "x\u00e9y");
    EXPECT_STR(match("x\\S+y", "x\u00e9y"), "x\u00e9y");
    EXPECT_STR(match("[\\Da]", "1\u00e9"), "\u00e9");
    EXPECT_STR(match("[[:^alpha:]]", "a\u00e9"), "\u00e9");
    EXPECT_STR(match("[^\\D]", "\u00e91"), "1");
    EXPECT_STR(match("[^\\W]+", "\u00e9a_"), "a_");
    EXPECT_STR(match("\\w+", "caf\u00e9"), "caf");
    EXPECT_STR(match("[a-z]", "\u00e9"), NULL);
    EXPECT_STR(match("(\u00e9|b)c", "\u00e9c"), "\u00e9c");
    EXPECT_STR(match(".", "\x80"), NULL);
}

TEST(what_it_cannot_say_is_refused)
{
    static const char *const bad[] = {"[ä]",    "\\p{L}", "(?=a)", "(?<!a)", "(?s)a", "a\\n", "[a",
                                      "[a&&b]", "[[a]]",  "\\x41", "a\\",    "[b-a]", "[\\n]"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        EXPECT(refusal(bad[i]) != NULL);
    EXPECT(refusal("plain") == NULL);
}

TEST(an_expression_has_a_limit)
{
    static char text[LIMIT_SEARCH_PATTERN_BYTES + 2];

    memset(text, 'a', sizeof text - 2);
    EXPECT(refusal(text) == NULL);
    text[sizeof text - 2] = 'a';
    EXPECT(refusal(text) != NULL);
}

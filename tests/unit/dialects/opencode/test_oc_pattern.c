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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_url_query.c - percent-decoding of a request's path and query
 */
#include "transport/url_query.h"

#include <errno.h>

#include "test.h"

static void expect_decoded(const char *in, bool plus, const char *want)
{
    char out[64];
    ssize_t n = url_percent_decode(in, strlen(in), plus, out);

    if (want == NULL) {
        EXPECT_INT(n, -EINVAL);
        return;
    }
    EXPECT_INT(n, (ssize_t)strlen(want));
    EXPECT_STR(out, want);
}

TEST(escapes_are_decoded_once)
{
    expect_decoded("", false, "");
    expect_decoded("abc", false, "abc");
    expect_decoded("%41%62%7a", false, "Abz");
    expect_decoded("%2525", false, "%25");
    expect_decoded("a+b", false, "a+b");
    expect_decoded("a+b%2B", true, "a b+");
    expect_decoded("%C3%a4", false, "\xc3\xa4");
}

TEST(bad_escapes_and_nul_are_refused)
{
    expect_decoded("%", false, NULL);
    expect_decoded("%4", false, NULL);
    expect_decoded("%4g", false, NULL);
    expect_decoded("%g4", false, NULL);
    expect_decoded("a%00b", false, NULL);
    expect_decoded("%u0041", false, NULL);
}

TEST(decoding_can_be_done_in_place)
{
    char text[] = "a%20b%2Fc";

    EXPECT_INT(url_percent_decode(text, strlen(text), false, text), 5);
    EXPECT_STR(text, "a b/c");
}

static void expect_path(const char *raw, size_t count, const char *const *segments)
{
    struct path p;
    const char *s;

    REQUIRE(path_parse(&p, raw, NULL) == 0);
    EXPECT_U64(p.count, count);
    s = p.mem;
    for (size_t i = 0; i < count; i++, s += strlen(s) + 1)
        EXPECT_STR(s, segments[i]);
    path_fini(&p);
}

TEST(a_path_is_cut_before_it_is_decoded)
{
    expect_path("/", 1, (const char *[]){""});
    expect_path("/a", 1, (const char *[]){"a"});
    expect_path("/a/", 2, (const char *[]){"a", ""});
    expect_path("//a", 2, (const char *[]){"", "a"});
    expect_path("/a%2Fb/c%20d", 2, (const char *[]){"a/b", "c d"});
    expect_path("/...", 1, (const char *[]){"..."});
    expect_path("/tag:x;y=1", 1, (const char *[]){"tag:x;y=1"});
}

TEST(paths_that_could_mislead_are_refused)
{
    static const char *const bad[] = {"",     "a",       "/.",      "/..",    "/a/../b",
                                      "/%2e", "/%2E%2e", "/a/%2e/", "/a%00b", "/a%0ab",
                                      "/%7f", "/%1b",    "/%",      "/a%2",   "*"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hf_error err = {0};
        struct path p;

        EXPECT_INT(path_parse(&p, bad[i], &err), -EINVAL);
        EXPECT_INT(err.code, HF_E_bad_path);
        EXPECT(p.mem == NULL);
    }
}

TEST(a_query_gives_names_and_values)
{
    struct url_query q;

    REQUIRE(query_parse(&q, "a=1&b=x+y%26z&&c&d=&%65=%3D", NULL) == 0);
    EXPECT_U64(q.count, 5);
    EXPECT_STR(query_get(&q, "a"), "1");
    EXPECT_STR(query_get(&q, "b"), "x y&z");
    EXPECT_STR(query_get(&q, "c"), "");
    EXPECT_STR(query_get(&q, "d"), "");
    EXPECT_STR(query_get(&q, "e"), "=");
    EXPECT_STR(query_get(&q, "f"), NULL);
    query_fini(&q);
    REQUIRE(query_parse(&q, "", NULL) == 0);
    EXPECT_U64(q.count, 0);
    query_fini(&q);
}

TEST(a_query_that_cannot_be_read_is_refused)
{
    static const char *const bad[] = {"a=%", "a=%zz", "%=1", "=1", "a=1&=2", "a=%00", "%00=1"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hf_error err = {0};
        struct url_query q;

        EXPECT_INT(query_parse(&q, bad[i], &err), -EINVAL);
        EXPECT_INT(err.code, HF_E_bad_query);
        EXPECT_U64(q.count, 0);
    }
}

TEST(a_query_has_a_bounded_number_of_parameters)
{
    char text[2 * QUERY_PAIRS_MAX + 2];
    struct url_query q;

    for (size_t i = 0; i < sizeof text - 1; i++)
        text[i] = i % 2 ? '&' : 'a';
    text[sizeof text - 1] = '\0';
    EXPECT_INT(query_parse(&q, text, NULL), -EINVAL);
    text[2 * QUERY_PAIRS_MAX - 1] = '\0';
    REQUIRE(query_parse(&q, text, NULL) == 0);
    EXPECT_U64(q.count, QUERY_PAIRS_MAX);
    query_fini(&q);
}

/* A typo in a parameter's name must not be taken for "not given". */
TEST(only_known_names_are_allowed_and_each_once)
{
    struct hf_error err = {0};
    struct url_query q;

    REQUIRE(query_parse(&q, "since=0&rows=24", NULL) == 0);
    EXPECT_INT(query_check(&q, "rows cols since", NULL), 0);
    EXPECT_INT(query_check(&q, "rows cols sinc", &err), -EINVAL);
    EXPECT_INT(err.code, HF_E_bad_query);
    EXPECT_STR(err.field, "since");
    EXPECT_INT(query_check(&q, "rows", NULL), -EINVAL);
    EXPECT_INT(query_check(&q, "", NULL), -EINVAL);
    EXPECT_INT(query_check(&q, NULL, NULL), -EINVAL);
    query_fini(&q);
    REQUIRE(query_parse(&q, "a=1&b=2&a=1", NULL) == 0);
    EXPECT_INT(query_check(&q, "a b", &err), -EINVAL);
    EXPECT_STR(err.field, "a");
    query_fini(&q);
    REQUIRE(query_parse(&q, "", NULL) == 0);
    EXPECT_INT(query_check(&q, NULL, NULL), 0);
    query_fini(&q);
}

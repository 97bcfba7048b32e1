/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cf_glob.c - patterns of a watch, and kinds of files
 */
#include "dialects/cloudflare/cf_glob.h"
#include "dialects/cloudflare/cf_mime.h"
#include "dialects/cloudflare/cloudflare_limits.h"
#include "test.h"

TEST(a_pattern_matches_whole_parts_of_a_path)
{
    static const struct {
        const char *pattern, *path;
        bool matches;
    } cases[] = {
        {"*.ts", "a.ts", true},
        {"*.ts", "sub/a.ts", true},
        {"*.ts", "a.tsx", false},
        {"node_modules", "x/node_modules/y", true},
        {"node_modules", "my_node_modules", false},
        {"a/*.c", "a/b/x.c", false},
        {"a/**/*.c", "a/b/d/x.c", true},
        {"a/**", "a/b", true},
        {"**", "", true},
        {"?.c", "/.c", false},
        {"a?c", "abc", true},
        {"a*b*c", "a--b--c", true},
        {"a*b*c", "a--c--b", false},
        {"", "", false},
        {"[a]", "[a]", false},
    };
    char most[LIMIT_CF_GLOB_BYTES + 2];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        EXPECT_INT(cf_glob_matches(cases[i].pattern, cases[i].path), cases[i].matches);
    memset(most, '*', sizeof most);
    most[LIMIT_CF_GLOB_BYTES] = '\0';
    EXPECT(cf_glob_is_valid(most) && cf_glob_matches(most, "anything/at/all"));
    most[LIMIT_CF_GLOB_BYTES] = '*';
    most[LIMIT_CF_GLOB_BYTES + 1] = '\0';
    EXPECT(!cf_glob_is_valid(most));
}

TEST(the_kind_of_a_file_comes_from_its_name_and_else_from_its_bytes)
{
    EXPECT_STR(cf_mime_type("/a/b.JSON", "\xff", 1), "application/json");
    EXPECT_STR(cf_mime_type("/a.png/b", "text", 4), "text/plain");
    EXPECT_STR(cf_mime_type("/.png", "", 0), "inode/x-empty");
    EXPECT_STR(cf_mime_type("/x", "a\0b", 3), "application/octet-stream");
    EXPECT_STR(cf_mime_type("/x", "\xc3", 1), "text/plain"); /* cut within a character */
    EXPECT(cf_mime_is_text("image/svg+xml", "<svg>", 5));
    EXPECT(!cf_mime_is_text("image/png", "text", 4));
    EXPECT(!cf_mime_is_text("text/plain", "\xff", 1));
}

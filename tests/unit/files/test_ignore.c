/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ignore.c - the rules of .gitignore, and how well a path fits a query
 */
#include "test.h"

#include <string.h>

#include "files/files.h"
#include "files/files_ignore.h"

static bool ignores(const char *rules, const char *path, bool is_directory)
{
    struct files_ignore g = {0};
    bool yes;

    files_ignore_add(&g, "/p", rules, strlen(rules));
    yes = files_ignore_matches(&g, path, is_directory);
    files_ignore_fini(&g);
    return yes;
}

TEST(a_name_matches_at_any_depth_and_a_path_only_from_its_directory)
{
    EXPECT(ignores("*.o", "/p/a.o", false));
    EXPECT(ignores("*.o", "/p/x/y/a.o", false));
    EXPECT(!ignores("*.o", "/p/a.c", false));
    EXPECT(ignores("/a", "/p/a", false));
    EXPECT(!ignores("/a", "/p/x/a", false));
    EXPECT(ignores("x/*.c", "/p/x/a.c", false));
    EXPECT(!ignores("x/*.c", "/p/x/y/a.c", false));
    EXPECT(!ignores("x/a", "/p/y/x/a", false));
}

TEST(a_slash_at_the_end_means_directories)
{
    EXPECT(ignores("build/", "/p/build", true));
    EXPECT(!ignores("build/", "/p/build", false));
    EXPECT(ignores("/out/", "/p/out", true));
}

TEST(two_stars_mean_any_number_of_directories)
{
    EXPECT(ignores("**/a", "/p/a", false));
    EXPECT(ignores("**/a", "/p/x/y/a", false));
    EXPECT(ignores("a/**", "/p/a/x/y", false));
    EXPECT(!ignores("a/**", "/p/a", true));
    EXPECT(ignores("a/**/b", "/p/a/b", false));
    EXPECT(ignores("a/**/b", "/p/a/x/y/b", false));
    EXPECT(ignores("a/**/b/**/c", "/p/a/b/x/b/y/c", false));
    EXPECT(!ignores("a/**/b", "/p/x/a/b", false));
}

TEST(the_last_rule_that_matches_decides)
{
    EXPECT(!ignores("*.o\n!keep.o\n", "/p/keep.o", false));
    EXPECT(ignores("!keep.o\n*.o\n", "/p/keep.o", false));
    EXPECT(ignores("*.o\n!keep.o\nkeep.*", "/p/keep.o", false));
}

TEST(comments_blanks_and_escapes)
{
    EXPECT(!ignores("# a\n\n   \n/\n!\n", "/p/# a", false));
    EXPECT(ignores("\\#a", "/p/#a", false));
    EXPECT(ignores("\\!a", "/p/!a", false));
    EXPECT(ignores("a  \r\n", "/p/a", false));
    EXPECT(ignores("a\\ ", "/p/a ", false));
    EXPECT(!ignores("a\\*", "/p/ab", false));
}

/* Each star of one segment alone is tried again, so this ends at once. */
TEST(many_stars_take_no_time)
{
    struct files_ignore g = {0};
    char rule[700], path[1500];

    strcpy(rule, "a");
    strcpy(path, "/p/a");
    for (int i = 0; i < 100; i++)
        strcat(rule, "/**/a");
    for (int i = 0; i < 500; i++)
        strcat(path, "/a");
    files_ignore_add(&g, "/p", rule, strlen(rule));
    EXPECT(files_ignore_matches(&g, path, false));
    strcat(path, "b");
    EXPECT(!files_ignore_matches(&g, path, false));
    files_ignore_fini(&g);
}

TEST(there_are_limits_for_rules)
{
    struct files_ignore g = {0};
    char line[FILES_IGNORE_RULE_BYTES + 3];

    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 2] = '\n';
    files_ignore_add(&g, "/p", line, sizeof line - 1);
    EXPECT(g.rule_count == 0);
    for (int i = 0; i < FILES_IGNORE_RULES + 5; i++)
        files_ignore_add(&g, "/p", "a\n", 2);
    EXPECT(g.rule_count == FILES_IGNORE_RULES);
    files_ignore_fini(&g);
}

TEST(a_name_fits_better_than_a_path_and_that_better_than_letters)
{
    int64_t whole = files_find_score("src/main.c", "main.c"),
            begin = files_find_score("src/main.c", "main"),
            inside = files_find_score("src/domain.c", "main"),
            above = files_find_score("main/x.c", "main"),
            letters = files_find_score("moan/in.c", "main");

    EXPECT(whole > begin && begin > inside && inside > above && above > letters && letters > 0);
    EXPECT(files_find_score("src/main.c", "niam") == 0);
    EXPECT(files_find_score("src/main.c", "MAIN src") > 0);
    EXPECT(files_find_score("src/main.c", "main lib") == 0);
    EXPECT(files_find_score("anything", "") > 0);
}

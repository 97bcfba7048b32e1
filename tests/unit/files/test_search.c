/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_search.c - which expressions are compiled, and how long a search and a listing last
 */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "files/files.h"
#include "files/files_tree.h"

/* Wraps: clock_mono_ms */
uint64_t __real_clock_mono_ms(void);
uint64_t __wrap_clock_mono_ms(void);

static uint64_t each_ms; /* what each look at the clock adds to it */

uint64_t __wrap_clock_mono_ms(void)
{
    static uint64_t added;

    added += each_ms;
    return __real_clock_mono_ms() + added;
}

/* The exit status of a search in an empty file. */
static int search_for(const char *expression)
{
    static char path[] = "/dev/null";
    char option[200];
    char *args[] = {path, option, NULL};
    int rc;

    snprintf(option, sizeof option, "regex=%s", expression);
    rc = files_search(args);
    alarm(0);
    return rc;
}

TEST(an_expression_that_repeats_a_little_is_compiled)
{
    static const char *const small[] = {"x",           "(a|b)*c+d?",   "[[:alpha:]_]{1,20}",
                                        "x{1000}",     "x{3}{4}{5}",   "(x{10}){10}",
                                        "a{2,}b{,3}c", "[{]{2}\\{{2}", "x{100}y{100}"};

    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        EXPECT_INT(search_for(small[i]), 0);
}

/* The digits of an interval counted as what the next one repeats, so x{1000}{1000} was small. It
 * took 210 MB, and another such interval killed the helper. */
TEST(an_expression_that_repeats_repetitions_is_refused)
{
    static const char *const large[] = {"x{1000}{1000}", "(x{1000}){1000}", "(x{100}){2}{100}",
                                        "x{100,}{100}",  "x{1000}+{10}",    "x{1000}{,1000}",
                                        "((x{99})+){99}"};

    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        EXPECT_INT(search_for(large[i]), 1);
}

/* --- time ------------------------------------------------------------------------------------ */

/* A project of ten files, all of them ignored. */
static void make_project(char *root)
{
    char path[100];

    EXPECT(mkdtemp(root) != NULL);
    for (int i = 0; i < 10; i++) {
        snprintf(path, sizeof path, "%s/%d", root, i);
        close(open(path, O_CREAT | O_WRONLY, 0600));
    }
    snprintf(path, sizeof path, "%s/.ignore", root);
    EXPECT(symlink("/dev/null", path) == 0);
    snprintf(path, sizeof path, "%s/.git", root);
    EXPECT(mkdir(path, 0700) == 0);
    snprintf(path, sizeof path, "%s/.gitignore", root);
    FILE *f = fopen(path, "w");
    EXPECT(f != NULL && fputs("*\n", f) >= 0 && fclose(f) == 0);
}

/* What a search prints. */
static size_t printed(char **args, char *out, size_t size)
{
    char name[] = "/tmp/files-printed-XXXXXX";
    int file = mkstemp(name), old = dup(STDOUT_FILENO);
    ssize_t n;

    EXPECT(file >= 0 && unlink(name) == 0 && fflush(stdout) == 0);
    EXPECT(dup2(file, STDOUT_FILENO) == STDOUT_FILENO);
    EXPECT_INT(files_search(args), 0);
    fflush(stdout);
    dup2(old, STDOUT_FILENO);
    n = pread(file, out, size - 1, 0);
    out[n > 0 ? n : 0] = '\0';
    close(file);
    close(old);
    return n > 0 ? (size_t)n : 0;
}

/* An ignored file was passed over before the time was looked at. */
TEST(a_search_among_ignored_files_ends_when_its_time_is_up)
{
    char root[] = "/tmp/files-search-XXXXXX", ignore[] = "ignore=1", out[200];
    char *args[] = {root, ignore, NULL};

    make_project(root);
    EXPECT_INT(printed(args, out, sizeof out), 0);
    each_ms = LIMIT_SEARCH_MS / 2;
    printed(args, out, sizeof out);
    EXPECT_STR(out, "{\"truncated\":true}\n");
    alarm(0);
    each_ms = 0;
    EXPECT_INT(files_remove_tree(root), 0);
}

/* It compared each name with each rule however long that took: 71 s were seen. */
TEST(a_listing_that_compares_names_with_rules_for_too_long_is_refused)
{
    char root[] = "/tmp/files-list-XXXXXX", depth[] = "1", plain[] = "plain=1";
    char *args[] = {root, depth, plain, NULL}, *usual[] = {root, depth, NULL};

    make_project(root);
    EXPECT_INT(files_list(args), 0);
    each_ms = LIMIT_SEARCH_MS / 2;
    EXPECT_INT(files_list(args), 1);
    EXPECT_INT(files_list(usual), 0);
    alarm(0);
    each_ms = 0;
    EXPECT_INT(files_remove_tree(root), 0);
}

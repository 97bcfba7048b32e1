/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_search.c - which expressions are compiled
 */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "files/files.h"

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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_client_print.c - fields in a line, times, and text without control characters
 */
#include "test.h"

#include "cli/client/client_print.h"
#include "cli/client/command.h"

static void expect_text(struct buf *b, const char *want, int line)
{
    if (strcmp(buf_cstr(b), want) != 0) {
        test_fail_at(__FILE__, line);
        fprintf(stderr, "got \"%s\", not \"%s\"\n", buf_cstr(b), want);
    }
    buf_fini(b);
}
#define EXPECT_TEXT(b, want) expect_text((b), (want), __LINE__)

TEST(fields_in_a_line)
{
    json_auto_t *o = json_pack("{s:s,s:{s:i},s:n,s:b,s:[i]}", "id", "x", "output", "next", 7, "tag",
                               "pty", 1, "list", 3);
    struct buf out = {0};

    print_format_write(&out, "{id}\\t{output.next} {tag}{none.a} {pty} {list} {{}}", o);
    EXPECT_TEXT(&out, "x\t7  true [3] {}\n");
    EXPECT_INT(print_format_check("{id} {{ }}"), 0);
    EXPECT_INT(print_format_check("{id"), -1);
    EXPECT_INT(print_format_check("id}"), -1);
    EXPECT_INT(print_format_check("{a{b}}"), -1);
    EXPECT_INT(print_format_check("\\{{x"), -1); /* an escaped brace is no half of a pair */
    EXPECT_INT(print_format_check("\\{{id}\\}"), 0);
    EXPECT_INT(print_format_check("{}"), -1);
}

TEST(times_on_the_command_line)
{
    int64_t ms = -1;

    EXPECT(optparse_time("0", &ms) && ms == 0);
    EXPECT(optparse_time("1500", &ms) && ms == 1500);
    EXPECT(optparse_time("2s", &ms) && ms == 2000);
    EXPECT(optparse_time("3m", &ms) && ms == 180000);
    EXPECT(optparse_time("1h", &ms) && ms == 3600000);
    EXPECT(!optparse_time("", &ms) && !optparse_time("s", &ms) && !optparse_time("1x", &ms));
    EXPECT(!optparse_time("-1", &ms) && !optparse_time("99999999999999999999", &ms));
    EXPECT(!optparse_time("100000d", &ms));
}

TEST(text_of_others_has_no_control_characters)
{
    struct buf out = {0};

    print_plain(&out, "a\033[31m\r\n\xc2\x9b\xff\xc3\xa9");
    EXPECT_TEXT(&out, "a?[31m????\xc3\xa9");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_session_markdown.c - output that cannot get out of its block
 */
#include "dialects/common/session_markdown.h"

#include "base/buf.h"
#include "test.h"

static void check_plain(const char *bytes, size_t len, const char *want)
{
    struct buf out = {0};

    markdown_put_plain(&out, bytes, len);
    EXPECT_STR(buf_cstr(&out), want);
    buf_fini(&out);
}

TEST(escapes_controls_and_bad_bytes_are_no_text)
{
    check_plain("a\x1b[1;31mred\x1b[0m\n", 16, "ared\n");
    check_plain("\x1b]0;title\x07x\x1b]8;;u\x1b\\y", 20, "xy");
    check_plain("\x1b(Bz\x1b=w\x1b", 8, "zw");
    check_plain("a\r\n\tb\b\x7f", 7, "a\n\tb");
    check_plain("\xff\xc3\xa9\xe2\x82", 5, "\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd");
    check_plain("x\x1b[12", 5, "x");
}

static void check_block(const char *head, const char *tail, uint64_t omitted, const char *want)
{
    struct buf out = {0};

    markdown_put_block(&out, "text", (struct session_text){head, strlen(head)},
                       (struct session_text){tail, strlen(tail)}, omitted);
    EXPECT_STR(buf_cstr(&out), want);
    buf_fini(&out);
}

TEST(a_fence_is_longer_than_what_it_holds)
{
    check_block("a", "", 0, "```text\na\n```\n");
    check_block("a\n", "", 0, "```text\na\n```\n");
    check_block("```\n", "", 0, "````text\n```\n````\n");
    check_block("``", "````", 0, "```````text\n``````\n```````\n");
    check_block("", "", 0, "```text\n```\n");
}

TEST(what_is_missing_is_said)
{
    check_block("head", "tail", 5, "```text\nhead\n[... 5 bytes omitted ...]\ntail\n```\n");
    check_block("", "t", 9, "```text\n[... 9 bytes omitted ...]\nt\n```\n");
}

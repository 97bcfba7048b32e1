/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_detach_keys.c - keys that detach are found in what is typed
 */
#include "test.h"

#include "base/detach_keys.h"

static void expect_text(struct buf *b, const char *want, int line)
{
    if (strcmp(buf_cstr(b), want) != 0) {
        test_fail_at(__FILE__, line);
        fprintf(stderr, "got \"%s\", not \"%s\"\n", buf_cstr(b), want);
    }
    buf_fini(b);
}
#define EXPECT_TEXT(b, want) expect_text((b), (want), __LINE__)

static bool feed_keys(const char *keys, const char *typed, struct buf *out)
{
    struct detach_keys d;

    EXPECT(detach_keys_parse(&d, keys));
    return detach_keys_feed(&d, typed, strlen(typed), out);
}

TEST(detach_keys_are_found_and_others_pass)
{
    struct buf out = {0};

    EXPECT(feed_keys("ctrl-p,ctrl-q", "ab\020\021cd", &out));
    EXPECT_TEXT(&out, "ab");
    EXPECT(!feed_keys("ctrl-p,ctrl-q", "a\020b\021\020x", &out));
    EXPECT_TEXT(&out, "a\020b\021\020x");
    EXPECT(feed_keys("ctrl-p,ctrl-q", "\020\020\021", &out));
    EXPECT_TEXT(&out, "\020");
    EXPECT(feed_keys("a,a,b", "aaab", &out));
    EXPECT_TEXT(&out, "a");
    EXPECT(!feed_keys("", "\020\021", &out));
    EXPECT_TEXT(&out, "\020\021");
}

TEST(detach_keys_that_are_no_keys_are_refused)
{
    static const char *const bad[] = {"ctrl-", "ctrl-p,",          ",a", "ctrl-1", "ab",
                                      "a,,b",  "a,b,c,d,e,f,g,h,i"};
    struct detach_keys d;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        EXPECT(!detach_keys_parse(&d, bad[i]));
    EXPECT(detach_keys_parse(&d, "DEL,del"));
    EXPECT_INT(d.keys[0], 127);
    EXPECT(detach_keys_parse(&d, "CTRL-@,ctrl-[,~"));
    EXPECT_INT(d.keys[0], 0);
    EXPECT_INT(d.keys[1], 27);
}

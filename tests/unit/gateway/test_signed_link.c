/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_signed_link.c - a link is valid for its port and its time only
 */
#include "test.h"

#include <errno.h>

#include "gateway/signed_link.h"

TEST(link_is_good_for_its_port_and_its_time_only)
{
    struct buf key = {0};
    char text[LINK_TEXT_BYTES];
    int64_t until;

    buf_puts(&key, "0123456789abcdef0123456789abcdef");
    link_sign(&key, "a", 80, 1000, text);
    EXPECT(link_is_good(&key, "a", 80, text, strlen(text), 999, &until));
    EXPECT_INT(until, 1000);
    EXPECT(!link_is_good(&key, "a", 80, text, strlen(text), 1000, &until));
    EXPECT(!link_is_good(&key, "a", 81, text, strlen(text), 999, &until));
    EXPECT(!link_is_good(&key, "b", 80, text, strlen(text), 999, &until));
    EXPECT(!link_is_good(&key, "a", 80, text, strlen(text) - 1, 999, &until));
    text[0] = '2';
    EXPECT(!link_is_good(&key, "a", 80, text, strlen(text), 999, &until));
    buf_fini(&key);
}

static const char *without(const char *query)
{
    static struct buf out;

    buf_clear(&out);
    link_put_query(&out, query);
    return buf_cstr(&out);
}

TEST(link_leaves_every_other_byte_of_a_query_alone)
{
    EXPECT_STR(without("?a=1&hf_link=x&&b=%2F&"), "?a=1&&b=%2F&");
    EXPECT_STR(without("?hf_link=x"), "");
    EXPECT_STR(without("?hf_link=x&a"), "?a");
    EXPECT_STR(without("?hf_linkx=1"), "?hf_linkx=1");
    EXPECT_STR(without(""), "");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_client_fetch.c - a response that breaks off
 */
#include "test.h"

#include "cli/client/client_fetch.h"

TEST(an_answer_that_breaks_off_is_not_complete)
{
    const char *text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc";
    struct http1 a;
    size_t used, at = 0;

    fetch_expect(&a, false);
    while (at < strlen(text)) {
        http1_feed(&a, text + at, strlen(text) - at, &used);
        at += used;
    }
    EXPECT_INT(a.status, 200);
    EXPECT(!http1_finish(&a));
    http1_fini(&a);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_redis_reply.c - replies of Redis
 */
#include "test.h"

#include <errno.h>

#include "gateway/redis.h"

TEST(redis_replies_come_whole_or_not_at_all)
{
    struct redis_reader *r = redis_reader_new();
    struct redis_reply *v;
    const char *text = "*2\r\n$3\r\na\0b\r\n:7\r\n";

    EXPECT_INT(redis_reader_feed(r, text, 10), 0);
    EXPECT_INT(redis_reader_next(r, &v), 0);
    EXPECT_INT(redis_reader_feed(r, text + 10, 7), 0);
    REQUIRE(redis_reader_next(r, &v) == 1);
    EXPECT_INT((int)v->count, 2);
    EXPECT_INT((int)v->items[0]->len, 3);
    EXPECT_INT((int)v->items[1]->number, 7);
    redis_reply_free(v);
    EXPECT_INT(redis_reader_feed(r, "nonsense\r\n", 10), 0);
    EXPECT_INT(redis_reader_next(r, &v), -EPROTO);
    redis_reader_free(r);
}

/* We never send HELLO 3, so a type that only RESP3 has is an error, alone or in a list. */
TEST(redis_replies_are_those_of_resp2)
{
    static const char *const bad[] = {",-1\r\n",
                                      "#t\r\n",
                                      "%1\r\n:1\r\n:2\r\n",
                                      "~1\r\n:1\r\n",
                                      "(12\r\n",
                                      "=5\r\ntxt:a\r\n",
                                      ">1\r\n:1\r\n",
                                      "*1\r\n,1\r\n",
                                      "*1\r\n#f\r\n",
                                      "*2\r\n:1\r\n~1\r\n:1\r\n",
                                      "_\r\n",
                                      "*1\r\n_\r\n"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct redis_reader *r = redis_reader_new();
        struct redis_reply *v;

        EXPECT_INT(redis_reader_feed(r, bad[i], strlen(bad[i])), 0);
        EXPECT_INT(redis_reader_next(r, &v), -EPROTO);
        redis_reader_free(r);
    }
}

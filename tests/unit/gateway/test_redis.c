/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_redis.c - the address of a Redis server
 */
#include "test.h"

#include <errno.h>

#include "gateway/redis.h"

TEST(redis_url_is_an_address)
{
    struct hf_error err = {0};
    struct redis_url u;

    EXPECT_INT(redis_parse_url("redis://127.0.0.1:6380/3?id=a", &u, &err), 0);
    EXPECT_INT((int)u.db, 3);
    EXPECT_STR(u.query, "id=a");
    EXPECT_INT(redis_parse_url("redis://localhost", &u, &err), 0);
    EXPECT(redis_parse_url("redis://name:1", &u, &err) < 0);
    EXPECT(redis_parse_url("redis://1.2.3.4/x", &u, &err) < 0);
    EXPECT(redis_parse_url("http://1.2.3.4", &u, &err) < 0);
    EXPECT(redis_parse_url("redis://1.2.3.4/12345", &u, &err) < 0);
    EXPECT(!u.tls);
    EXPECT_INT(redis_parse_url("rediss://u@[::1]:7/1?id=a&ca_file=/x/y&ttl_ms=3", &u, &err), 0);
    EXPECT(u.tls && u.db == 1);
    EXPECT_STR(u.user, "u");
    EXPECT_STR(u.ca_file, "/x/y");
    EXPECT_STR(u.query, "id=a&ca_file=/x/y&ttl_ms=3");
    EXPECT_INT(redis_parse_url("rediss://1.2.3.4?x_ca_file=/no&password_file=/p@q", &u, &err), 0);
    EXPECT_STR(u.ca_file, "");
    EXPECT_STR(u.password_file, "/p@q");
    EXPECT(redis_parse_url("redis://1.2.3.4?ca_file=/x", &u, &err) < 0);
    EXPECT(redis_parse_url("redis://@1.2.3.4", &u, &err) < 0);
    EXPECT(redis_parse_url("redis://1.2.3.4?password_file=", &u, &err) < 0);
}

TEST(redis_url_has_no_password_in_it)
{
    struct hf_error err = {0};
    struct redis_url u;

    EXPECT(redis_parse_url("redis://:pw@127.0.0.1:6380", &u, &err) < 0);
    EXPECT(strstr(err.detail, "password_file=FILE") != NULL);
    EXPECT_INT(redis_parse_url("redis://u@1.2.3.4", &u, &err), 0);
    EXPECT(redis_url_load(&u, NULL, &err) < 0); /* a user without one */
    EXPECT_INT(redis_url_load(&u, "secret\n", &err), 0);
    EXPECT_STR(u.password, "secret");
}

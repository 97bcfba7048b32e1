/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_origin.c - Host and Origin checks
 */
#include "transport/origin.h"

#include <errno.h>

#include "test.h"

TEST(a_host_is_a_name_or_an_address_with_a_port)
{
    static const char *const good[] = {
        "localhost", "a.b-c_d", "127.0.0.1:80", "[::1]", "[::1]:65535", "x:0", "a."};
    static const char *const bad[] = {"",         ":80",  "a:",  "a:x", "a:65536", "a b", "a/b",
                                      "a@b",      "[::1", "[x]", "::1", "[::1]x",  "a,b", "a:1:2",
                                      "\xc3\xa4", "a\"b", "a#b", "a?b", "[]"};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        EXPECT(origin_host_is_valid(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        EXPECT(!origin_host_is_valid(bad[i]));
}

/* A name that an attacker's DNS could point at 127.0.0.1 is not ours. */
TEST(only_addresses_and_known_names_are_our_host)
{
    struct origin *o = origin_new();

    origin_allow_host(o, "Box.example");
    EXPECT(origin_host_ok(o, "localhost", false));
    EXPECT(origin_host_ok(o, "LOCALHOST:7070", false));
    EXPECT(origin_host_ok(o, "localhost.", false));
    EXPECT(origin_host_ok(o, "x.localhost:1", false));
    EXPECT(origin_host_ok(o, "127.0.0.1", false));
    EXPECT(origin_host_ok(o, "192.168.1.7:80", false));
    EXPECT(origin_host_ok(o, "[::1]:80", false));
    EXPECT(origin_host_ok(o, "box.EXAMPLE:1", false));
    EXPECT(!origin_host_ok(o, "evil.example", false));
    EXPECT(!origin_host_ok(o, "localhost.evil.example", false));
    EXPECT(!origin_host_ok(o, "notlocalhost", false));
    EXPECT(!origin_host_ok(o, ".localhost", false));
    EXPECT(!origin_host_ok(o, "127.0.0.1.evil.example", false));
    EXPECT(!origin_host_ok(o, "1.2.3", false));
    EXPECT(!origin_host_ok(o, "a.box.example", false));
    EXPECT(!origin_host_ok(o, "", false));
    EXPECT(origin_host_ok(o, "whatever", true)); /* no DNS leads to a unix socket */
    EXPECT(origin_host_ok(o, "/run/docker.sock", true));
    EXPECT(!origin_host_ok(o, "/run/docker.sock", false));
    origin_free(o);
}

TEST(an_origin_is_ours_when_scheme_host_and_port_are)
{
    EXPECT(origin_is_same("http://localhost:7070", "localhost:7070", false));
    EXPECT(origin_is_same("http://localhost", "localhost:80", false));
    EXPECT(origin_is_same("http://LOCALHOST:80", "localhost", false));
    EXPECT(origin_is_same("https://box.example", "box.example:443", true));
    EXPECT(origin_is_same("http://[::1]:7", "[::1]:7", false));
    EXPECT(!origin_is_same("http://localhost:7071", "localhost:7070", false));
    EXPECT(!origin_is_same("https://localhost:7070", "localhost:7070", false));
    EXPECT(!origin_is_same("http://127.0.0.1:7070", "localhost:7070", false));
    EXPECT(!origin_is_same("http://localhost:7070/", "localhost:7070", false));
    EXPECT(!origin_is_same("null", "localhost:7070", false));
    EXPECT(!origin_is_same("", "localhost:7070", false));
    EXPECT(!origin_is_same("http://x", NULL, false));
}

TEST(an_allow_list_is_exact)
{
    struct origin *o = origin_new();

    EXPECT_INT(origin_allow_origin(o, "https://friend.example"), 0);
    EXPECT_INT(origin_allow_origin(o, "http://dev.example:3000"), 0);
    EXPECT_INT(origin_allow_origin(o, "friend.example"), -EINVAL);
    EXPECT_INT(origin_allow_origin(o, "*"), -EINVAL);
    EXPECT_INT(origin_allow_origin(o, "https://friend.example/path"), -EINVAL);
    EXPECT(origin_is_listed(o, "https://friend.example"));
    EXPECT(origin_is_listed(o, "https://FRIEND.example:443"));
    EXPECT(!origin_is_listed(o, "http://friend.example"));
    EXPECT(!origin_is_listed(o, "https://friend.example:444"));
    EXPECT(!origin_is_listed(o, "https://a.friend.example"));
    EXPECT(!origin_is_listed(o, "https://friend.example.evil"));
    EXPECT(!origin_is_listed(o, "http://dev.example"));
    EXPECT(!origin_is_listed(o, "null"));
    EXPECT(origin_origin_ok(o, "http://dev.example:3000", "localhost", false));
    EXPECT(origin_origin_ok(o, "http://localhost", "localhost", false));
    EXPECT(!origin_origin_ok(o, "http://evil.example", "localhost", false));
    origin_free(o);
}

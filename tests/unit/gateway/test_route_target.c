/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_route_target.c - sandbox, port and path in a target or a host name
 */
#include "test.h"

#include <errno.h>

#include "gateway/resolver.h"
#include "gateway/route_target.h"

static const char *where(const char *target, const char *host)
{
    static char text[400];
    struct hf_error err = {0};
    struct route_target p;
    int rc = route_target_parse(target, host, "gw.test", &p, &err);

    if (rc == -ENOENT)
        return "none";
    if (rc < 0)
        return hf_code_name(err.code);
    snprintf(text, sizeof text, "%s %u %.*s %s", p.id, p.port, (int)p.rest_len, p.rest, p.query);
    return text;
}

TEST(place_reads_both_path_forms)
{
    EXPECT_STR(where("/v1/sandboxes/a/proxy/80/x?y", "h"), "a 80 /x ?y");
    EXPECT_STR(where("/sandboxes/a/proxy/80", "h"), "a 80  ");
    EXPECT_STR(where("/sandboxes/a/proxy/80?q", "h"), "a 80  ?q");
    EXPECT_STR(where("/sandboxes/a.b-c_d/proxy/65535/", "h"), "a.b-c_d 65535 / ");
    EXPECT_STR(where("http://h/sandboxes/a/proxy/1/../x", "h"), "a 1 /../x ");
}

TEST(place_knows_what_is_no_sandbox)
{
    EXPECT_STR(where("/", "h"), "none");
    EXPECT_STR(where("/v2/sandboxes/a/proxy/80/", "h"), "none");
    EXPECT_STR(where("/sandboxes/../proxy/80/", "h"), "none");
    EXPECT_STR(where("/sandboxes/a%62/proxy/80/", "h"), "none");
    EXPECT_STR(where("/sandboxes//proxy/80/", "h"), "none");
    EXPECT_STR(where("/sandboxes/a/proxy/080/", "h"), "none");
    EXPECT_STR(where("/sandboxes/a/proxy/65536/", "h"), "none");
    EXPECT_STR(where("/sandboxes/a/proxy/80x/", "h"), "none");
    EXPECT_STR(where("/sandboxes/a/proxy//", "h"), "none");
}

TEST(place_refuses_two_hosts_and_other_schemes)
{
    EXPECT_STR(where("http://other/sandboxes/a/proxy/1/", "h"), "bad_request");
    EXPECT_STR(where("ftp://h/x", "h"), "bad_path");
    EXPECT_STR(where("*", "h"), "bad_path");
    EXPECT_STR(where("/x#y", "h"), "bad_path");
    EXPECT_STR(where("http://h", "h"), "bad_path");
}

TEST(place_reads_host_names)
{
    EXPECT_STR(where("/x?y", "80-Al-pha.GW.test:7071"), "al-pha 80 /x ?y");
    EXPECT_STR(where("/x", "80-.gw.test"), "none");
    EXPECT_STR(where("/x", "080-a.gw.test"), "none");
    EXPECT_STR(where("/x", "80-a.gw.test.evil"), "none");
    EXPECT_STR(where("/x", "gw.test"), "none");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_endpoint.c - endpoints as a resolver reports them
 */
#include "test.h"

#include <errno.h>

#include "base/limits.h"
#include "gateway/resolver.h"

TEST(endpoint_lists_its_ports_or_has_the_allowed_ones)
{
    struct roster *t = roster_new();
    struct hf_error err = {0};
    struct endpoint *e;
    struct address a;
    char text[64];
    const char *lines = "10.0.0.5 a 80 81=3000\n# none\nfd00::1 b\n";

    REQUIRE(roster_parse(t, lines, strlen(lines), &err) == 0);
    EXPECT_INT((int)roster_count(t), 2);
    e = roster_get(t, "a");
    REQUIRE(endpoint_find_port(e, 81, false, &a));
    endpoint_address_text(&a, text, sizeof text);
    EXPECT_STR(text, "10.0.0.5:3000");
    EXPECT(!endpoint_find_port(e, 82, true, &a));
    e = roster_get(t, "b");
    EXPECT(!endpoint_find_port(e, 80, false, &a));
    REQUIRE(endpoint_find_port(e, 80, true, &a));
    endpoint_address_text(&a, text, sizeof text);
    EXPECT_STR(text, "[fd00::1]:80");
    EXPECT(roster_get(t, "c") == NULL);
    roster_free(t);
}

static const char *verdict(const char *json)
{
    static struct hf_error err;
    struct roster *t = roster_new();
    int rc = roster_parse(t, json, strlen(json), &err);

    roster_free(t);
    return rc == 0 ? "fine" : err.detail;
}

TEST(endpoint_refuses_what_could_change_a_request)
{
#define ONE(fields) "{\"sandboxes\":{\"a\":{\"address\":\"1.2.3.4:7070\"," fields "}}}"
    EXPECT_STR(verdict(ONE("\"ports\":[80]")), "fine");
    EXPECT_STR(verdict(ONE("\"headers\":{\"X\":\"a\\r\\nB: c\"}")),
               "headers: a name or a value cannot be sent.");
    EXPECT_STR(verdict(ONE("\"headers\":{\"Content-Length\":\"1\"}")),
               "headers: a name or a value cannot be sent.");
    EXPECT_STR(verdict(ONE("\"prefix\":\"/a b\"")),
               "prefix: must begin with / and not end with it.");
    EXPECT_STR(verdict(ONE("\"tokens\":[\"short\"]")),
               "tokens: each must have at least 16 characters or be sha256:HEX.");
    EXPECT_STR(verdict(ONE("\"ports\":[0]")),
               "ports: a list must contain port numbers, and requires `address`.");
}

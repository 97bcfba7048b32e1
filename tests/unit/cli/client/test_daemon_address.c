/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_daemon_address.c - addresses of daemons
 */
#include "test.h"

#include "cli/client/daemon_address.h"

TEST(addresses_of_daemons)
{
    struct daemon_address p = {0};
    struct hf_error err;

    EXPECT_INT(daemon_address_parse(&p, "http://127.0.0.1:7070/", &err), 0);
    EXPECT(strcmp(p.host, "127.0.0.1") == 0 && p.port == 7070 && p.prefix[0] == '\0');
    EXPECT(daemon_address_is_local(&p));
    EXPECT_INT(daemon_address_parse(&p, "https://[::1]/a/b/", &err), 0);
    EXPECT(strcmp(p.host, "::1") == 0 && p.port == 443 && strcmp(p.prefix, "/a/b") == 0 && p.tls);
    EXPECT_INT(daemon_address_parse(&p, "unix:///run/x", &err), 0);
    EXPECT(strcmp(p.unix_path, "/run/x") == 0 && !p.tls);
    EXPECT_INT(daemon_address_parse(&p, "unix:rel", &err), 0);
    EXPECT(strcmp(p.unix_path, "rel") == 0);
    EXPECT_INT(daemon_address_parse(&p, "http://example.org", &err), 0);
    EXPECT(p.port == 80 && !daemon_address_is_local(&p));
    EXPECT(daemon_address_parse(&p, "http://a:b", &err) < 0);
    EXPECT(daemon_address_parse(&p, "http://::1:80", &err) < 0);
    EXPECT(daemon_address_parse(&p, "http://[::1", &err) < 0);
    EXPECT(daemon_address_parse(&p, "http://h:0", &err) < 0);
    EXPECT(daemon_address_parse(&p, "h:1", &err) < 0);
    daemon_address_fini(&p);
}

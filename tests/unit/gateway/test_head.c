/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_head.c - the address of a peer without its port
 */
#include "test.h"

#include "gateway/head.h"

static const char *ip_of(const char *peer)
{
    static char ip[64];

    head_peer_ip(peer, ip, sizeof ip);
    return ip;
}

TEST(an_address_is_told_from_its_port)
{
    EXPECT_STR(ip_of("127.0.0.1:4711"), "127.0.0.1");
    EXPECT_STR(ip_of("127.0.0.1"), "127.0.0.1");
    EXPECT_STR(ip_of("[fd00::1]:4711"), "fd00::1");
    EXPECT_STR(ip_of("[fd00::1]"), "fd00::1");
    EXPECT_STR(ip_of("unix:uid=0"), "unix");
}

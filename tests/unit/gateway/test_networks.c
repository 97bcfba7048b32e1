/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_networks.c - the networks that a gateway may connect to
 */
#include "test.h"

#include <errno.h>

#include "gateway/networks.h"

static bool may_call(const struct networks *n, const char *ip)
{
    struct address a;

    return endpoint_address_parse(ip, 80, &a) && networks_allow(n, &a);
}

TEST(networks_refuse_this_machine_and_its_neighbours)
{
    static const char *const bad[] = {"127.0.0.1",
                                      "127.255.0.1",
                                      "0.0.0.0",
                                      "0.1.2.3",
                                      "169.254.169.254",
                                      "224.0.0.1",
                                      "255.255.255.255",
                                      "100.100.100.200",
                                      "168.63.129.16",
                                      "192.0.0.192",
                                      "::",
                                      "::1",
                                      "fe80::1",
                                      "febf::1",
                                      "ff02::1",
                                      "fd00:ec2::254",
                                      "::ffff:127.0.0.1",
                                      "::127.0.0.1",
                                      "64:ff9b::169.254.169.254"};
    static const char *const fine[] = {"10.0.0.5", "172.30.0.2", "192.168.1.1", "100.64.0.1",
                                       "8.8.8.8",  "fd00::5",    "2001:db8::1", "fec0::1"};
    struct networks none = {0};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        EXPECT(!may_call(&none, bad[i]));
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        EXPECT(may_call(&none, fine[i]));
}

TEST(networks_that_are_listed_are_the_only_ones)
{
    struct networks n = {0};

    EXPECT(networks_add(&n, "10.0.0.0/15"));
    EXPECT(networks_add(&n, "127.0.0.1"));
    EXPECT(networks_add(&n, "fd00::/9"));
    EXPECT(may_call(&n, "10.0.0.1") && may_call(&n, "10.1.255.255") && !may_call(&n, "10.2.0.0"));
    EXPECT(may_call(&n, "127.0.0.1") && !may_call(&n, "127.0.0.2"));
    EXPECT(may_call(&n, "fd7f::1") && !may_call(&n, "fd80::1") && !may_call(&n, "8.8.8.8"));
    EXPECT(!networks_add(&n, "10.0.0.0/33") && !networks_add(&n, "name") &&
           !networks_add(&n, "10.0.0.0:80/8") && !networks_add(&n, "10.0.0.0/"));
    while (n.count < NETWORKS_MAX)
        EXPECT(networks_add(&n, "10.0.0.1"));
    EXPECT(!networks_add(&n, "10.0.0.1"));
}

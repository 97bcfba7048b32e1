/* SPDX-License-Identifier: Apache-2.0 */
/*
 * networks.c - which addresses the gateway connects to for a sandbox
 *
 * Layer: gateway.
 */
#include "gateway/networks.h"

#include <stdio.h>
#include <string.h>

#include "base/braces.h"
#include "base/text.h"

#define V4(a, b, c, d, n)                                                                          \
    BRACES(BRACES(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d), 96 + (n))

/* This machine, this link, no host or many hosts, and services of clouds for their machines. */
static const struct network never[] = {
    V4(0, 0, 0, 0, 8),              /* this machine, to Linux */
    V4(127, 0, 0, 0, 8),            /* loopback */
    V4(169, 254, 0, 0, 16),         /* link-local, and the metadata service of most clouds */
    V4(224, 0, 0, 0, 3),            /* multicast, reserved, broadcast */
    V4(100, 100, 100, 200, 32),     /* metadata: Alibaba */
    V4(168, 63, 129, 16, 32),       /* Azure's host */
    V4(192, 0, 0, 192, 32),         /* metadata: Oracle */
    {{0}, 127},                     /* :: and ::1 */
    {{0xfe, 0x80}, 10},             /* link-local */
    {{0xff}, 8},                    /* multicast */
    {{0xfd, 0x00, 0x0e, 0xc2}, 64}, /* metadata: AWS, fd00:ec2::254 */
};

static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b};

/* Every notation of an IPv4 address is that address, also one that a translator would unpack. */
static void normalize(const struct address *a, uint8_t out[16])
{
    static const uint8_t zero[12];

    if (a->any.sa_family == AF_INET) {
        memcpy(out, mapped, sizeof mapped);
        memcpy(out + 12, &a->v4.sin_addr, 4);
        return;
    }
    memcpy(out, &a->v6.sin6_addr, 16);
    if (memcmp(out, nat64, sizeof nat64) == 0 ||
        (memcmp(out, zero, sizeof zero) == 0 && (out[12] != 0 || out[13] != 0)))
        memcpy(out, mapped, sizeof mapped);
}

static bool network_has(const struct network *n, const uint8_t address[16])
{
    unsigned whole = n->bits / 8, rest = n->bits % 8;
    uint8_t mask = (uint8_t)(0xff00 >> rest);

    return memcmp(n->base, address, whole) == 0 &&
           (rest == 0 || (n->base[whole] & mask) == (address[whole] & mask));
}

bool networks_add(struct networks *n, const char *text)
{
    const char *slash = strchr(text, '/');
    struct network *item = &n->items[n->count];
    unsigned all;
    uint64_t bits;
    char host[64];
    struct address a;

    snprintf(host, sizeof host, "%.*s", slash != NULL ? (int)(slash - text) : 63, text);
    if (n->count == NETWORKS_MAX || !endpoint_address_parse(host, 0, &a) ||
        endpoint_address_port(&a) != 0)
        return false;
    all = a.any.sa_family == AF_INET ? 32 : 128;
    bits = all;
    if (slash != NULL && !text_to_u64(slash + 1, all, &bits))
        return false;
    normalize(&a, item->base);
    item->bits = 128 - all + (unsigned)bits;
    n->count++;
    return true;
}

bool networks_allow(const struct networks *n, const struct address *a)
{
    uint8_t address[16];

    normalize(a, address);
    for (size_t i = 0; i < n->count; i++) {
        if (network_has(&n->items[i], address))
            return true;
    }
    for (size_t i = 0; n->count == 0 && i < sizeof never / sizeof *never; i++) {
        if (network_has(&never[i], address))
            return false;
    }
    return n->count == 0;
}

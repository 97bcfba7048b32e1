/* SPDX-License-Identifier: Apache-2.0 */
/*
 * networks.h - which addresses the gateway connects to for a sandbox
 *
 * A sandbox that registers itself, or a label, names an address. It must not make the gateway
 * connect to what only the gateway can reach: its own machine, or a cloud's metadata service.
 * Without a list those are refused and everything else is allowed; with one, only its networks are.
 * Pure. Layer: gateway.
 */
#ifndef HF_GATEWAY_NETWORKS_H
#define HF_GATEWAY_NETWORKS_H

#include "gateway/endpoint.h"

#define NETWORKS_MAX 64 /* as many as the command line accepts */

struct network {
    uint8_t base[16]; /* IPv4 as ::ffff:a.b.c.d */
    unsigned bits;
};

struct networks { /* {0}: no list */
    struct network items[NETWORKS_MAX];
    size_t count;
};

/* Parses "10.0.0.0/8", "fd00::/8", or an address alone. False: none of these. */
bool networks_add(struct networks *n, const char *text);
bool networks_allow(const struct networks *n, const struct address *a);

#endif

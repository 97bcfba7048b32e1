/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label_ports.h - builds an endpoint from a container's labels
 *
 * Layer: gateway.
 */
#ifndef HF_GATEWAY_LABEL_PORTS_H
#define HF_GATEWAY_LABEL_PORTS_H

#include "gateway/endpoint.h"

/* `ports` "80,81=3000" and `tokens` "sha256:HEX,…", as in labels and annotations; either may be
 * NULL. Returns NULL if the address or a word is invalid. */
struct endpoint *endpoint_from_labels(const char *address, const char *ports, const char *tokens);

#endif

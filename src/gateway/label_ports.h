/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label_ports.h - an endpoint from what a container engine says of one. Layer: gateway.
 */
#ifndef HF_GATEWAY_LABEL_PORTS_H
#define HF_GATEWAY_LABEL_PORTS_H

#include "gateway/endpoint.h"

/* `ports` "80,81=3000" and `tokens` "sha256:HEX,…", as labels and annotations have them; either
 * may be NULL. NULL: the address is none, or a word is not what it should be. */
struct endpoint *endpoint_from_labels(const char *address, const char *ports, const char *tokens);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route_target.h - parses the target of a request: which sandbox, which port, what path there
 *
 * There are two forms: "[/v1]/sandboxes/{id}/proxy/{port}[/path]" and, with a domain of the
 * gateway's own, the Host "{port}-{id}.domain". Nothing is decoded: an id is plain characters, and
 * what follows the port is forwarded byte for byte, so the sandbox gets exactly what was checked
 * here.
 *
 * Pure: strings in, offsets out. Layer: gateway.
 */
#ifndef HF_GATEWAY_ROUTE_TARGET_H
#define HF_GATEWAY_ROUTE_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define PLACE_ID_BYTES 63 /* a DNS label, so that every sandbox can have a host name */

struct route_target {
    char id[PLACE_ID_BYTES + 1];
    uint16_t port;
    bool by_host;      /* the host names the sandbox, so its pages have an origin of their own */
    const char *path;  /* in the target: after scheme and host */
    size_t prefix_len; /* of the path: up to and including the port; 0 by host */
    const char *rest;  /* of the path for the sandbox: "" or begins with '/' */
    size_t rest_len;
    const char *query; /* "" or begins with '?' */
    char host[256];    /* of the request: from an absolute target, else the header; "" */
};

/*
 * `target` as sent and NUL-terminated, `host` the header's value or NULL, `domain` NULL without
 * host names. 0; -ENOENT: it names no sandbox (path, query and host are set nevertheless);
 * otherwise err says why the request is refused.
 */
int route_target_parse(const char *target, const char *host, const char *domain,
                       struct route_target *out, struct hf_error *err);
bool route_target_id_is_valid(const char *id, size_t len);

#endif

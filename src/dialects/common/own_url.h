/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_url.h - the address at which a client reached this daemon
 *
 * Control planes tell their clients where to go next, which here is the daemon itself. A gateway
 * forwards the host, the scheme and the path that its client used. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_OWN_URL_H
#define HF_DIALECTS_COMMON_OWN_URL_H

#include "base/buf.h"
#include "transport/http.h"

const char *own_url_host(const struct http_request *rq); /* with its port; "localhost" if unknown */
/* The length of the path in front of the last `route`, which is the dialect's own. */
size_t own_url_mount(const struct http_request *rq, const char *route);
/* Appends the address and the first `mount` bytes of the path. The scheme is "http" or "ws"; TLS
 * adds the "s". */
void own_url_put(struct buf *out, const struct http_request *rq, const char *scheme, size_t mount);

#endif

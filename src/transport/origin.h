/* SPDX-License-Identifier: Apache-2.0 */
/*
 * origin.h - Host and Origin checks, and CORS for an allow-list
 *
 * A browser page of another site must not reach the daemon, by DNS rebinding (Host) or directly
 * (Origin). A Host is accepted if it is an IP literal, localhost, *.localhost or on the list; an
 * Origin must be the Host's own or on the list. A request without an Origin is not a browser's
 * cross-site request. Layer: transport.
 */
#ifndef HF_TRANSPORT_ORIGIN_H
#define HF_TRANSPORT_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>

struct origin;

struct origin *origin_new(void);
void origin_free(struct origin *o);
void origin_allow_host(struct origin *o, const char *host);    /* name, no port */
int origin_allow_origin(struct origin *o, const char *origin); /* "https://x.y:z"; -EINVAL */
/* A name or address, with or without a port; anything else is not a Host (400). */
bool origin_host_is_valid(const char *host_header);
/* The Origin is scheme, host and port of the request; host_header may be NULL. */
bool origin_is_same(const char *origin, const char *host_header, bool tls);
bool origin_host_ok(const struct origin *o, const char *host_header, bool unix_socket);
bool origin_origin_ok(const struct origin *o, const char *origin, const char *host_header,
                      bool tls);
bool origin_is_listed(const struct origin *o, const char *origin); /* gets CORS headers */

#endif

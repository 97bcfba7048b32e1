/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission.h - decides which connections stay when there are too many
 *
 * A connection is untrusted until a request on it presents a valid credential. Untrusted
 * connections are kept in the order of their last progress (accepted, or a request head complete).
 * When there is no room for a newcomer, the connection at the front is closed: a newcomer is always
 * accepted, and the longer the table, the more time it has to present its token. Idle connections
 * are not closed first: an attacker whose connections are all busy would then have every newcomer
 * closed.
 *
 * An address with more than its share of the untrusted connections (LIMIT_ADDRESS_PART) loses its
 * own oldest first, so that a flood from one address closes connections of that flood. The share
 * only decides which connection is closed. It never causes a refusal, because clients behind a
 * proxy share an address.
 *
 * Trusted connections are never closed. When they alone fill the table, the last
 * LIMIT_CONNECTIONS_RESERVED places are for the role own, health probes always get a reply, and
 * root and the daemon's own user have LIMIT_CONNECTIONS_LOCAL more places on a unix socket.
 *
 * Part of the server. Layer: transport.
 */
#ifndef HF_TRANSPORT_ADMISSION_H
#define HF_TRANSPORT_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/list.h"
#include "transport/http.h"

struct conn;
struct address_group; /* the connections of one address */

#define ADMISSION_BUCKETS 256

/* Per server. */
struct admission {
    struct list untrusted; /* all of them, least recent progress first */
    struct list groups[ADMISSION_BUCKETS];
};

/* Per connection. */
struct admitted {
    struct list all, neighbours; /* links of the untrusted lists: server's, group's */
    struct address_group *group; /* NULL: dialled, or a trusted local peer */
};

void admission_init(struct admission *a);
/* Adds a connection that is not counted yet. Makes room for it, or marks it as crowded. */
void admission_enter(struct conn *c, const struct sockaddr *peer);
void admission_leave(struct conn *c); /* the connection has ended */
void admission_progress(struct conn *c);
/* Call after conn_set_trust() has changed the trust. */
void admission_update(struct conn *c);
/* Closes the first untrusted connection; false if there is none. */
bool admission_evict(struct http_server *s);
/* Whether the connection may be served. A probe always may. */
bool admission_allows(struct conn *c, enum role role, bool probe);

#endif

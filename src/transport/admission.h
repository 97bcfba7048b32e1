/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission.h - which connections stay when there are too many
 *
 * A connection is untrusted until a request on it presents a valid credential. Untrusted ones are
 * kept in the order of their last progress (accepted, or a request's head complete). When there is
 * no room for a newcomer, the one at the front is closed: a newcomer always gets in, and has as
 * much time to present its token as the table is long. There is no class of "idle" ones that goes
 * first, because then an attacker whose connections are all busy would have every newcomer closed.
 *
 * An address with more than its part of the untrusted connections (LIMIT_ADDRESS_PART) loses its
 * own oldest first, so that a flood from one address closes connections of that flood. This
 * decides only whose connection goes, never that one is refused: clients behind a proxy share an
 * address.
 *
 * Trusted connections are never closed. When they alone fill the table, the last
 * LIMIT_CONNECTIONS_RESERVED are for the role own, health probes are answered in any case, and
 * root and the daemon's own user have LIMIT_CONNECTIONS_LOCAL more at a unix socket.
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
struct address_group; /* connections of one address */

#define ADMISSION_BUCKETS 256

/* Of a server. */
struct admission {
    struct list untrusted; /* all of them, longest without progress first */
    struct list groups[ADMISSION_BUCKETS];
};

/* Of a connection. */
struct admitted {
    struct list all, neighbours; /* among the untrusted: of the server, of the group */
    struct address_group *group; /* NULL: dialled, or a trusted local peer */
};

void admission_init(struct admission *a);
/* A new connection, not counted yet. Makes room for it, or marks it as crowded. */
void admission_enter(struct conn *c, const struct sockaddr *peer);
void admission_leave(struct conn *c); /* it ends */
void admission_progress(struct conn *c);
/* conn_set_trust() has changed it. */
void admission_update(struct conn *c);
/* Closes the first untrusted connection; false: there is none. */
bool admission_evict(struct http_server *s);
/* May it be served? A probe may in any case. */
bool admission_allows(struct conn *c, enum role role, bool probe);

#endif

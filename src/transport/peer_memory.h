/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_memory.h - the memory that peers make the server hold, counted and bounded
 *
 * Whatever grows with what a peer sends or does not read has a struct peer_memory: a connection (received
 * and unsent bytes), a request (head and body), a stream of HTTP/2, a WebSocket's message. Its owner
 * calls peer_memory_set() with the current amount after each change, and that is all: the sums follow.
 *
 * Three budgets, by the trust of the connection: untrusted, weak (watch, type), own. When one of
 * the first two is exceeded, the connection that holds most of it is closed. The role own
 * may hold what it likes, but its request bodies are refused while the sum of all is
 * at its limit (peer_memory_has_room()).
 *
 * Part of the server. Layer: transport.
 */
#ifndef HF_TRANSPORT_PEER_MEMORY_H
#define HF_TRANSPORT_PEER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"

struct conn;
struct http_server;

enum held_class { HELD_UNTRUSTED, HELD_WEAK, HELD_OWN, HELD_CLASSES };

/* Of a server. */
struct held_totals {
    size_t bytes[HELD_CLASSES];
    struct list holders[HELD_CLASSES]; /* connections that hold something; HELD_OWN: none */
};

/* Of a connection. */
struct held_account {
    struct list link; /* among the holders of its class */
    size_t bytes;
};

/* Of one thing that holds memory; {0} holds nothing. */
struct peer_memory {
    struct http_server *server;
    struct conn *c; /* NULL: the connection is gone, the memory not yet */
    size_t bytes;
};

void peer_memory_totals_init(struct held_totals *t);
void peer_memory_account_init(struct held_account *a);
/* May end c, or any other connection, in the way of conn_end(). */
void peer_memory_set(struct peer_memory *h, struct conn *c, size_t bytes);
void peer_memory_part(
    struct peer_memory *h); /* from its connection: what is held counts as the server's own */
void peer_memory_clear(struct peer_memory *h); /* the memory is given back */
/* Around each change of what the class depends on: trust, and the connection's end. */
void peer_memory_account_out(struct conn *c);
void peer_memory_account_in(struct conn *c);
/* For so many bytes more of a request's body. */
bool peer_memory_has_room(const struct conn *c, size_t bytes);

#endif

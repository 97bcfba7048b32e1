/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_memory.h - counts and bounds the memory that peers make the server hold
 *
 * Everything that grows with what a peer sends or does not read has a struct peer_memory: a
 * connection (received and unsent bytes), a request (head and body), an HTTP/2 stream, a WebSocket
 * message. Its owner calls peer_memory_set() with the current amount after each change, which
 * updates the sums.
 *
 * There are three budgets, by the trust of the connection: untrusted, weak (watch, type), own. When
 * one of the first two is exceeded, the connection that holds most of it is closed. The role own
 * may hold any amount, but its request bodies are refused while the total is at its limit
 * (peer_memory_has_room()).
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

/* Per server. */
struct held_totals {
    size_t bytes[HELD_CLASSES];
    struct list holders[HELD_CLASSES]; /* connections that hold something; HELD_OWN: none */
};

/* Per connection. */
struct held_account {
    struct list link; /* among the holders of its class */
    size_t bytes;
};

/* Per object that holds memory; {0} holds nothing. */
struct peer_memory {
    struct http_server *server;
    struct conn *c; /* NULL: the connection is closed, but the memory is not freed yet */
    size_t bytes;
};

void peer_memory_totals_init(struct held_totals *t);
void peer_memory_account_init(struct held_account *a);
/* May end c, or any other connection, as conn_end() does. */
void peer_memory_set(struct peer_memory *h, struct conn *c, size_t bytes);
/* Detaches it from its connection: what is held counts as the server's own. */
void peer_memory_part(struct peer_memory *h);
void peer_memory_clear(struct peer_memory *h); /* the memory was freed */
/* Call around each change that affects the class: trust, and the connection's end. */
void peer_memory_account_out(struct conn *c);
void peer_memory_account_in(struct conn *c);
/* Whether a request body may grow by this many bytes. */
bool peer_memory_has_room(const struct conn *c, size_t bytes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held.h - the memory that peers make the server hold, counted and bounded
 *
 * Whatever grows with what a peer sends or does not read has a struct held: a connection (received
 * and unsent bytes), a request (head and body), a stream of HTTP/2, a WebSocket's message. Its owner
 * calls held_set() with the current amount after each change, and that is all: the sums follow.
 *
 * Three budgets, by the trust of the connection: untrusted, weak (watch, type), own. When one of
 * the first two is exceeded, the connection that holds most of it is closed. The role own
 * may hold what it likes, but its request bodies are refused while the sum of all is
 * at its limit (held_has_room()).
 *
 * Part of the server. Layer: transport.
 */
#ifndef HF_TRANSPORT_HELD_H
#define HF_TRANSPORT_HELD_H

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
struct held {
    struct http_server *server;
    struct conn *c; /* NULL: the connection is gone, the memory not yet */
    size_t bytes;
};

void held_totals_init(struct held_totals *t);
void held_account_init(struct held_account *a);
/* May end c, or any other connection, in the way of conn_end(). */
void held_set(struct held *h, struct conn *c, size_t bytes);
void held_part(struct held *h);  /* from its connection: what is held counts as the server's own */
void held_clear(struct held *h); /* the memory is given back */
/* Around each change of what the class depends on: trust, and the connection's end. */
void held_account_out(struct conn *c);
void held_account_in(struct conn *c);
/* For so many bytes more of a request's body. */
bool held_has_room(const struct conn *c, size_t bytes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deadline.h - one time-out per connection or stream, one timer for all of them
 *
 * Every kind of deadline has one fixed length, so its entries form a list in the order in which
 * they expire: setting one is an append, and the next to expire is at a front. A deadline therefore
 * costs 40 bytes and no heap allocation, and deadlines that nearly coincide share a wake-up. An
 * early wake-up of the timer is harmless (entries may have moved), a late one is not, so setting an
 * entry reports when the timer must be started sooner.
 *
 * Pure: the caller supplies the time. Owned by the server. Layer: transport.
 */
#ifndef HF_TRANSPORT_DEADLINE_H
#define HF_TRANSPORT_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

enum deadline_kind {
    DEADLINE_NONE,
    DEADLINE_HEAD,    /* first byte of a request to the end of its headers; TLS handshake */
    DEADLINE_BODY,    /* progress in a body */
    DEADLINE_IDLE,    /* between requests */
    DEADLINE_STALL,   /* the peer reads nothing of a response */
    DEADLINE_PING,    /* WebSocket: probe whether the peer is alive */
    DEADLINE_CLOSE,   /* WebSocket: the peer's close frame */
    DEADLINE_LINGER,  /* after our last byte: what the peer still sends */
    DEADLINE_CONNECT, /* a dialled peer: until it is connected */
    DEADLINE_REPLY,   /* dialled: until its response begins, or our own request's continues */
    DEADLINE_POOL,    /* a pooled connection, kept for the next request */
    DEADLINE_QUIET,   /* a tunnel that carries no bytes */
    /* Of one HTTP/2 stream, and these two only: BODY and STALL of a request among others. */
    DEADLINE_STREAM_BODY,
    DEADLINE_STREAM_STALL,
    DEADLINE_KINDS,
};

struct deadline {
    struct list link;
    uint64_t at_ms;
    enum deadline_kind kind; /* DEADLINE_NONE: not set */
};

#define DEADLINE_NEVER UINT64_MAX

struct deadlines {
    struct list queue[DEADLINE_KINDS];
    uint32_t length_ms[DEADLINE_KINDS];
    uint32_t slack_ms[DEADLINE_KINDS]; /* may be handled this much early; less than the length */
    uint64_t armed_ms;                 /* when the timer fires; DEADLINE_NEVER: it is stopped */
};

void deadlines_init(struct deadlines *d);
/* True: the timer must be started for d->armed_ms, which is sooner than before. */
bool deadline_set(struct deadlines *d, struct deadline *e, enum deadline_kind kind,
                  uint64_t now_ms);
void deadline_clear(struct deadline *e); /* {0} and cleared ones are fine */
/* Removes and returns one that has expired and stores its kind; NULL if none has. */
struct deadline *deadlines_pop(struct deadlines *d, uint64_t now_ms, enum deadline_kind *kind);
/* After the last pop: sets and returns armed_ms, DEADLINE_NEVER if nothing is left. */
uint64_t deadlines_next(struct deadlines *d);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tunnel_own.h - what a tunnel's files share: tunnel.c its life cycle, tunnel_move.c its bytes
 *
 * A direction has a source and a sink; both belong to the same tunnel, which their connections own.
 * Layer: gateway.
 */
#ifndef HF_GATEWAY_TUNNEL_OWN_H
#define HF_GATEWAY_TUNNEL_OWN_H

#include "gateway/frames.h"
#include "gateway/gateway_exchange.h"
#include "gateway/tunnel_pipe.h"

/* How far one direction has come; it never goes back. */
enum flow {
    FLOW_OPEN,
    FLOW_EOF,  /* `from` has ended */
    FLOW_SHUT, /* and `to` has been shut down */
};

/* Whether the client gets a 1001, between two frames, because this worker shuts down. */
enum tunnel_close {
    CLOSE_NONE,
    CLOSE_DUE,
    CLOSE_SENT, /* what the sandbox still sends is dropped */
};

struct direction {
    struct conn *from, *to;
    struct pipe_pair *pipe; /* NULL: uses the scratch buffer */
    size_t in_pipe;
    unsigned full; /* full buffers in a row */
    uint64_t *moved;
    struct frames *frames; /* tracked; NULL: not tracked, or not a WebSocket */
    enum flow flow;
};

struct tunnel {
    struct gateway *g;
    struct direction up, down;
    struct access_record record;
    struct quota_hold hold;
    char *upstream;
    struct frames frames; /* of `down` */
    enum tunnel_close close;
    bool quiet; /* nothing moved since the deadline was set */
};

/* Moves what the source has, within a turn's limit. */
void tunnel_direction_move(struct direction *d);
void tunnel_direction_send(struct direction *d, const char *bytes, size_t len);
/* False: the sink has no room, or is closed. */
bool tunnel_direction_empty_pipe(struct direction *d);
void tunnel_direction_drop_pipe(struct gateway *g, struct direction *d);
void tunnel_direction_ended(struct direction *d); /* `from` has ended */
/* Forwards the end once everything before it is sent. */
void tunnel_direction_update_shut(struct direction *d);
/* Sends the 1001 if it is due and the position allows it. */
void tunnel_update_close(struct tunnel *t);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tunnel_own.h - what the files of a tunnel share: tunnel.c has its life, tunnel_move.c its bytes
 *
 * A direction has a source and a sink; both belong to the same tunnel, which their connections own.
 * Layer: gateway.
 */
#ifndef HF_GATEWAY_TUNNEL_OWN_H
#define HF_GATEWAY_TUNNEL_OWN_H

#include "gateway/frames.h"
#include "gateway/gateway_exchange.h"
#include "gateway/tunnel_pipe.h"

struct direction {
    struct conn *from, *to;
    struct pipe_pair *pipe; /* NULL: by the scratch buffer */
    size_t in_pipe;
    unsigned full; /* full buffers in a row */
    uint64_t *moved;
    struct frames *frames; /* followed; NULL: not, or not of a WebSocket */
    bool eof;              /* from has ended */
    bool shut;             /* and `to` was told */
};

struct tunnel {
    struct gateway *g;
    struct direction up, down;
    struct access_record record;
    struct quota_hold hold;
    char *upstream;
    struct frames frames; /* of `down` */
    bool quiet;           /* nothing moved since the deadline was set */
    bool going;           /* the client is to be told 1001, between two frames */
    bool told;            /* it was: what the sandbox still says is dropped */
};

/* What the source has, in one turn's measure. */
void tunnel_direction_move(struct direction *d);
void tunnel_direction_send(struct direction *d, const char *bytes, size_t len);
/* False: the sink has no room, or is gone. */
bool tunnel_direction_empty_pipe(struct direction *d);
void tunnel_direction_drop_pipe(struct gateway *g, struct direction *d);
/* Passes the end on once everything before it is gone. */
void tunnel_direction_update_shut(struct direction *d);
/* Says 1001 if it is to be said and this is a place for it. */
void tunnel_update_going(struct tunnel *t);

#endif

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

struct direction {
    struct conn *from, *to;
    struct pipe_pair *pipe; /* NULL: uses the scratch buffer */
    size_t in_pipe;
    unsigned full; /* full buffers in a row */
    uint64_t *moved;
    struct frames *frames; /* tracked; NULL: not tracked, or not a WebSocket */
    bool eof;              /* from has ended */
    bool shut;             /* and `to` has been shut down */
};

struct tunnel {
    struct gateway *g;
    struct direction up, down;
    struct access_record record;
    struct quota_hold hold;
    char *upstream;
    struct frames frames; /* of `down` */
    bool quiet;           /* nothing moved since the deadline was set */
    bool closing;         /* send the client a 1001 between two frames */
    bool close_sent;      /* it was sent: what the sandbox still sends is dropped */
};

/* Moves what the source has, within a turn's limit. */
void tunnel_direction_move(struct direction *d);
void tunnel_direction_send(struct direction *d, const char *bytes, size_t len);
/* False: the sink has no room, or is closed. */
bool tunnel_direction_empty_pipe(struct direction *d);
void tunnel_direction_drop_pipe(struct gateway *g, struct direction *d);
/* Forwards the end once everything before it is sent. */
void tunnel_direction_update_shut(struct direction *d);
/* Sends the 1001 if it is due and the position allows it. */
void tunnel_update_close(struct tunnel *t);

#endif

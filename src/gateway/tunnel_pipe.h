/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tunnel_pipe.h - pipes for splicing floods, lent to tunnels
 *
 * The gateway keeps a few idle ones. Layer: gateway.
 */
#ifndef HF_GATEWAY_TUNNEL_PIPE_H
#define HF_GATEWAY_TUNNEL_PIPE_H

#include "base/list.h"

#define TUNNEL_PIPE_BYTES (512 * 1024)

struct gateway;

struct pipe_pair {
    struct list link;
    int in, out;
};

struct pipe_pair *pipe_take(struct gateway *g); /* NULL: none available */
/* `empty`: it can be reused. */
void pipe_give(struct gateway *g, struct pipe_pair *p, bool empty);

#endif

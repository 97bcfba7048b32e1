/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tunnel_pipe.c - pipes for splicing floods, lent to tunnels
 *
 * Layer: gateway.
 */
#include "gateway/tunnel_pipe.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "gateway/gateway_exchange.h"

#define TUNNEL_PIPES_IDLE 16 /* kept for the next flood */

struct pipe_pair *pipe_take(struct gateway *g)
{
    struct pipe_pair *p;
    int fds[2];

    if (!list_is_empty(&g->pipes)) {
        p = list_entry(g->pipes.next, struct pipe_pair, link);
        list_remove(&p->link);
        g->pipe_count--;
        return p;
    }
    if (pipe2(fds, O_NONBLOCK | O_CLOEXEC) < 0)
        return NULL;
    fcntl(fds[1], F_SETPIPE_SZ, TUNNEL_PIPE_BYTES); /* best effort: the default size works, too */
    p = hf_xalloc(sizeof *p);
    *p = (struct pipe_pair){.in = fds[1], .out = fds[0]};
    list_init(&p->link);
    return p;
}

static void pipe_close(struct pipe_pair *p)
{
    close(p->in);
    close(p->out);
    free(p);
}

void pipe_give(struct gateway *g, struct pipe_pair *p, bool empty)
{
    if (!empty || g->pipe_count >= TUNNEL_PIPES_IDLE) {
        pipe_close(p);
        return;
    }
    list_append(&g->pipes, &p->link);
    g->pipe_count++;
}

void tunnel_free_pipes(struct gateway *g)
{
    while (!list_is_empty(&g->pipes)) {
        struct pipe_pair *p = list_entry(g->pipes.next, struct pipe_pair, link);

        list_remove(&p->link);
        pipe_close(p);
    }
}

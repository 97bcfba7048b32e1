/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tunnel.c - after a 101: bytes both ways, whatever they mean
 *
 * Two directions, each with a source and a sink. Small pieces are received into the server's
 * scratch buffer and sent from there, which costs two calls and no memory. When a
 * source fills that buffer again and again, its direction borrows a pipe and splices: then
 * the bytes never come to us. A pipe goes back as soon as it is empty and the flood is over, so
 * an idle tunnel is two connections and this struct.
 *
 * What a sink has no room for stays in the sink's `out` or in the pipe, and its source is not read
 * meanwhile. An end of stream is passed on by itself: the other direction goes on. Layer: gateway.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "gateway/exchange.h"

#define TUNNEL_FLOOD 2  /* full buffers in a row before a pipe is worth it */
#define TUNNEL_ROUNDS 4 /* in one turn; then others have theirs */
#define TUNNEL_SMALL_BYTES 1024
#define TUNNEL_PIPE_BYTES (512 * 1024)
#define TUNNEL_PIPES_IDLE 16 /* kept for the next flood */

struct pipe_pair {
    struct list link;
    int in, out;
};

struct direction {
    struct conn *from, *to;
    struct pipe_pair *pipe; /* NULL: by the scratch buffer */
    size_t in_pipe;
    unsigned full; /* full buffers in a row */
    uint64_t *moved;
    bool eof;  /* from has ended */
    bool shut; /* and `to` was told */
};

struct tunnel {
    struct gateway *g;
    struct direction up, down;
    struct record record;
    struct quota_hold hold;
    char *upstream;
    bool quiet; /* nothing moved since the deadline was set */
};

static const struct conn_proto tunnel_proto;

/* --- pipes ------------------------------------------------------------------------- */

static struct pipe_pair *pipe_take(struct gateway *g)
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
    fcntl(fds[1], F_SETPIPE_SZ, TUNNEL_PIPE_BYTES); /* what it may be is good enough */
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

static void direction_drop_pipe(struct gateway *g, struct direction *d)
{
    struct pipe_pair *p = d->pipe;

    if (p == NULL)
        return;
    d->pipe = NULL;
    d->full = 0;
    if (d->in_pipe > 0 || g->pipe_count >= TUNNEL_PIPES_IDLE) {
        pipe_close(p);
    } else {
        list_append(&g->pipes, &p->link);
        g->pipe_count++;
    }
    d->in_pipe = 0;
}

void tunnel_free_pipes(struct gateway *g)
{
    while (!list_is_empty(&g->pipes)) {
        struct pipe_pair *p = list_entry(g->pipes.next, struct pipe_pair, link);

        list_remove(&p->link);
        pipe_close(p);
    }
}

/* --- the end ------------------------------------------------------------------------ */

static void tunnel_free(struct tunnel *t, const char *peer)
{
    struct gateway *g = t->g;

    direction_drop_pipe(g, &t->up);
    direction_drop_pipe(g, &t->down);
    quota_give(g->shared, g->o.worker, &t->hold.sandbox);
    quota_give(g->shared, g->o.worker, &t->hold.peer);
    record_finish(g, &t->record, peer, t->upstream);
    g->shared->seats[g->o.worker].gauges.tunnels--;
    free(t->upstream);
    free(t);
}

/* One end is gone: the other gets what is on its way, and ends too. */
static void tunnel_on_end(struct conn *c)
{
    struct tunnel *t = c->owner;
    struct conn *other = c == t->up.from ? t->up.to : t->up.from;
    struct direction *to_other = c == t->up.from ? &t->up : &t->down;
    char *peer = hf_xstrdup(t->up.from->peer);

    if (to_other->in_pipe > 0)
        conn_end(other); /* the pipe goes with the tunnel: a clean end would be a lie */
    tunnel_free(t, peer);
    free(peer);
    if (other->ended)
        conn_become(other, c->proto, NULL);
    else
        conn_finish(other, false);
}

static void tunnel_on_end_any(struct conn *c)
{
    if (c->owner != NULL)
        tunnel_on_end(c);
}

static struct direction *direction_from(struct conn *c)
{
    struct tunnel *t = c->owner;

    return c == t->up.from ? &t->up : &t->down;
}

static struct direction *direction_to(struct conn *c)
{
    struct tunnel *t = c->owner;

    return c == t->up.to ? &t->up : &t->down;
}

/* Passes the end on once everything before it is gone. */
static void direction_update_shut(struct direction *d)
{
    struct tunnel *t = d->to->owner;

    if (!d->eof || d->shut || d->to->blocked || d->to->ended || d->in_pipe > 0)
        return;
    d->shut = true;
    direction_drop_pipe(t->g, d);
    conn_flush(d->to);
    conn_shutdown_write(d->to);
    if (t->up.shut && t->down.shut) {
        conn_end(t->up.from);
        conn_end(t->up.to);
    }
}

/* --- by the scratch buffer -------------------------------------------------------------- */

static void direction_send(struct direction *d, const char *bytes, size_t len)
{
    struct iovec iov = {(void *)(uintptr_t)bytes, len};
    struct tunnel *t = d->from->owner;

    *d->moved += len;
    t->quiet = false;
    conn_send(d->to, &iov, 1);
    if (d->to->blocked)
        conn_pause(d->from);
    else if (len <= TUNNEL_SMALL_BYTES)
        loop_expect(t->g->loop); /* a key and its echo: being woken costs more than looking */
}

/* True: there may be more. */
static bool direction_copy(struct direction *d)
{
    struct conn *c = d->from;
    ssize_t n;

    do
        n = recv(c->fd, c->server->scratch, SERVER_SCRATCH_BYTES, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return false;
    if (n < 0) {
        conn_end(c);
        return false;
    }
    if (n == 0) {
        d->eof = true;
        conn_set_eof(c);
        direction_update_shut(d);
        return false;
    }
    d->full = n == SERVER_SCRATCH_BYTES ? d->full + 1 : 0;
    direction_send(d, c->server->scratch, (size_t)n);
    return n == SERVER_SCRATCH_BYTES && !c->ended && !d->to->ended && !d->to->blocked;
}

/* --- by a pipe ---------------------------------------------------------------------------- */

/* False: the sink has no room, or is gone. */
static bool direction_empty_pipe(struct direction *d)
{
    while (d->in_pipe > 0) {
        ssize_t n = splice(d->pipe->out, NULL, d->to->fd, NULL, d->in_pipe,
                           SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            conn_set_blocked(d->to, true);
            conn_pause(d->from);
            return false;
        }
        if (n <= 0) {
            conn_end(d->to);
            return false;
        }
        d->in_pipe -= (size_t)n;
    }
    return true;
}

static bool direction_splice(struct direction *d)
{
    struct conn *c = d->from;
    struct tunnel *t = c->owner;
    ssize_t n;

    if (d->to->out.len > 0) /* it has to go first */
        return false;
    do
        n = splice(c->fd, NULL, d->pipe->in, NULL, TUNNEL_PIPE_BYTES,
                   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) {
        direction_drop_pipe(t->g, d);
        return false;
    }
    if (n < 0) {
        conn_end(c);
        return false;
    }
    if (n == 0) {
        d->eof = true;
        conn_set_eof(c);
        direction_update_shut(d);
        return false;
    }
    *d->moved += (size_t)n;
    t->quiet = false;
    d->in_pipe = (size_t)n;
    return direction_empty_pipe(d);
}

/* --- the connections' events ----------------------------------------------------------------- */

static void tunnel_on_readable(struct conn *c)
{
    struct direction *d = direction_from(c);
    struct tunnel *t = c->owner;

    if (c->in.len > 0)
        return; /* what came before is on its way by tunnel_on_bytes() */
    for (int i = 0; i < TUNNEL_ROUNDS; i++) {
        if (d->to->ended || d->to->connecting)
            return;
        if (d->pipe == NULL && d->full >= TUNNEL_FLOOD && d->to->tls == NULL)
            d->pipe = pipe_take(t->g);
        if (d->pipe != NULL ? !direction_splice(d) : !direction_copy(d))
            return;
    }
}

/* What came in before it was a tunnel, and everything that came by TLS. */
static size_t tunnel_on_bytes(struct conn *c, char *bytes, size_t len)
{
    struct direction *d = direction_from(c);

    if (len == 0)
        return 0;
    if (d->to->blocked) {
        conn_pause(c);
        return 0;
    }
    direction_send(d, bytes, len);
    return len;
}

static void tunnel_on_eof(struct conn *c)
{
    struct direction *d = direction_from(c);

    d->eof = true;
    direction_update_shut(d);
}

static void tunnel_on_writable(struct conn *c)
{
    struct direction *d = direction_to(c);

    conn_flush(c);
    if (c->ended || c->out.len > 0)
        return;
    conn_set_blocked(c, false);
    if (d->in_pipe > 0 && !direction_empty_pipe(d))
        return;
    if (d->from->paused)
        conn_resume(d->from);
    direction_update_shut(d);
}

static void tunnel_on_drain(struct conn *c)
{
    tunnel_on_writable(c);
}

static void tunnel_on_deadline(struct conn *c, enum deadline_kind kind)
{
    struct tunnel *t = c->owner;

    if (kind != DEADLINE_QUIET)
        return;
    if (t->quiet) {
        conn_end(c);
        return;
    }
    t->quiet = true;
    conn_set_deadline(c, DEADLINE_QUIET);
}

/* A stream may end by itself; if it does not, the server cuts it when it must go. */
static void tunnel_on_leave(struct conn *c)
{
    (void)c;
}

static const struct conn_proto tunnel_proto = {
    .on_bytes = tunnel_on_bytes,
    .on_eof = tunnel_on_eof,
    .on_drain = tunnel_on_drain,
    .on_deadline = tunnel_on_deadline,
    .on_end = tunnel_on_end_any,
    .on_readable = tunnel_on_readable,
    .on_writable = tunnel_on_writable,
    .on_leave = tunnel_on_leave,
};

void tunnel_begin(struct exchange *ex)
{
    struct tunnel *t = hf_xalloc(sizeof *t);
    struct conn *client = ex->client, *up = ex->up;

    t->g = ex->g;
    t->record = ex->record;
    t->hold = ex->hold;
    t->upstream = hf_xstrdup(ex->upstream);
    ex->record.path = NULL;
    ex->hold = (struct quota_hold){0};
    ex->up = NULL;
    t->up = (struct direction){.from = client, .to = up, .moved = &t->record.bytes_up};
    t->down = (struct direction){.from = up, .to = client, .moved = &t->record.bytes_down};
    t->record.route = SHARED_UPGRADE;
    t->g->shared->seats[t->g->o.worker].gauges.tunnels++;
    exchange_free(ex);
    conn_become(client, &tunnel_proto, t);
    conn_become(up, &tunnel_proto, t);
    conn_set_deadline(up, DEADLINE_NONE);
    conn_set_deadline(client, DEADLINE_QUIET);
    conn_resume(client); /* what came behind the request */
}

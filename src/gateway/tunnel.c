/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tunnel.c - after a 101: relays bytes both ways, whatever they mean
 *
 * There are two directions, each with a source and a sink. Small pieces are received into the
 * server's scratch buffer and sent from there, which costs two calls and no memory. When a source
 * repeatedly fills that buffer, its direction borrows a pipe and splices: then the bytes never
 * enter user space. The pipe is returned as soon as it is empty and the flood has ended, so an idle
 * tunnel is two connections and this struct.
 *
 * On a WebSocket's way down the lengths of the frames are tracked (frames.h), so that a worker that
 * shuts down can send a close frame between two of them. A flood of large frames is spliced frame
 * by frame: the cost is reading each header.
 *
 * What a sink has no room for stays in the sink's `out` or in the pipe, and its source is not read
 * until it is sent. An end of stream is forwarded alone: the other direction continues. Layer:
 * gateway.
 */
#include <stdlib.h>
#include <strings.h>

#include "base/mem.h"
#include "gateway/tunnel_own.h"

/* --- the end ------------------------------------------------------------------------ */

static void tunnel_free(struct tunnel *t, const char *peer)
{
    struct gateway *g = t->g;

    tunnel_direction_drop_pipe(g, &t->up);
    tunnel_direction_drop_pipe(g, &t->down);
    quota_give(g->shared, g->o.worker, &t->hold.sandbox);
    quota_give(g->shared, g->o.worker, &t->hold.peer);
    access_record_finish(g, &t->record, peer, t->upstream);
    g->shared->seats[g->o.worker].gauges.tunnels--;
    free(t->upstream);
    free(t);
}

/* One end is closed: the other gets the bytes in transit, and ends, too. */
static void tunnel_on_end(struct conn *c)
{
    struct tunnel *t = conn_owner(c);
    struct conn *other = c == t->up.from ? t->up.to : t->up.from;
    struct direction *to_other = c == t->up.from ? &t->up : &t->down;
    char *peer = hf_xstrdup(conn_peer(t->up.from));

    if (to_other->in_pipe > 0)
        conn_end(other); /* the pipe's bytes are lost: a clean end would hide that */
    tunnel_free(t, peer);
    free(peer);
    conn_finish(other, false);
}

static struct direction *direction_from(struct conn *c)
{
    struct tunnel *t = conn_owner(c);

    return c == t->up.from ? &t->up : &t->down;
}

static struct direction *direction_to(struct conn *c)
{
    struct tunnel *t = conn_owner(c);

    return c == t->up.to ? &t->up : &t->down;
}

/* --- the connections' events ----------------------------------------------------------------- */

static void tunnel_on_readable(struct conn *c)
{
    if (conn_kept(c) == 0) /* otherwise tunnel_on_bytes() delivers the earlier bytes first */
        tunnel_direction_move(direction_from(c));
}

/* Bytes received before it was a tunnel, and everything received by TLS. */
static size_t tunnel_on_bytes(struct conn *c, char *bytes, size_t len)
{
    struct direction *d = direction_from(c);

    if (len == 0)
        return 0;
    if (conn_is_blocked(d->to)) {
        conn_pause(c);
        return 0;
    }
    tunnel_direction_send(d, bytes, len);
    return len;
}

static void tunnel_on_eof(struct conn *c)
{
    struct direction *d = direction_from(c);

    tunnel_direction_ended(d);
    tunnel_direction_update_shut(d);
}

static void tunnel_on_writable(struct conn *c)
{
    struct direction *d = direction_to(c);

    conn_flush(c);
    if (conn_is_ended(c) || conn_unsent(c) > 0)
        return;
    conn_set_blocked(c, false);
    if (d->in_pipe > 0 && !tunnel_direction_empty_pipe(d))
        return;
    tunnel_update_close(conn_owner(d->from));
    if (conn_is_paused(d->from))
        conn_resume(d->from);
    tunnel_direction_update_shut(d);
}

static void tunnel_on_drain(struct conn *c)
{
    tunnel_on_writable(c);
}

static void tunnel_on_deadline(struct conn *c, enum deadline_kind kind)
{
    struct tunnel *t = conn_owner(c);

    if (kind != DEADLINE_QUIET)
        return;
    if (t->quiet) {
        conn_end(c);
        return;
    }
    t->quiet = true;
    conn_set_deadline(c, DEADLINE_QUIET);
}

/* A stream may end by itself; if it does not, tunnel_on_cut() is called at the deadline. */
static void tunnel_on_leave(struct conn *c)
{
    (void)c;
}

/*
 * The drain time is over. A client with a WebSocket gets a close frame with 1001; its reply is
 * forwarded as if the close had been its own, and the sandbox ends the connection. Other protocols
 * have no such message.
 */
static void tunnel_on_cut(struct conn *c)
{
    struct tunnel *t = conn_owner(c);

    if (t->down.frames == NULL) {
        conn_end(c);
        return;
    }
    if (t->close == CLOSE_NONE)
        t->close = CLOSE_DUE;
    tunnel_update_close(t);
}

static const struct conn_proto tunnel_proto = {
    .on_bytes = tunnel_on_bytes,
    .on_eof = tunnel_on_eof,
    .on_drain = tunnel_on_drain,
    .on_deadline = tunnel_on_deadline,
    .on_end = tunnel_on_end,
    .on_readable = tunnel_on_readable,
    .on_writable = tunnel_on_writable,
    .on_leave = tunnel_on_leave,
    .on_cut = tunnel_on_cut,
};

static bool is_websocket(const struct exchange *ex)
{
    size_t at = 0;
    const char *to = http1_header(&ex->rs, "Upgrade", &at);

    return to != NULL && strcasecmp(to, "websocket") == 0;
}

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
    if (is_websocket(ex))
        t->down.frames = &t->frames;
    t->record.route = SHARED_UPGRADE;
    t->g->shared->seats[t->g->o.worker].gauges.tunnels++;
    exchange_free(ex);
    conn_become(client, &tunnel_proto, t);
    conn_become(up, &tunnel_proto, t);
    conn_set_deadline(up, DEADLINE_NONE);
    conn_set_deadline(client, DEADLINE_QUIET);
    conn_resume(client); /* bytes that followed the request */
}

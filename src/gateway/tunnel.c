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
 * Of a WebSocket's way down the lengths of the frames are followed (frames.h), so that a worker that
 * must go can say so between two of them. A flood of large frames is spliced frame by frame: a look
 * at each header is what that costs.
 *
 * What a sink has no room for stays in the sink's `out` or in the pipe, and its source is not read
 * meanwhile. An end of stream is passed on by itself: the other direction goes on. Layer: gateway.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "gateway/exchange.h"
#include "gateway/frames.h"
#include "gateway/tunnel_pipe.h"
#include "transport/ws_codec.h"

#define TUNNEL_FLOOD 2  /* full buffers in a row before a pipe is worth it */
#define TUNNEL_ROUNDS 4 /* in one turn; then others have theirs */
#define TUNNEL_SMALL_BYTES 1024
#define TUNNEL_FRAME_BYTES (16 * 1024) /* smaller frames: many in one buffer cost less */

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
    struct record record;
    struct quota_hold hold;
    char *upstream;
    struct frames frames; /* of `down` */
    bool quiet;           /* nothing moved since the deadline was set */
    bool going;           /* the client is to be told 1001, between two frames */
    bool told;            /* it was: what the sandbox still says is dropped */
};

static const struct conn_proto tunnel_proto;

static void direction_drop_pipe(struct gateway *g, struct direction *d)
{
    if (d->pipe == NULL)
        return;
    pipe_give(g, d->pipe, d->in_pipe == 0);
    d->pipe = NULL;
    d->full = 0;
    d->in_pipe = 0;
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

/* Says 1001 if this is a place where that can be said. */
static void tunnel_update_going(struct tunnel *t)
{
    static char close_frame[] = {(char)(0x80 | WS_OP_CLOSE), 2, WS_CODE_GOING >> 8,
                                 (char)(WS_CODE_GOING & 0xff)};
    struct iovec iov = {close_frame, sizeof close_frame};

    if (!t->going || t->told || t->frames.closed || t->down.in_pipe > 0 ||
        !frames_is_between(&t->frames))
        return;
    t->told = true;
    conn_send(t->down.to, &iov, 1);
}

/* What of the bytes may pass. */
static size_t direction_follow(struct direction *d, const char *bytes, size_t len)
{
    struct tunnel *t = d->from->owner;

    return t->told ? 0 : frames_follow(d->frames, bytes, len, t->going);
}

static void direction_send(struct direction *d, const char *bytes, size_t len)
{
    struct tunnel *t = d->from->owner;
    size_t n = d->frames != NULL ? direction_follow(d, bytes, len) : len;
    struct iovec iov = {(void *)(uintptr_t)bytes, n};

    *d->moved += n;
    t->quiet = false;
    if (n > 0)
        conn_send(d->to, &iov, 1);
    if (t->going)
        tunnel_update_going(t);
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

/* How much may be moved unseen: the rest of a frame. 0: the buffer is the better way. */
static size_t direction_span(struct direction *d)
{
    struct frames *f = d->frames;
    char head[FRAMES_HEAD_MAX];
    uint64_t size;
    ssize_t n;

    if (f == NULL)
        return TUNNEL_PIPE_BYTES;
    if (frames_is_between(f)) {
        n = recv(d->from->fd, head, sizeof head, MSG_PEEK | MSG_DONTWAIT);
        size = n > 0 ? frames_measure(head, (size_t)n) : 0;
        if (size >= TUNNEL_FRAME_BYTES)
            frames_begin(f, head, size);
    }
    return f->left < TUNNEL_PIPE_BYTES ? (size_t)f->left : TUNNEL_PIPE_BYTES;
}

/* As splice(2), of one span. */
static ssize_t direction_fill(struct direction *d, size_t span)
{
    struct tunnel *t = d->from->owner;
    ssize_t n;

    do
        n = splice(d->from->fd, NULL, d->pipe->in, NULL, span, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n;
    *d->moved += (size_t)n;
    t->quiet = false;
    d->in_pipe += (size_t)n;
    if (d->frames != NULL)
        frames_pass(d->frames, (size_t)n);
    return n;
}

/* Frame after frame as far as they are here and the pipe has room. As splice(2). */
static ssize_t direction_fill_more(struct direction *d, size_t span)
{
    ssize_t first = direction_fill(d, span), n = first;

    while (d->frames != NULL && n == (ssize_t)span && d->in_pipe < TUNNEL_PIPE_BYTES / 2 &&
           (span = direction_span(d)) > 0)
        n = direction_fill(d, span);
    return first; /* an end or an error behind it comes again */
}

static bool direction_splice(struct direction *d)
{
    struct conn *c = d->from;
    struct tunnel *t = c->owner;
    size_t span;
    ssize_t n;

    if (d->to->out.len > 0) /* it has to go first */
        return false;
    span = direction_span(d);
    if (span == 0) {
        direction_drop_pipe(t->g, d);
        return direction_copy(d);
    }
    n = direction_fill_more(d, span);
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
        if (t->going)
            direction_drop_pipe(t->g, d); /* it is empty, or nothing would be read */
        else if (d->pipe == NULL && d->full >= TUNNEL_FLOOD && d->to->tls == NULL)
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
    tunnel_update_going(d->from->owner);
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

/* A stream may end by itself; if it does not, tunnel_on_cut() is called when it must. */
static void tunnel_on_leave(struct conn *c)
{
    (void)c;
}

/*
 * The time is over. A client with a WebSocket is told 1001; its answer goes up as if the close had
 * been its own, and the sandbox ends the connection. Other protocols have no such word here.
 */
static void tunnel_on_cut(struct conn *c)
{
    struct tunnel *t = c->owner;

    if (t->down.frames == NULL) {
        conn_end(c);
        return;
    }
    t->going = true;
    tunnel_update_going(t);
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
    conn_resume(client); /* what came behind the request */
}

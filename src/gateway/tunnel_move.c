/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tunnel_move.c - moves the bytes of a tunnel: by the scratch buffer, or by a pipe in a flood
 *
 * Layer: gateway.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "gateway/tunnel_own.h"
#include "transport/ws_codec.h"

#define TUNNEL_FLOOD 2  /* full buffers in a row before a pipe is worth it */
#define TUNNEL_ROUNDS 4 /* per turn; then other connections follow */
#define TUNNEL_SMALL_BYTES 1024
#define TUNNEL_FRAME_BYTES (16 * 1024) /* smaller frames: many in one buffer cost less */

void tunnel_direction_drop_pipe(struct gateway *g, struct direction *d)
{
    if (d->pipe == NULL)
        return;
    pipe_give(g, d->pipe, d->in_pipe == 0);
    d->pipe = NULL;
    d->full = 0;
    d->in_pipe = 0;
}

void tunnel_direction_ended(struct direction *d)
{
    if (d->flow == FLOW_OPEN)
        d->flow = FLOW_EOF;
}

void tunnel_direction_update_shut(struct direction *d)
{
    struct tunnel *t = conn_owner(d->to);

    if (d->flow != FLOW_EOF || conn_is_blocked(d->to) || conn_is_ended(d->to) || d->in_pipe > 0)
        return;
    d->flow = FLOW_SHUT;
    tunnel_direction_drop_pipe(t->g, d);
    conn_flush(d->to);
    conn_shutdown_write(d->to);
    if (t->up.flow == FLOW_SHUT && t->down.flow == FLOW_SHUT) {
        conn_end(t->up.from);
        conn_end(t->up.to);
    }
}

/* --- by the scratch buffer -------------------------------------------------------------- */

void tunnel_update_close(struct tunnel *t)
{
    static char close_frame[] = {(char)(0x80 | WS_OP_CLOSE), 2, WS_CODE_GOING_AWAY >> 8,
                                 (char)(WS_CODE_GOING_AWAY & 0xff)};
    struct iovec iov = {close_frame, sizeof close_frame};

    if (t->close != CLOSE_DUE || t->frames.closed || t->down.in_pipe > 0 ||
        !frames_is_between(&t->frames))
        return;
    t->close = CLOSE_SENT;
    conn_send(t->down.to, &iov, 1);
}

/* How many of the bytes may pass. */
static size_t direction_follow(struct direction *d, const char *bytes, size_t len)
{
    struct tunnel *t = conn_owner(d->from);

    return t->close == CLOSE_SENT ? 0
                                  : frames_follow(d->frames, bytes, len, t->close != CLOSE_NONE);
}

void tunnel_direction_send(struct direction *d, const char *bytes, size_t len)
{
    struct tunnel *t = conn_owner(d->from);
    size_t n = d->frames != NULL ? direction_follow(d, bytes, len) : len;
    struct iovec iov = {(void *)(uintptr_t)bytes, n};

    *d->moved += n;
    t->quiet = false;
    if (n > 0)
        conn_send(d->to, &iov, 1);
    if (t->close != CLOSE_NONE)
        tunnel_update_close(t);
    if (conn_is_blocked(d->to))
        conn_pause(d->from);
    else if (len <= TUNNEL_SMALL_BYTES)
        loop_expect(t->g->loop); /* a key and its echo: waking up costs more than polling */
}

/* True: reading failed, or the source has ended. */
static bool direction_is_over(struct direction *d, ssize_t n)
{
    struct conn *c = d->from;

    if (n > 0)
        return false;
    if (n < 0) {
        conn_end(c);
        return true;
    }
    tunnel_direction_ended(d);
    conn_set_eof(c);
    tunnel_direction_update_shut(d);
    return true;
}

/* True: there may be more. */
static bool direction_copy(struct direction *d)
{
    struct conn *c = d->from;
    ssize_t n;

    do
        n = recv(conn_fd(c), conn_server(c)->scratch, SERVER_SCRATCH_BYTES, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return false;
    if (direction_is_over(d, n))
        return false;
    d->full = n == SERVER_SCRATCH_BYTES ? d->full + 1 : 0;
    tunnel_direction_send(d, conn_server(c)->scratch, (size_t)n);
    return n == SERVER_SCRATCH_BYTES && !conn_is_ended(c) && !conn_is_ended(d->to) &&
           !conn_is_blocked(d->to);
}

/* --- by a pipe ---------------------------------------------------------------------------- */

/* As conn_send() would: a peer that accepts no more may have sent something still unread. */
static bool direction_is_mute(struct direction *d, int errnum)
{
    struct tunnel *t = conn_owner(d->to);

    if (!conn_is_dialled(d->to) || (errnum != EPIPE && errnum != ECONNRESET))
        return false;
    conn_set_mute(d->to);
    tunnel_direction_drop_pipe(t->g, d);
    return true;
}

bool tunnel_direction_empty_pipe(struct direction *d)
{
    while (d->in_pipe > 0) {
        ssize_t n = splice(d->pipe->out, NULL, conn_fd(d->to), NULL, d->in_pipe,
                           SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            conn_set_blocked(d->to, true);
            conn_pause(d->from);
            return false;
        }
        if (n < 0 && direction_is_mute(d, errno))
            return true;
        if (n <= 0) {
            conn_end(d->to);
            return false;
        }
        d->in_pipe -= (size_t)n;
    }
    return true;
}

/* How much may be moved without inspection: the rest of a frame. 0: use the buffer. */
static size_t direction_span(struct direction *d)
{
    struct frames *f = d->frames;
    char head[FRAMES_HEAD_MAX];
    uint64_t size;
    ssize_t n;

    if (f == NULL)
        return TUNNEL_PIPE_BYTES;
    if (frames_is_between(f)) {
        n = recv(conn_fd(d->from), head, sizeof head, MSG_PEEK | MSG_DONTWAIT);
        size = n > 0 ? frames_measure(head, (size_t)n) : 0;
        if (size >= TUNNEL_FRAME_BYTES)
            frames_begin(f, head, size);
    }
    return f->left < TUNNEL_PIPE_BYTES ? (size_t)f->left : TUNNEL_PIPE_BYTES;
}

/* Returns as splice(2) does, for one span. */
static ssize_t direction_fill(struct direction *d, size_t span)
{
    struct tunnel *t = conn_owner(d->from);
    ssize_t n;

    do
        n = splice(conn_fd(d->from), NULL, d->pipe->in, NULL, span,
                   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
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

/* Moves frame after frame as far as they have arrived and the pipe has room. Returns as
 * splice(2). */
static ssize_t direction_fill_more(struct direction *d, size_t span)
{
    ssize_t first = direction_fill(d, span), n = first;

    while (d->frames != NULL && n == (ssize_t)span && d->in_pipe < TUNNEL_PIPE_BYTES / 2 &&
           (span = direction_span(d)) > 0)
        n = direction_fill(d, span);
    return first; /* the next call reports an end or an error again */
}

static bool direction_splice(struct direction *d)
{
    struct tunnel *t = conn_owner(d->from);
    size_t span;
    ssize_t n;

    if (conn_unsent(d->to) > 0) /* those bytes come first */
        return false;
    span = direction_span(d);
    if (span == 0) {
        tunnel_direction_drop_pipe(t->g, d);
        return direction_copy(d);
    }
    n = direction_fill_more(d, span);
    if (n < 0 && errno == EAGAIN) {
        tunnel_direction_drop_pipe(t->g, d);
        return false;
    }
    return !direction_is_over(d, n) && tunnel_direction_empty_pipe(d);
}

void tunnel_direction_move(struct direction *d)
{
    struct tunnel *t = conn_owner(d->from);

    for (int i = 0; i < TUNNEL_ROUNDS; i++) {
        if (conn_is_ended(d->to) || !conn_is_established(d->to))
            return;
        if (t->close != CLOSE_NONE)
            tunnel_direction_drop_pipe(t->g, d); /* it is empty, or nothing would be read */
        else if (d->pipe == NULL && d->full >= TUNNEL_FLOOD && !conn_is_tls(d->to))
            d->pipe = pipe_take(t->g);
        if (d->pipe != NULL ? !direction_splice(d) : !direction_copy(d))
            return;
    }
}

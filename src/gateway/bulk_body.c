/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bulk_body.c - moves a large body of known length to the client without parsing it
 *
 * When enough of a response body is still to come and neither side has TLS, the sandbox's
 * connection is spliced to the client's through a borrowed pipe, exactly to the last byte of the
 * body. The response parser is not fed during that time: its count of the body (`seen`) is updated
 * here, and at the end upstream.c continues as if the parser had seen all of it. Layer: gateway.
 */
#include <errno.h>
#include <fcntl.h>

#include "gateway/gateway_exchange.h"
#include "gateway/tunnel_pipe.h"

#define BULK_LEAST_BYTES (256 * 1024)
#define BULK_ROUNDS 4 /* per turn; then other connections follow */

static const struct conn_proto bulk_proto;

static uint64_t bulk_left(const struct exchange *ex)
{
    return ex->rs.length - ex->rs.seen;
}

bool bulk_begin(struct exchange *ex)
{
    const struct http1 *rs = &ex->rs;

    if (!ex->rs_begun || !ex->rq_done || ex->chunked || rs->chunked || !rs->has_length ||
        rs->bodiless || rs->stage != HTTP1_IN_BODY || bulk_left(ex) < BULK_LEAST_BYTES ||
        conn_is_tls(ex->client) || conn_is_tls(ex->up))
        return false;
    conn_become(ex->up, &bulk_proto, ex);
    return true;
}

void bulk_drop_pipe(struct exchange *ex)
{
    if (ex->pipe == NULL)
        return;
    pipe_give(ex->g, ex->pipe, ex->in_pipe == 0);
    ex->pipe = NULL;
    ex->in_pipe = 0;
}

/* The response cannot be completed any more, and the client must see that. */
static void bulk_break(struct exchange *ex)
{
    exchange_drop_up(ex, false);
    conn_end(ex->client);
}

/* False: the client has no room, or is disconnected. */
static bool bulk_empty_pipe(struct exchange *ex)
{
    while (ex->in_pipe > 0) {
        ssize_t n =
            splice(ex->pipe->out, NULL, conn_fd(ex->client), NULL, ex->in_pipe,
                   SPLICE_F_MOVE | SPLICE_F_NONBLOCK | (bulk_left(ex) > 0 ? SPLICE_F_MORE : 0));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            conn_set_blocked(ex->client, true);
            conn_pause(ex->up);
            return false;
        }
        if (n <= 0) {
            conn_end(ex->client);
            return false;
        }
        ex->in_pipe -= (size_t)n;
    }
    return true;
}

/* Splices what is available; returns as splice(2) does. */
static ssize_t bulk_fill_pipe(struct exchange *ex)
{
    uint64_t left = bulk_left(ex);
    ssize_t n;

    do
        n = splice(conn_fd(ex->up), NULL, ex->pipe->in, NULL,
                   left < TUNNEL_PIPE_BYTES ? (size_t)left : TUNNEL_PIPE_BYTES,
                   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    while (n < 0 && errno == EINTR);
    return n;
}

/* No pipe is available: copies piece by piece. Returns as recv(2) does. */
static ssize_t bulk_copy(struct exchange *ex)
{
    char *scratch = ex->g->server->scratch;
    uint64_t left = bulk_left(ex);
    struct iovec iov = {.iov_base = scratch};
    ssize_t n;

    do
        n = recv(conn_fd(ex->up), scratch,
                 left < SERVER_SCRATCH_BYTES ? (size_t)left : SERVER_SCRATCH_BYTES, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n > 0) {
        iov.iov_len = (size_t)n;
        conn_send(ex->client, &iov, 1);
    }
    return n;
}

/* Sends corked and buffered bytes first. False: the client has no room, or is disconnected. */
static bool bulk_is_clear(struct exchange *ex)
{
    conn_flush(ex->client);
    if (conn_is_blocked(ex->client))
        conn_pause(ex->up);
    return !conn_is_ended(ex->client) && !conn_is_blocked(ex->client);
}

/* True: there may be more. */
static bool bulk_round(struct exchange *ex)
{
    ssize_t n;

    if (!bulk_is_clear(ex))
        return false;
    if (ex->pipe == NULL)
        ex->pipe = pipe_take(ex->g);
    n = ex->pipe != NULL ? bulk_fill_pipe(ex) : bulk_copy(ex);
    if (n < 0 && errno == EAGAIN) {
        bulk_drop_pipe(ex);
        return false;
    }
    if (n <= 0) {
        bulk_break(ex);
        return false;
    }
    ex->rs.seen += (size_t)n;
    ex->record.bytes_down += (size_t)n;
    if (ex->pipe == NULL)
        return true;
    ex->in_pipe = (size_t)n;
    return bulk_empty_pipe(ex);
}

static void bulk_on_readable(struct conn *up)
{
    struct exchange *ex = conn_owner(up);

    for (int i = 0; i < BULK_ROUNDS; i++) {
        if (!bulk_round(ex))
            return;
        if (bulk_left(ex) == 0) {
            upstream_moved(ex);
            return;
        }
    }
}

bool bulk_on_room(struct exchange *ex)
{
    if (ex->in_pipe == 0)
        return true;
    if (!bulk_empty_pipe(ex))
        return false;
    if (bulk_left(ex) == 0)
        upstream_moved(ex);
    return true;
}

static size_t bulk_on_bytes(struct conn *up, char *bytes, size_t len)
{
    (void)up, (void)bytes;
    return len; /* nothing is buffered when it begins, so nothing arrives here: len is 0 */
}

static void bulk_on_eof(struct conn *up)
{
    bulk_break(conn_owner(up));
}

static void bulk_on_drain(struct conn *up)
{
    (void)up;
}

static void bulk_on_deadline(struct conn *up, enum deadline_kind kind)
{
    (void)kind;
    bulk_break(conn_owner(up));
}

static void bulk_on_end(struct conn *up)
{
    struct exchange *ex = conn_owner(up);

    ex->up = NULL;
    conn_end(ex->client);
}

static const struct conn_proto bulk_proto = {
    .on_bytes = bulk_on_bytes,
    .on_eof = bulk_on_eof,
    .on_drain = bulk_on_drain,
    .on_deadline = bulk_on_deadline,
    .on_end = bulk_on_end,
    .on_readable = bulk_on_readable,
};

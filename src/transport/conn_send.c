/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn_send.c - a connection's sending side: at once, corked, buffered, shut down
 *
 * Layer: transport.
 */
#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/limits.h"
#include "base/log.h"
#include "transport/conn_own.h"

static ssize_t conn_sendmsg(struct conn *c, struct iovec *iov, size_t count)
{
    const int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (c->state == CONN_PARTING ? MSG_MORE : 0);
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = count};
    ssize_t n;

    do /* a single part does not need a parts table */
        n = count == 1 ? send(c->fd, iov->iov_base, iov->iov_len, flags)
                       : sendmsg(c->fd, &msg, flags);
    while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == ENOBUFS))
        return 0;
    if (n < 0 && c->dialled && (errno == EPIPE || errno == ECONNRESET)) {
        conn_advance(c, CONN_MUTE); /* its reply may still be waiting to be read */
        for (size_t i = 0; i < count; i++)
            n += (ssize_t)iov[i].iov_len;
        return n + 1;
    }
    if (n < 0)
        c->errnum = errno;
    if (n > 0) {
        c->server->stats.bytes_out += (uint64_t)n;
        c->sent += (uint64_t)n;
    }
    return n;
}

static size_t iov_total(const struct iovec *iov, int count)
{
    size_t total = 0;

    for (int i = 0; i < count; i++)
        total += iov[i].iov_len;
    return total;
}

/* Appends everything after the first `skip` bytes; a peer may have chosen the sizes. */
static int buf_put_iov(struct buf *b, const struct iovec *iov, int count, size_t skip)
{
    size_t total = iov_total(iov, count);

    if (buf_reserve(b, total - skip) < 0)
        return -ENOMEM;
    for (int i = 0; i < count; i++) {
        size_t n = skip < iov[i].iov_len ? skip : iov[i].iov_len;

        buf_put(b, (const char *)iov[i].iov_base + n, iov[i].iov_len - n);
        skip -= n;
    }
    return 0;
}

void conn_flush(struct conn *c)
{
    struct iovec iov = {buf_data(&c->out), c->out.len};
    ssize_t n;

    if (conn_is_ended(c) || c->state == CONN_CONNECTING || c->out.len == 0)
        return;
    n = conn_sendmsg(c, &iov, 1);
    if (n < 0) {
        conn_end(c);
        return;
    }
    buf_drop(&c->out, (size_t)n);
    c->blocked = c->out.len > 0;
    if (!c->blocked) {
        buf_fini(&c->out);
        c->behind = 0;
    }
    c->progress |= n > 0;
    if (n > 0 && c->deadline.kind == DEADLINE_STALL)
        conn_set_deadline(c, DEADLINE_STALL);
    conn_update_interest(c);
    conn_count_held(c);
}

/* Sends corked bytes and the caller's parts in one call; buffers the rest. */
static void conn_send_now(struct conn *c, const struct iovec *iov, int count)
{
    struct iovec all[CONN_IOV_MAX];
    size_t corked = c->out.len, sent;
    ssize_t n;

    assert(count < CONN_IOV_MAX);
    all[0] = (struct iovec){buf_data(&c->out), corked};
    memcpy(all + 1, iov, (size_t)count * sizeof *iov);
    n = conn_sendmsg(c, corked > 0 ? all : all + 1, (size_t)count + (corked > 0));
    if (n < 0) {
        conn_end(c);
        return;
    }
    sent = (size_t)n;
    if (sent == corked + iov_total(iov, count)) {
        buf_fini(&c->out);
        conn_count_held(c);
        return;
    }
    if (buf_put_iov(&c->out, iov, count, sent > corked ? sent - corked : 0) < 0) {
        conn_end(c);
        return;
    }
    if (corked > 0)
        buf_drop(&c->out, sent < corked ? sent : corked);
    c->blocked = true;
    conn_update_interest(c);
    conn_count_held(c);
}

static int conn_encrypt(struct conn *c, const struct iovec *iov, int count)
{
    for (int i = 0; i < count; i++) {
        int rc = tls_send(c->tls, iov[i].iov_base, iov[i].iov_len, &c->out);

        if (rc < 0)
            return rc;
    }
    return 0;
}

/* What a sender passes in one call may be any size; only what is appended after it is counted. */
static bool conn_is_overfull(struct conn *c, const struct iovec *iov, int count)
{
    if (!c->blocked)
        return false;
    c->behind += iov_total(iov, count);
    return c->behind > LIMIT_CONN_OUT_BYTES;
}

void conn_send(struct conn *c, const struct iovec *iov, int count)
{
    if (conn_is_ended(c) || c->state == CONN_MUTE)
        return;
    if (conn_is_overfull(c, iov, count)) {
        log_info("closing connection to %s: peer stopped reading", c->peer);
        conn_end(c);
    } else if (c->tls != NULL) {
        if (conn_encrypt(c, iov, count) < 0)
            conn_end(c);
        else if (!c->blocked)
            conn_flush(c);
        else
            conn_count_held(c);
    } else if (c->blocked) {
        if (buf_put_iov(&c->out, iov, count, 0) < 0)
            conn_end(c);
        else
            conn_count_held(c);
    } else {
        conn_send_now(c, iov, count);
    }
}

/* Sends what the socket accepts at once; buffers nothing. */
static size_t conn_offer(struct conn *c, struct iovec *iov, size_t count)
{
    ssize_t n;

    if (conn_is_ended(c) || c->state == CONN_MUTE || c->blocked || c->tls != NULL || c->out.len > 0)
        return 0;
    n = conn_sendmsg(c, iov, count);
    if (n < 0)
        conn_end(c);
    return n > 0 ? (size_t)n : 0;
}

size_t conn_send_lent(struct conn *c, const struct iovec *head, const void *lent, size_t len)
{
    struct iovec iov[2] = {*head, {(void *)(uintptr_t)lent, len}};
    size_t sent = conn_offer(c, iov, 2), of_head = sent < head->iov_len ? sent : head->iov_len;
    size_t of_lent = sent - of_head, held = len - of_lent;

    if (held == 0)
        return len;
    if (held > LIMIT_LENT_SLICE_BYTES)
        held = LIMIT_LENT_SLICE_BYTES;
    iov[0].iov_base = (char *)head->iov_base + of_head;
    iov[0].iov_len -= of_head;
    iov[1].iov_base = (char *)iov[1].iov_base + of_lent;
    iov[1].iov_len = held;
    conn_send(c, iov, 2);
    return of_lent + held;
}

void conn_cork(struct conn *c, const void *bytes, size_t len)
{
    struct iovec iov = {(void *)(uintptr_t)bytes, len};

    if (conn_is_ended(c) || c->state == CONN_MUTE)
        return;
    if (c->tls == NULL)
        buf_put(&c->out, bytes, len);
    else if (conn_encrypt(c, &iov, 1) < 0)
        conn_end(c);
    loop_defer(c->server->loop, &c->task);
    conn_count_held(c);
}

uint64_t conn_count_sent(const struct conn *c)
{
    return c->sent + c->out.len;
}

/* The kernel does not report when this grows; callers have to poll. */
uint64_t conn_count_taken(struct conn *c)
{
    int waiting = 0;

    if (!conn_is_ended(c) && ioctl(c->fd, SIOCOUTQ, &waiting) == 0 &&
        (uint64_t)waiting <= c->sent && c->sent - (uint64_t)waiting > c->taken)
        c->taken = c->sent - (uint64_t)waiting;
    return c->taken;
}

void conn_shutdown_write(struct conn *c)
{
    if (c->tls != NULL) {
        tls_shutdown(c->tls, &c->out);
        conn_flush(c);
    }
    if (!conn_is_ended(c) && c->out.len == 0) {
        conn_advance(c, CONN_SHUT);
        shutdown(c->fd, SHUT_WR);
    }
}

void conn_set_blocked(struct conn *c, bool blocked)
{
    c->blocked = blocked;
    if (!blocked)
        c->behind = 0;
    conn_update_interest(c);
}

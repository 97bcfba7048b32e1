/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_conn.c - a connection that has left HTTP and carries raw bytes
 *
 * Layer: transport.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "transport/conn_own.h"
#include "transport/http_request.h"

struct raw {
    struct conn *c;
    const struct raw_ops *ops; /* NULL: the owner has closed it */
    void *arg;
    struct peer_memory held; /* the owner's memory for this peer */
    bool shut;               /* we half-close once all is sent */
};

static const struct conn_proto raw_proto;

static size_t raw_on_bytes(struct conn *c, char *bytes, size_t len)
{
    struct raw *r = c->owner;
    size_t taken;

    if (len == 0)
        return 0;
    c->paused = true; /* unless the callback calls raw_resume() */
    taken = r->ops->on_data(r->arg, bytes, len);
    if (conn_is_ended(c) || c->proto != &raw_proto)
        return len; /* closed by its owner; r is dead */
    if (taken < len)
        return taken;
    c->paused = false;
    return len;
}

static void raw_on_eof(struct conn *c)
{
    struct raw *r = c->owner;

    r->ops->on_eof(r->arg);
}

static void raw_on_drain(struct conn *c)
{
    struct raw *r = c->owner;

    if (r->shut)
        conn_shutdown_write(c);
    else
        r->ops->on_drain(r->arg);
}

static void raw_on_deadline(struct conn *c, enum deadline_kind kind)
{
    (void)c, (void)kind;
}

static void raw_on_end(struct conn *c)
{
    struct raw *r = c->owner;

    if (r->ops != NULL)
        r->ops->on_disconnect(r->arg);
    peer_memory_clear(&r->held);
    free(r);
}

static const struct conn_proto raw_proto = {
    .on_bytes = raw_on_bytes,
    .on_eof = raw_on_eof,
    .on_drain = raw_on_drain,
    .on_deadline = raw_on_deadline,
    .on_end = raw_on_end,
};

/* Before the empty line that ends it. */
static void pad_head(struct buf *head, size_t bytes)
{
    static const char name[] = "X-Padding: ", end[] = "\r\n\r\n";
    size_t least = head->len - 2 + sizeof name - 1 + sizeof end - 1;

    if (bytes < least)
        return;
    head->len -= 2;
    buf_put(head, name, sizeof name - 1);
    for (size_t i = least; i < bytes; i++)
        buf_putc(head, '-');
    buf_put(head, end, sizeof end - 1);
}

struct raw *raw_accept_padded(struct http_request *rq, const char *protocol, size_t head_bytes,
                              const struct raw_ops *ops, void *arg)
{
    struct raw *r = hf_xalloc(sizeof *r);
    struct conn *c = rq->c;
    struct buf *head;

    assert(c != NULL && rq->body_done);
    r->c = c;
    r->ops = ops;
    r->arg = arg;
    if (protocol != NULL) {
        http_add_header(rq, "Connection", "Upgrade");
        http_add_header(rq, "Upgrade", protocol);
    }
    head = response_head(rq, protocol != NULL ? 101 : 200, NULL, BODY_UPGRADE, 0);
    pad_head(head, head_bytes);
    request_reply_begun(rq);
    conn_cork(c, buf_data(head), head->len);
    conn_become(c, &raw_proto, r);
    conn_set_deadline(c, DEADLINE_NONE);
    request_release(rq);
    if (!c->delivering)
        conn_resume(c); /* what came with the request */
    return r;
}

struct raw *raw_accept(struct http_request *rq, const char *protocol, const struct raw_ops *ops,
                       void *arg)
{
    return raw_accept_padded(rq, protocol, 0, ops, arg);
}

bool raw_ready(const struct raw *r)
{
    return !r->c->blocked && !conn_is_ended(r->c);
}

void raw_write(struct raw *r, const struct iovec *iov, int count)
{
    assert(!r->shut);
    conn_send(r->c, iov, count);
}

uint64_t raw_count_sent(const struct raw *r)
{
    return conn_count_sent(r->c);
}

uint64_t raw_count_taken(struct raw *r)
{
    return conn_count_taken(r->c);
}

void raw_set_held(struct raw *r, size_t bytes)
{
    if (!conn_is_ended(r->c))
        peer_memory_set(&r->held, r->c, bytes);
}

void raw_resume(struct raw *r)
{
    conn_resume(r->c);
}

void raw_shutdown(struct raw *r)
{
    r->shut = true;
    if (conn_is_ended(r->c) || r->c->blocked)
        return;
    conn_flush(r->c);
    if (!r->c->blocked)
        conn_shutdown_write(r->c);
}

void raw_close(struct raw *r)
{
    struct conn *c = r->c;

    if (conn_is_ended(c)) {
        r->ops = NULL; /* freed with its connection, without notifying the owner */
        return;
    }
    peer_memory_clear(&r->held);
    free(r);
    /* A peer that is still sending must get our last bytes; a close with unread bytes would lose
     * them. */
    conn_finish(c, true);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_channel.c - the worker's end of the channel to the keeper. Layer: engine.
 */
#include "engine/spawn/keeper_channel.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd_queue.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"

#define CHANNEL_FDS_MAX 4
/* packets of some 100 bytes; terminating a process takes three or four */
#define CHANNEL_QUEUE_MAX 16384
#define CHANNEL_PACKET_MAX (sizeof(struct k_surveyed))
#define CHANNEL_TURN 64 /* packets handled before other events get a turn */

struct request {
    struct list link;
    uint32_t number;
    keeper_reply_fn *fn;
    void *arg;
};

struct keeper_channel {
    int fd;
    struct watch *watch;
    const struct keeper_channel_ops *ops;
    void *arg;
    uint32_t last_number;
    struct list requests;
    struct fd_queue queue;
    struct buf later; /* struct later_packet, one after the other */
    struct timer *later_timer;
};

struct later_packet {
    uint32_t len;
    char bytes[28];
};

/* Later: the socket is full, or too many descriptors are in flight to a keeper that has not read
 * yet, or there is no memory for the packet. */
static bool is_later(int rc)
{
    return rc == -EAGAIN || fd_message_is_shortage(rc);
}

/* A packet that can never be sent must not keep the others. */
static void flush_queue(struct keeper_channel *ch)
{
    int rc;

    while ((rc = fd_queue_send(&ch->queue, ch->fd)) < 0 && !is_later(rc))
        fd_queue_drop_oldest(&ch->queue);
    if (rc == 0)
        watch_set(ch->watch, LOOP_READ);
}

static int send_or_queue(struct keeper_channel *ch, const struct iovec *iov, size_t count,
                         const int *fds, size_t fd_count)
{
    int rc = -EAGAIN;

    if (ch->queue.count == 0)
        rc = fd_message_send(ch->fd, iov, count, fds, fd_count);
    if (!is_later(rc))
        return rc;
    rc = fd_queue_put(&ch->queue, iov, count, fds, fd_count);
    if (rc == -ENOMEM && fd_count == 0)
        hf_out_of_memory(iov->iov_len); /* few look at the result: the next worker does it again */
    if (rc == 0)
        watch_set(ch->watch, LOOP_READ | LOOP_WRITE);
    return rc == -ENOBUFS ? -EAGAIN : rc;
}

static void channel_send_held(struct keeper_channel *ch)
{
    struct later_packet p;

    timer_stop(ch->later_timer);
    while (ch->later.len > 0) {
        struct iovec iov = {p.bytes, 0};
        memcpy(&p, buf_data(&ch->later), sizeof p);
        buf_drop(&ch->later, sizeof p);
        iov.iov_len = p.len;
        send_or_queue(ch, &iov, 1, NULL, 0);
    }
}

static void channel_on_later(struct timer *t, void *arg)
{
    (void)t;
    channel_send_held(arg);
}

/* The streams of a process usually end together; one packet closes them all. */
static bool channel_joins_last(struct keeper_channel *ch, const struct later_packet *p)
{
    struct later_packet *last;
    struct k_close a, b;

    if (ch->later.len < sizeof *last || p->len != sizeof a)
        return false;
    last = (struct later_packet *)(void *)(buf_data(&ch->later) + ch->later.len - sizeof *last);
    memcpy(&a, last->bytes, sizeof a);
    memcpy(&b, p->bytes, sizeof b);
    if (last->len != p->len || a.type != K_CLOSE || b.type != K_CLOSE || a.entry != b.entry)
        return false;
    a.which |= b.which;
    memcpy(last->bytes, &a, sizeof a);
    return true;
}

void keeper_channel_send_later(struct keeper_channel *ch, const void *packet, size_t len)
{
    struct later_packet p = {.len = (uint32_t)len};

    assert(len <= sizeof p.bytes);
    memcpy(p.bytes, packet, len);
    if (channel_joins_last(ch, &p))
        return;
    if (ch->later.len == 0)
        timer_start(ch->later_timer, CHANNEL_LATER_MS);
    buf_put(&ch->later, &p, sizeof p);
    if (ch->later.len >= CHANNEL_LATER_MAX * sizeof p)
        channel_send_held(ch);
}

int keeper_channel_send(struct keeper_channel *ch, void *packet, size_t len, const void *tail,
                        size_t tail_len, const int *fds, size_t fd_count, keeper_reply_fn *fn,
                        void *arg)
{
    struct iovec iov[2] = {{packet, len}, {(void *)(uintptr_t)tail, tail_len}};
    int rc;

    assert(fd_count <= CHANNEL_FDS_MAX && len >= 2 * sizeof(uint32_t));
    if (fn != NULL) {
        if (++ch->last_number == 0)
            ch->last_number = 1;
        memcpy((char *)packet + sizeof(uint32_t), &ch->last_number, sizeof(uint32_t));
    }
    rc = send_or_queue(ch, iov, tail_len > 0 ? 2 : 1, fds, fd_count);
    if (rc < 0)
        return rc;
    if (fn != NULL) {
        struct request *r = hf_xalloc(sizeof *r);
        r->number = ch->last_number;
        r->fn = fn;
        r->arg = arg;
        list_append(&ch->requests, &r->link);
    }
    return 0;
}

static void channel_reply(struct keeper_channel *ch, uint32_t number, const void *packet,
                          size_t len, int *fds, size_t n)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &ch->requests) {
        struct request *r = list_entry(it, struct request, link);
        if (r->number != number)
            continue;
        list_remove(&r->link);
        r->fn(r->arg, packet, len, fds, n);
        free(r);
        return;
    }
}

static void channel_dispatch(struct keeper_channel *ch, const void *packet, size_t len, int *fds,
                             size_t n)
{
    uint32_t head[2];

    if (len < sizeof head)
        return;
    memcpy(head, packet, sizeof head);
    switch (head[0]) {
    case K_EXITED: ch->ops->on_exited(ch->arg, packet); break;
    case K_STOP: ch->ops->on_stop(ch->arg, ((const struct k_stop *)packet)->grace_ms); break;
    case K_RETIRE: ch->ops->on_retire(ch->arg); break;
    case K_CREDENTIALS:
        if (n == 1 || ((const struct k_credentials *)packet)->error != 0)
            ch->ops->on_credentials(ch->arg, packet, fds);
        break;
    default: channel_reply(ch, head[1], packet, len, fds, n);
    }
}

/* Receives one packet. False: none available. */
static bool receive_packet(struct keeper_channel *ch)
{
    union {
        char bytes[CHANNEL_PACKET_MAX];
        uint64_t align;
    } packet;
    struct fd_message m;
    int rc =
        fd_message_receive(ch->fd, packet.bytes, sizeof packet.bytes, CHANNEL_FDS_MAX, false, &m);

    if (rc == 0)
        return false;
    if (rc < 0) {
        /* Without the keeper we cannot serve anything. */
        log_error("lost the connection to the keeper");
        _exit(1);
    }
    channel_dispatch(ch, packet.bytes, m.len, m.fds, m.fd_count);
    fd_message_close(&m); /* those that were taken are -1 */
    return true;
}

static void channel_on_event(struct watch *w, int events, void *arg)
{
    struct keeper_channel *ch = arg;
    int i;

    (void)w;
    if (events & LOOP_WRITE)
        flush_queue(ch);
    if (events & LOOP_READ)
        for (i = 0; i < CHANNEL_TURN && receive_packet(ch); i++)
            ;
}

struct keeper_channel *keeper_channel_new(struct loop *loop, int fd,
                                          const struct keeper_channel_ops *ops, void *arg)
{
    struct keeper_channel *ch = hf_xalloc(sizeof *ch);

    ch->fd = fd;
    ch->ops = ops;
    ch->arg = arg;
    list_init(&ch->requests);
    fd_queue_init(&ch->queue, CHANNEL_QUEUE_MAX);
    ch->later_timer = timer_new(loop, channel_on_later, ch);
    ch->watch = watch_new(loop, fd, channel_on_event, ch);
    watch_set(ch->watch, LOOP_READ);
    return ch;
}

void keeper_channel_free(struct keeper_channel *ch)
{
    if (ch == NULL)
        return;
    while (!list_is_empty(&ch->requests)) {
        struct request *r = list_entry(ch->requests.next, struct request, link);
        list_remove(&r->link);
        r->fn(r->arg, NULL, 0, NULL, 0);
        free(r);
    }
    fd_queue_clear(&ch->queue);
    watch_close(ch->watch);
    timer_close(ch->later_timer);
    buf_fini(&ch->later);
    /* The socket stays open until this process exits: the keeper takes its close as our exit. */
    free(ch);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_channel.c - the worker's end of the channel to the keeper. Layer: engine.
 */
#include "engine/spawn/keeper_channel.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"

#define CHANNEL_FDS_MAX 4
/* packets of some 100 bytes; terminating a process takes three or four */
#define CHANNEL_QUEUE_MAX 16384
#define CHANNEL_PACKET_MAX (sizeof(struct k_surveyed))
#define CHANNEL_TURN 64 /* packets handled before other events get a turn */

/* A packet that did not fit into the full socket. */
struct queued {
    struct list link;
    size_t len;
    size_t fd_count;
    int fds[CHANNEL_FDS_MAX];
    char bytes[];
};

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
    struct list requests, queue;
    size_t queue_count;
    struct buf later; /* struct later_packet, one after the other */
    struct timer *later_timer;
};

struct later_packet {
    uint32_t len;
    char bytes[28];
};

static ssize_t send_packet(int fd, struct iovec *iov, int count, const int *fds, size_t fd_count)
{
    union {
        char space[CMSG_SPACE(CHANNEL_FDS_MAX * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct msghdr m = {.msg_iov = iov, .msg_iovlen = (size_t)count};
    ssize_t n;

    if (fd_count > 0) {
        struct cmsghdr *c = &control.align;
        m.msg_control = control.space;
        m.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
    }
    do
        n = sendmsg(fd, &m, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    /* Send it later: too many descriptors are in flight to a keeper that has not read yet, or there
     * is no memory for the packet. */
    if (n < 0 && (errno == ETOOMANYREFS || errno == ENOMEM || errno == ENOBUFS))
        return -EAGAIN;
    return n < 0 ? -errno : n;
}

static void queued_free(struct keeper_channel *l, struct queued *q)
{
    size_t i;

    list_remove(&q->link);
    l->queue_count--;
    for (i = 0; i < q->fd_count; i++)
        io_close(&q->fds[i]);
    free(q);
}

/* The caller may close its descriptors after keeper_channel_send(), so keep copies. */
static int queue_packet(struct keeper_channel *l, const struct iovec *iov, int count,
                        const int *fds, size_t fd_count)
{
    size_t len = 0, i;
    struct queued *q;
    char *to;

    if (l->queue_count >= CHANNEL_QUEUE_MAX)
        return -EAGAIN;
    for (i = 0; i < (size_t)count; i++)
        len += iov[i].iov_len;
    q = hf_xalloc(sizeof *q + len);
    for (i = 0, to = q->bytes; i < (size_t)count; to += iov[i++].iov_len)
        if (iov[i].iov_len > 0)
            memcpy(to, iov[i].iov_base, iov[i].iov_len);
    q->len = len;
    list_append(&l->queue, &q->link);
    l->queue_count++;
    for (i = 0; i < fd_count; i++) {
        q->fds[q->fd_count] = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
        if (q->fds[q->fd_count++] < 0) {
            int rc = -errno;

            queued_free(l, q);
            return rc;
        }
    }
    watch_set(l->watch, LOOP_READ | LOOP_WRITE);
    return 0;
}

static void flush_queue(struct keeper_channel *l)
{
    while (!list_is_empty(&l->queue)) {
        struct queued *q = list_entry(l->queue.next, struct queued, link);
        struct iovec iov = {q->bytes, q->len};

        if (send_packet(l->fd, &iov, 1, q->fds, q->fd_count) == -EAGAIN)
            return;
        queued_free(l, q);
    }
    watch_set(l->watch, LOOP_READ);
}

static int send_or_queue(struct keeper_channel *l, struct iovec *iov, int count, const int *fds,
                         size_t fd_count)
{
    ssize_t rc = -EAGAIN;

    if (list_is_empty(&l->queue))
        rc = send_packet(l->fd, iov, count, fds, fd_count);
    return rc == -EAGAIN ? queue_packet(l, iov, count, fds, fd_count) : rc < 0 ? (int)rc : 0;
}

static void channel_send_held(struct keeper_channel *l)
{
    struct later_packet p;

    timer_stop(l->later_timer);
    while (l->later.len > 0) {
        struct iovec iov = {p.bytes, 0};
        memcpy(&p, buf_data(&l->later), sizeof p);
        buf_drop(&l->later, sizeof p);
        iov.iov_len = p.len;
        send_or_queue(l, &iov, 1, NULL, 0);
    }
}

static void channel_on_later(struct timer *t, void *arg)
{
    (void)t;
    channel_send_held(arg);
}

/* The streams of a process usually end together; one packet closes them all. */
static bool channel_joins_last(struct keeper_channel *l, const struct later_packet *p)
{
    struct later_packet *last;
    struct k_close a, b;

    if (l->later.len < sizeof *last || p->len != sizeof a)
        return false;
    last = (struct later_packet *)(void *)(buf_data(&l->later) + l->later.len - sizeof *last);
    memcpy(&a, last->bytes, sizeof a);
    memcpy(&b, p->bytes, sizeof b);
    if (last->len != p->len || a.type != K_CLOSE || b.type != K_CLOSE || a.entry != b.entry)
        return false;
    a.which |= b.which;
    memcpy(last->bytes, &a, sizeof a);
    return true;
}

void keeper_channel_send_later(struct keeper_channel *l, const void *packet, size_t len)
{
    struct later_packet p = {.len = (uint32_t)len};

    assert(len <= sizeof p.bytes);
    memcpy(p.bytes, packet, len);
    if (channel_joins_last(l, &p))
        return;
    if (l->later.len == 0)
        timer_start(l->later_timer, CHANNEL_LATER_MS);
    buf_put(&l->later, &p, sizeof p);
    if (l->later.len >= CHANNEL_LATER_MAX * sizeof p)
        channel_send_held(l);
}

int keeper_channel_send(struct keeper_channel *l, void *packet, size_t len, const void *tail,
                        size_t tail_len, const int *fds, size_t fd_count, keeper_reply_fn *fn,
                        void *arg)
{
    struct iovec iov[2] = {{packet, len}, {(void *)(uintptr_t)tail, tail_len}};
    int count = tail_len > 0 ? 2 : 1;
    int rc;

    assert(fd_count <= CHANNEL_FDS_MAX && len >= 2 * sizeof(uint32_t));
    if (fn != NULL) {
        if (++l->last_number == 0)
            l->last_number = 1;
        memcpy((char *)packet + sizeof(uint32_t), &l->last_number, sizeof(uint32_t));
    }
    rc = send_or_queue(l, iov, count, fds, fd_count);
    if (rc < 0)
        return rc;
    if (fn != NULL) {
        struct request *r = hf_xalloc(sizeof *r);
        r->number = l->last_number;
        r->fn = fn;
        r->arg = arg;
        list_append(&l->requests, &r->link);
    }
    return 0;
}

static void channel_reply(struct keeper_channel *l, uint32_t number, const void *packet, size_t len,
                          int *fds, size_t n)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &l->requests) {
        struct request *r = list_entry(it, struct request, link);
        if (r->number != number)
            continue;
        list_remove(&r->link);
        r->fn(r->arg, packet, len, fds, n);
        free(r);
        return;
    }
}

static void channel_dispatch(struct keeper_channel *l, const void *packet, size_t len, int *fds,
                             size_t n)
{
    uint32_t head[2];

    if (len < sizeof head)
        return;
    memcpy(head, packet, sizeof head);
    switch (head[0]) {
    case K_EXITED: l->ops->on_exited(l->arg, packet); break;
    case K_STOP: l->ops->on_stop(l->arg, ((const struct k_stop *)packet)->grace_ms); break;
    case K_RETIRE: l->ops->on_retire(l->arg); break;
    case K_CREDENTIALS:
        if (n == 1 || ((const struct k_credentials *)packet)->error != 0)
            l->ops->on_credentials(l->arg, packet, fds);
        break;
    default: channel_reply(l, head[1], packet, len, fds, n);
    }
}

static size_t take_fds(struct msghdr *m, int *fds)
{
    struct cmsghdr *c;
    size_t n = 0;

    for (c = CMSG_FIRSTHDR(m); c != NULL; c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(fds, CMSG_DATA(c), n * sizeof(int));
    }
    return n;
}

/* Receives one packet. False: none available. */
static bool receive_packet(struct keeper_channel *l)
{
    union {
        char bytes[CHANNEL_PACKET_MAX];
        uint64_t align;
    } packet;
    union {
        char space[CMSG_SPACE(CHANNEL_FDS_MAX * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec iov = {packet.bytes, sizeof packet.bytes};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = control.space,
                       .msg_controllen = sizeof control.space};
    int fds[CHANNEL_FDS_MAX];
    size_t n, i;
    ssize_t len = recvmsg(l->fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

    if (len < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOMEM))
        return false;
    if (len <= 0) {
        /* Without the keeper we cannot serve anything. */
        log_error("lost the connection to the keeper");
        _exit(1);
    }
    n = take_fds(&m, fds);
    channel_dispatch(l, packet.bytes, (size_t)len, fds, n);
    for (i = 0; i < n; i++)
        io_close(&fds[i]); /* those that were taken are -1 */
    return true;
}

static void channel_on_event(struct watch *w, int events, void *arg)
{
    struct keeper_channel *l = arg;
    int i;

    (void)w;
    if (events & LOOP_WRITE)
        flush_queue(l);
    if (events & LOOP_READ)
        for (i = 0; i < CHANNEL_TURN && receive_packet(l); i++)
            ;
}

struct keeper_channel *keeper_channel_new(struct loop *loop, int fd,
                                          const struct keeper_channel_ops *ops, void *arg)
{
    struct keeper_channel *l = hf_xalloc(sizeof *l);

    l->fd = fd;
    l->ops = ops;
    l->arg = arg;
    list_init(&l->requests);
    list_init(&l->queue);
    l->later_timer = timer_new(loop, channel_on_later, l);
    l->watch = watch_new(loop, fd, channel_on_event, l);
    watch_set(l->watch, LOOP_READ);
    return l;
}

void keeper_channel_free(struct keeper_channel *l)
{
    if (l == NULL)
        return;
    while (!list_is_empty(&l->requests)) {
        struct request *r = list_entry(l->requests.next, struct request, link);
        list_remove(&r->link);
        r->fn(r->arg, NULL, 0, NULL, 0);
        free(r);
    }
    while (!list_is_empty(&l->queue))
        queued_free(l, list_entry(l->queue.next, struct queued, link));
    watch_close(l->watch);
    timer_close(l->later_timer);
    buf_fini(&l->later);
    /* The socket stays open until this process exits: the keeper takes its close as our exit. */
    free(l);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.c - the keeper's end of the socket to the worker. Layer: keeper.
 */
#include "keeper/channel.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/io.h"

struct packet {
    struct list link;
    int fds[CHANNEL_FDS_MAX];
    size_t fd_count;
    size_t len;
    char bytes[];
};

union channel_control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int) * CHANNEL_FDS_MAX)];
};

void channel_init(struct channel *l)
{
    l->fd = -1;
    l->queued = 0;
    l->stalled = false;
    list_init(&l->queue);
}

int channel_open(struct channel *l, int *worker_end)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return -errno;
    l->fd = pair[0];
    *worker_end = pair[1];
    return 0;
}

static void packet_free(struct packet *p)
{
    for (size_t i = 0; i < p->fd_count; i++)
        io_close(&p->fds[i]);
    free(p);
}

void channel_close(struct channel *l)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &l->queue)
        packet_free(list_entry(it, struct packet, link));
    list_init(&l->queue);
    l->queued = 0;
    l->stalled = false;
    io_close(&l->fd);
}

bool channel_wants_write(const struct channel *l)
{
    return l->fd >= 0 && l->queued > 0 && !l->stalled;
}

/* 0 or -errno. */
static int channel_send_now(int fd, const void *bytes, size_t len, const int *fds, size_t fd_count)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = len};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    union channel_control control;
    ssize_t n;

    if (fd_count > 0) {
        struct cmsghdr *c;

        memset(&control, 0, sizeof control);
        msg.msg_control = &control;
        msg.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
        c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * fd_count);
    }
    do
        n = sendmsg(fd, &msg, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

/*
 * These shortages pass without notice: memory, and the number of descriptors in flight for all
 * processes of our user together (ETOOMANYREFS).
 */
static bool is_transient(int rc)
{
    return rc == -ETOOMANYREFS || rc == -ENOMEM || rc == -ENOBUFS;
}

/* The entry may be removed before the packet is sent, so the packet has its own descriptors. */
static int channel_queue(struct channel *l, const void *bytes, size_t len, const int *fds,
                         size_t fd_count)
{
    struct packet *p;

    if (l->queued >= CHANNEL_QUEUE_MAX)
        return -ENOBUFS;
    p = malloc(sizeof *p + len);
    if (p == NULL)
        return -ENOMEM;
    p->len = len;
    memcpy(p->bytes, bytes, len);
    for (p->fd_count = 0; p->fd_count < fd_count; p->fd_count++) {
        int fd = fcntl(fds[p->fd_count], F_DUPFD_CLOEXEC, 3);

        if (fd < 0) {
            int rc = -errno;

            packet_free(p);
            return rc;
        }
        p->fds[p->fd_count] = fd;
    }
    list_append(&l->queue, &p->link);
    l->queued++;
    return 0;
}

int channel_send(struct channel *l, const void *bytes, size_t len, const int *fds, size_t fd_count)
{
    int rc = -EAGAIN;

    assert(fd_count <= CHANNEL_FDS_MAX);
    if (l->fd < 0)
        return 0;
    if (l->queued == 0)
        rc = channel_send_now(l->fd, bytes, len, fds, fd_count);
    if (is_transient(rc))
        l->stalled = true;
    if (rc == -EAGAIN || l->stalled)
        rc = channel_queue(l, bytes, len, fds, fd_count);
    return rc;
}

int channel_flush(struct channel *l)
{
    l->stalled = false;
    while (channel_wants_write(l)) {
        struct packet *p = list_entry(l->queue.next, struct packet, link);
        int rc = channel_send_now(l->fd, p->bytes, p->len, p->fds, p->fd_count);

        l->stalled = is_transient(rc);
        if (rc == -EAGAIN || l->stalled)
            return 0;
        if (rc < 0)
            return rc;
        list_remove(&p->link);
        l->queued--;
        packet_free(p);
    }
    return 0;
}

/* Collects all descriptors that arrived, expected or not, so that none leaks. */
static void channel_collect_fds(struct msghdr *msg, struct channel_packet *out)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        assert(out->fd_count + count <= CHANNEL_FDS_MAX);
        memcpy(out->fds + out->fd_count, CMSG_DATA(c), count * sizeof(int));
        out->fd_count += count;
    }
    out->fds_lost = (msg->msg_flags & MSG_CTRUNC) != 0;
}

static int channel_reject(struct channel_packet *p)
{
    for (size_t i = 0; i < p->fd_count; i++)
        io_close(&p->fds[i]);
    p->fd_count = 0;
    return -EMSGSIZE;
}

int channel_receive(struct channel *l, void *to, size_t max, struct channel_packet *out)
{
    struct iovec iov = {.iov_base = to, .iov_len = max};
    union channel_control control;
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof control};
    ssize_t n;

    do
        n = recvmsg(l->fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (n < 0 && (errno == EINTR || errno == ECONNRESET));
    if (n < 0)
        return errno == EAGAIN || errno == ENOMEM ? 0 : -errno; /* the packet stays queued */
    *out = (struct channel_packet){.len = (size_t)n};
    channel_collect_fds(&msg, out);
    /* All slots filled and more lost: too many were sent. Fewer: our own table is full. */
    if ((msg.msg_flags & MSG_TRUNC) || (out->fds_lost && out->fd_count == CHANNEL_FDS_MAX))
        return channel_reject(out);
    if (n == 0) {
        channel_reject(out);
        return -EPIPE;
    }
    return 1;
}

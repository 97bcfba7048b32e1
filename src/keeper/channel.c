/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_channel.c - the keeper's end of the socket to the worker. Layer: keeper.
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
    int fds[LINK_FDS_MAX];
    size_t fd_count;
    size_t len;
    char bytes[];
};

union channel_control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int) * LINK_FDS_MAX)];
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
static int link_send_now(int fd, const void *bytes, size_t len, const int *fds, size_t fd_count)
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
 * Memory, and the number of descriptors that may be under way for all
 * processes of our user together (ETOOMANYREFS), come back without notice.
 */
static bool link_is_passing(int rc)
{
    return rc == -ETOOMANYREFS || rc == -ENOMEM || rc == -ENOBUFS;
}

/* The entry may be gone when the packet's turn comes, so it has descriptors of its own. */
static int link_queue(struct channel *l, const void *bytes, size_t len, const int *fds,
                      size_t fd_count)
{
    struct packet *p;

    if (l->queued >= LINK_QUEUE_MAX)
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

    assert(fd_count <= LINK_FDS_MAX);
    if (l->fd < 0)
        return 0;
    if (l->queued == 0)
        rc = link_send_now(l->fd, bytes, len, fds, fd_count);
    if (link_is_passing(rc))
        l->stalled = true;
    if (rc == -EAGAIN || l->stalled)
        rc = link_queue(l, bytes, len, fds, fd_count);
    return rc;
}

int channel_flush(struct channel *l)
{
    l->stalled = false;
    while (channel_wants_write(l)) {
        struct packet *p = list_entry(l->queue.next, struct packet, link);
        int rc = link_send_now(l->fd, p->bytes, p->len, p->fds, p->fd_count);

        l->stalled = link_is_passing(rc);
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

/* Takes all descriptors that came, wanted or not, so that none is left behind. */
static void link_take_fds(struct msghdr *msg, struct link_packet *out)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        assert(out->fd_count + count <= LINK_FDS_MAX);
        memcpy(out->fds + out->fd_count, CMSG_DATA(c), count * sizeof(int));
        out->fd_count += count;
    }
    out->fds_lost = (msg->msg_flags & MSG_CTRUNC) != 0;
}

static int link_refuse(struct link_packet *p)
{
    for (size_t i = 0; i < p->fd_count; i++)
        io_close(&p->fds[i]);
    p->fd_count = 0;
    return -EMSGSIZE;
}

int channel_receive(struct channel *l, void *to, size_t max, struct link_packet *out)
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
        return errno == EAGAIN || errno == ENOMEM ? 0 : -errno; /* it stays there */
    *out = (struct link_packet){.len = (size_t)n};
    link_take_fds(&msg, out);
    /* All places taken and still more: too many. Fewer, and some lost: our own table is full. */
    if ((msg.msg_flags & MSG_TRUNC) || (out->fds_lost && out->fd_count == LINK_FDS_MAX))
        return link_refuse(out);
    if (n == 0) {
        link_refuse(out);
        return -EPIPE;
    }
    return 1;
}

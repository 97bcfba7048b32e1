/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fd_message.c - packets with descriptors on a unix socket. Layer: base.
 */
#include "base/fd_message.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/io.h"

union fd_message_control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int) * FD_MESSAGE_MAX)];
};

int fd_message_send(int fd, const struct iovec *iov, size_t count, const int *fds, size_t fd_count)
{
    struct msghdr msg = {.msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = count};
    union fd_message_control control;

    assert(fd_count <= FD_MESSAGE_MAX);
    if (fd_count > 0) {
        memset(&control, 0, sizeof control);
        msg.msg_control = &control;
        msg.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
        control.align = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                                         .cmsg_type = SCM_RIGHTS,
                                         .cmsg_len = CMSG_LEN(sizeof(int) * fd_count)};
        memcpy(CMSG_DATA(&control.align), fds, sizeof(int) * fd_count);
    }
    while (sendmsg(fd, &msg, MSG_NOSIGNAL) < 0) {
        if (errno != EINTR)
            return -errno;
    }
    return 0;
}

bool fd_message_is_shortage(int rc)
{
    return rc == -ETOOMANYREFS || rc == -ENOMEM || rc == -ENOBUFS;
}

static void collect_fds(struct msghdr *msg, struct fd_message *out)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        assert(out->fd_count + count <= FD_MESSAGE_MAX);
        memcpy(out->fds + out->fd_count, CMSG_DATA(c), count * sizeof(int));
        out->fd_count += count;
    }
}

/* If the peer closed without reading everything, the kernel reports ECONNRESET once, ahead of the
 * packets that the peer had sent. */
int fd_message_receive(int fd, void *to, size_t max, size_t fd_max, bool inherit,
                       struct fd_message *out)
{
    struct iovec iov = {.iov_base = to, .iov_len = max};
    union fd_message_control control;
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = CMSG_SPACE(sizeof(int) * fd_max)};
    ssize_t n;

    assert(fd_max <= FD_MESSAGE_MAX);
    do
        n = recvmsg(fd, &msg, MSG_DONTWAIT | (inherit ? 0 : MSG_CMSG_CLOEXEC));
    while (n < 0 && (errno == EINTR || errno == ECONNRESET));
    if (n < 0)
        return errno == EAGAIN || errno == ENOMEM ? 0 : -errno; /* the packet stays queued */
    *out = (struct fd_message){.len = (size_t)n, .fds_lost = (msg.msg_flags & MSG_CTRUNC) != 0};
    collect_fds(&msg, out);
    if (n > 0 && !(msg.msg_flags & MSG_TRUNC))
        return 1;
    fd_message_close(out);
    return n == 0 ? -EPIPE : -EMSGSIZE;
}

void fd_message_close(struct fd_message *m)
{
    for (size_t i = 0; i < m->fd_count; i++)
        io_close(&m->fds[i]);
    m->fd_count = 0;
}

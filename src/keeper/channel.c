/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.c - the keeper's end of the socket to the worker. Layer: keeper.
 */
#include "keeper/channel.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/io.h"

void channel_init(struct channel *ch)
{
    ch->fd = -1;
    ch->stalled = false;
    fd_queue_init(&ch->queue, CHANNEL_QUEUE_MAX);
}

int channel_open(struct channel *ch, int *worker_end)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return -errno;
    ch->fd = pair[0];
    *worker_end = pair[1];
    return 0;
}

void channel_close(struct channel *ch)
{
    fd_queue_clear(&ch->queue);
    ch->stalled = false;
    io_close(&ch->fd);
}

bool channel_wants_write(const struct channel *ch)
{
    return ch->fd >= 0 && ch->queue.count > 0 && !ch->stalled;
}

int channel_send(struct channel *ch, const void *bytes, size_t len, const int *fds, size_t fd_count)
{
    const struct iovec iov = {(void *)(uintptr_t)bytes, len};
    int rc = -EAGAIN;

    if (ch->fd < 0)
        return 0;
    if (ch->queue.count == 0)
        rc = fd_message_send(ch->fd, &iov, 1, fds, fd_count);
    if (fd_message_is_shortage(rc))
        ch->stalled = true;
    if (rc == -EAGAIN || ch->stalled)
        rc = fd_queue_put(&ch->queue, &iov, 1, fds, fd_count);
    return rc;
}

int channel_flush(struct channel *ch)
{
    int rc = fd_queue_send(&ch->queue, ch->fd);

    ch->stalled = fd_message_is_shortage(rc);
    return rc == -EAGAIN || ch->stalled ? 0 : rc;
}

int channel_receive(struct channel *ch, void *to, size_t max, struct fd_message *out)
{
    int rc = fd_message_receive(ch->fd, to, max, CHANNEL_FDS_MAX, false, out);

    /* All slots filled and more lost: too many were sent. Fewer: our own table is full. */
    if (rc <= 0 || !out->fds_lost || out->fd_count < CHANNEL_FDS_MAX)
        return rc;
    fd_message_close(out);
    return -EMSGSIZE;
}

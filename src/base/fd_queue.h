/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fd_queue.h - packets with descriptors that a full socket did not accept
 *
 * In order and bounded. A packet has descriptors of its own, since the sender may close its copies
 * before the packet leaves. Owned by the end of the channel that embeds it. Layer: base.
 */
#ifndef HF_BASE_FD_QUEUE_H
#define HF_BASE_FD_QUEUE_H

#include "base/fd_message.h"
#include "base/list.h"

struct fd_queue {
    struct list packets;
    size_t count, max;
};

void fd_queue_init(struct fd_queue *q, size_t max);
void fd_queue_clear(struct fd_queue *q);
/* 0, -ENOBUFS: full, or -errno: no memory, no descriptor. Nothing is queued then. */
int fd_queue_put(struct fd_queue *q, const struct iovec *iov, size_t count, const int *fds,
                 size_t fd_count);
/* Sends what the socket accepts. 0: the queue is empty; -errno: of the oldest packet, which
 * stays. */
int fd_queue_send(struct fd_queue *q, int fd);
void fd_queue_drop_oldest(struct fd_queue *q);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.h - the keeper's end of the socket to the worker, and of the one to the vault
 *
 * Packets are sent at once while the socket has room, and wait in a bounded queue otherwise. If the
 * queue overflows (-ENOBUFS), the caller kills the worker. Nothing is lost: the next worker starts
 * from the table. Layer: keeper.
 */
#ifndef HF_KEEPER_CHANNEL_H
#define HF_KEEPER_CHANNEL_H

#include "base/fd_queue.h"

#define CHANNEL_QUEUE_MAX 4096 /* packets; the socket itself buffers some 200 more */

#define CHANNEL_RETRY_MS 5
#define CHANNEL_FDS_MAX 6 /* more than any message has, to detect a surplus */

struct channel {
    int fd; /* -1: no worker; packets sent are dropped */
    struct fd_queue queue;
    bool stalled; /* a kernel shortage that poll(2) does not report: retry later */
};

void channel_init(struct channel *ch);
int channel_open(struct channel *ch, int *worker_end); /* 0 or -errno */
void channel_close(struct channel *ch);                /* drops the queue */

/* 0 or -errno, and then the worker is unusable. `fds` are borrowed, and duplicated if the packet
 * is queued. */
int channel_send(struct channel *ch, const void *bytes, size_t len, const int *fds,
                 size_t fd_count);
int channel_flush(struct channel *ch);              /* the socket may have room: 0 or -errno */
bool channel_wants_write(const struct channel *ch); /* POLLOUT reports when */

/*
 * Reads one packet into `to`. 1: received, and the caller owns its descriptors; 0: none available;
 * -errno: the channel is closed, or the packet is too long or has too many descriptors.
 */
int channel_receive(struct channel *ch, void *to, size_t max, struct fd_message *out);

#endif

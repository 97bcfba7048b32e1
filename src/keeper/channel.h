/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.h - the keeper's end of the socket to the worker, and of the one to the vault
 *
 * Packets go out at once while the socket has room and wait in a bounded queue
 * otherwise. A worker that lets it overflow (-ENOBUFS) is ended by the caller. Nothing is
 * lost by that: the next worker starts from the table. Layer: keeper.
 */
#ifndef HF_KEEPER_CHANNEL_H
#define HF_KEEPER_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"

#define LINK_QUEUE_MAX 4096 /* packets; the socket itself holds some 200 more */

#define LINK_RETRY_MS 5
#define LINK_FDS_MAX 6 /* more than any message has, to notice it */

struct channel {
    int fd; /* -1: no worker; what is sent is dropped */
    struct list queue;
    size_t queued;
    bool stalled; /* the kernel lacks something that poll(2) does not report: try again later */
};

void channel_init(struct channel *l);
int channel_open(struct channel *l, int *worker_end); /* 0 or -errno */
void channel_close(struct channel *l);                /* forgets the queue */

/* 0 or -errno, and then the worker is no use. `fds` are borrowed, and copied if they must wait. */
int channel_send(struct channel *l, const void *bytes, size_t len, const int *fds, size_t fd_count);
int channel_flush(struct channel *l);              /* the socket may have room: 0 or -errno */
bool channel_wants_write(const struct channel *l); /* poll(2) can tell when */

struct link_packet {
    size_t len;
    int fds[LINK_FDS_MAX];
    size_t fd_count;
    bool fds_lost; /* the kernel could not give us all: our table is full */
};

/*
 * One packet into `to`. 1: got it and the caller owns its descriptors; 0:
 * nothing there; -errno: no more packets will come, or one that is too long or
 * has too many descriptors.
 */
int channel_receive(struct channel *l, void *to, size_t max, struct link_packet *out);

#endif

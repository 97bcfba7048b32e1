/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_channel.h - the worker's end of the channel to the keeper
 *
 * Requests are packets with a number, which the reply repeats to find its callback. When the socket
 * is full, packets are queued (bounded), because the keeper always reads. Layer: engine.
 */
#ifndef HF_ENGINE_SPAWN_KEEPER_CHANNEL_H
#define HF_ENGINE_SPAWN_KEEPER_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "keeper/keeper_proto.h"

struct keeper_channel;

struct keeper_channel_ops {
    void (*on_exited)(void *arg, const struct k_exited *m);
    void (*on_stop)(void *arg, uint32_t grace_ms);
    void (*on_retire)(void *arg);
    /* The descriptor is valid unless m->error is set; the callee takes it by setting it to -1. */
    void (*on_credentials)(void *arg, const struct k_credentials *m, int *fd);
};

struct keeper_channel *keeper_channel_new(struct loop *loop, int fd,
                                          const struct keeper_channel_ops *ops, void *arg);
void keeper_channel_free(struct keeper_channel *ch); /* fails open requests with a NULL packet */

/* A reply: the packet and its descriptors, which the callee takes by setting them to -1. Packet
 * NULL: no reply will come, because the worker exits; free what was kept for it and notify no
 * one. */
typedef void keeper_reply_fn(void *arg, const void *packet, size_t len, int *fds, size_t fd_count);

/* Queues a packet that no one waits for. It is sent after CHANNEL_LATER_MS together with the others
 * in the queue, or when there are CHANNEL_LATER_MAX, so that the keeper wakes up once for many. If
 * the worker dies first, the next one finds the same situation and sends the packet again. */
#define CHANNEL_LATER_MS 20
#define CHANNEL_LATER_MAX 64
void keeper_channel_send_later(struct keeper_channel *ch, const void *packet, size_t len);

/* Sends a packet; its second word is the request number, which is filled in here. fn NULL: no reply
 * expected. 0 or -errno (nothing sent). */
int keeper_channel_send(struct keeper_channel *ch, void *packet, size_t len, const void *tail,
                        size_t tail_len, const int *fds, size_t fd_count, keeper_reply_fn *fn,
                        void *arg);

#endif

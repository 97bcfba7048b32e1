/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_channel.h - the worker's end of the line to the keeper
 *
 * Requests are packets with a number; the answer finds its callback by it.
 * A full socket queues (bounded): the keeper always reads. Layer: engine.
 */
#ifndef HF_ENGINE_SPAWN_KEEPER_CHANNEL_H
#define HF_ENGINE_SPAWN_KEEPER_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "keeper/keeper_proto.h"

struct keeper_channel;

struct line_ops {
    void (*on_exited)(void *arg, const struct k_exited *m);
    void (*on_stop)(void *arg, uint32_t grace_ms);
    void (*on_retire)(void *arg);
    /* The descriptor is there unless m->error is set, and is to be taken (set to -1). */
    void (*on_credentials)(void *arg, const struct k_credentials *m, int *fd);
};

struct keeper_channel *keeper_channel_new(struct loop *loop, int fd, const struct line_ops *ops,
                                          void *arg);
void keeper_channel_free(
    struct keeper_channel *l); /* open requests are answered with a packet of NULL */

/* An answer: the packet and the descriptors that came with it (to be taken: set to -1). NULL: none
 * will come, the worker leaves; what was kept for it is to be freed, and nobody told. */
typedef void line_answer_fn(void *arg, const void *packet, size_t len, int *fds, size_t fd_count);

/* A packet that nobody waits for: it goes after LINE_LATER_MS with all that have gathered, or when
 * they are LINE_LATER_MAX, so that the keeper is woken once for many. A worker that dies before
 * has only not said it: the next one finds things as they are and says it again. */
#define LINE_LATER_MS 20
#define LINE_LATER_MAX 64
void keeper_channel_send_later(struct keeper_channel *l, const void *packet, size_t len);

/* Sends a packet whose second word is the request number, which is filled in
 * here. fn NULL: no answer expected. 0 or -errno (nothing sent). */
int keeper_channel_send(struct keeper_channel *l, void *packet, size_t len, const void *tail,
                        size_t tail_len, const int *fds, size_t fd_count, line_answer_fn *fn,
                        void *arg);

#endif

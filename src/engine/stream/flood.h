/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flood.h - detects a process that writes as fast as it can
 *
 * Reports the start and the end of a flood to the keeper, which then adjusts CPU weights so that
 * both sides keep up (keeper/flood_weight.h). The threshold is high enough that a long listing does
 * not count as a flood. A flood is checked once a second while it lasts. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_FLOOD_H
#define HF_ENGINE_STREAM_FLOOD_H

#include <stddef.h>
#include <stdint.h>

#define FLOOD_BYTES (1024 * 1024) /* within FLOOD_MS: a flood */
#define FLOOD_MS 500
#define FLOOD_CHECK_MS 1000
#define FLOOD_KEEP_BYTES (2 * 1024 * 1024) /* less than this since the last check: it is over */

struct process;

/* Only flood.c touches it. */
struct process_flood {
    struct timer *timer; /* detects the end of a flood; NULL: none so far */
    uint64_t bytes, since_ms;
};

/* `n` bytes were read in one burst. The size of a burst means nothing: a flood whose two sides
 * sleep in turn arrives in small pieces, and needs help most. */
void flood_add(struct process *p, size_t n);
void flood_fini(struct process *p);

#endif

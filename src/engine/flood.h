/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flood.h - which process writes as fast as it can
 *
 * The keeper is told when it begins and when it is over, and makes it easier for both
 * sides (keeper/ease.h). Told after so much that a long listing is none, and asked
 * again once a second while it lasts. Layer: engine.
 */
#ifndef HF_ENGINE_FLOOD_H
#define HF_ENGINE_FLOOD_H

#include <stdbool.h>
#include <stddef.h>

#define FLOOD_BYTES (1024 * 1024) /* without a pause: it is one */
#define FLOOD_LOOK_MS 1000
#define FLOOD_KEEP_BYTES (8 * 1024 * 1024) /* less than this since the last look: it is over */

struct process;

/* A burst of so many bytes was read; `on`: as one of many without a pause between them. */
void flood_took(struct process *p, size_t n, bool on);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flood.h - which process writes as fast as it can
 *
 * The keeper is told when it begins and when it is over, and makes it easier for both
 * sides (keeper/flood_weight.h). Told after so much that a long listing is none, and asked
 * again once a second while it lasts. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_FLOOD_H
#define HF_ENGINE_STREAM_FLOOD_H

#include <stddef.h>

#define FLOOD_BYTES (1024 * 1024) /* within FLOOD_MS: it is one */
#define FLOOD_MS 500
#define FLOOD_LOOK_MS 1000
#define FLOOD_KEEP_BYTES (2 * 1024 * 1024) /* less than this since the last look: it is over */

struct process;

/*
 * A burst of so many bytes was read. How large bursts are says nothing: a flood whose sides take
 * turns sleeping comes in small pieces, and is the one that most needs help.
 */
void flood_took(struct process *p, size_t n);

#endif

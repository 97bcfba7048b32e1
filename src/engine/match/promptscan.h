/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promptscan.h - finds the next prompt of a shell that marks its prompts, in a stream of output
 *
 * The marks are OSC 133: A before the prompt, B after it, D with the exit code of the previous
 * command. A prompt is complete at B. For shells that send only A, it is complete when the output
 * pauses. The interface is that of textscan.h. Layer: engine.
 */
#ifndef HF_ENGINE_MATCH_PROMPTSCAN_H
#define HF_ENGINE_MATCH_PROMPTSCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct promptscan;

struct promptscan_match {
    uint64_t start, end; /* of mark B; without one, from A to the pause */
    int exit_code;       /* of the command that ended since the start; -1: not reported */
};

/* offset of the first byte to feed; NULL: out of memory */
struct promptscan *promptscan_new(uint64_t at);
void promptscan_free(struct promptscan *s); /* NULL is fine */

/* Starts over: the next byte fed is at `at`. Not after a match. */
void promptscan_restart(struct promptscan *s, uint64_t at);
/* True: found; the scan is over and further calls return the same result. */
bool promptscan_feed(struct promptscan *s, const void *bytes, size_t len,
                     struct promptscan_match *out);
/* The output pauses here, and the process is still running. */
bool promptscan_at_pause(const struct promptscan *s, struct promptscan_match *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promptscan.h - the next prompt of a shell that marks it, searched in a stream of output
 *
 * The marks are OSC 133: A before the prompt, B behind it, D with the exit code of
 * the command before. A prompt is there at B. Shells that send A alone have
 * theirs when the output pauses. The same shape as textscan.h. Layer: engine.
 */
#ifndef HF_ENGINE_MATCH_PROMPTSCAN_H
#define HF_ENGINE_MATCH_PROMPTSCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct promptscan;

struct promptscan_match {
    uint64_t start, end; /* of the mark B; from A to the pause where there is none */
    int exit_code;       /* of the command that ended since the start; -1: not told */
};

struct promptscan *promptscan_new(uint64_t at); /* offset of the first byte to come; NULL: memory */
void promptscan_free(struct promptscan *s);     /* NULL is fine */

/* Begins anew: what is fed next stands at `at`. Not after a match. */
void promptscan_restart(struct promptscan *s, uint64_t at);
/* True: found; the scan is over and repeats this answer. */
bool promptscan_feed(struct promptscan *s, const void *bytes, size_t len,
                     struct promptscan_match *out);
/* The output pauses here, and the process lives. */
bool promptscan_at_pause(const struct promptscan *s, struct promptscan_match *out);

#endif

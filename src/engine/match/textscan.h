/* SPDX-License-Identifier: Apache-2.0 */
/*
 * textscan.h - searches a stream of output for a fixed text
 *
 * It is fed chunks as they arrive, finds the first occurrence of the text, also across chunk
 * borders, and reports it at its last byte. Linear time; bytes are compared as they are. The
 * interface is that of regex.h. Layer: engine.
 */
#ifndef HF_ENGINE_MATCH_TEXTSCAN_H
#define HF_ENGINE_MATCH_TEXTSCAN_H

#include <stddef.h>
#include <stdint.h>

struct textscan;

struct textscan_match {
    uint64_t start, end; /* absolute offsets, half-open */
};

enum textscan_result {
    TEXTSCAN_MORE,  /* not found so far */
    TEXTSCAN_MATCH, /* *out is filled; the scan is over and repeats this result */
};

/*
 * Copies the text (at most LIMIT_TEXT_BYTES, else NULL). `at` is the offset of the first byte that
 * will be fed. An empty text is found there. NULL: out of memory.
 */
struct textscan *textscan_new(const void *text, size_t len, uint64_t at);
void textscan_free(struct textscan *s); /* NULL is fine */

/* Starts over: the next byte fed is at `at`. Not after a match. */
void textscan_restart(struct textscan *s, uint64_t at);

enum textscan_result textscan_feed(struct textscan *s, const void *bytes, size_t len,
                                   struct textscan_match *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receipt.h - how much of the output a viewer has certainly received
 *
 * Bytes written to a socket may be lost with it: they sit in the buffers of both kernels and of any
 * proxy in between. A connection counts what it sends in its own unit, with headers and encodings,
 * so a receipt remembers a few pairs of such a count and an offset, and advances when the
 * connection reports that a count was confirmed. It is never ahead of what the peer has. Owned by
 * struct viewer. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_RECEIPT_H
#define HF_ENGINE_STREAM_RECEIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECEIPT_MARKS 8

struct receipt {
    uint64_t at; /* everything before this offset has arrived */
    size_t count;
    struct receipt_mark {
        uint64_t sent, at; /* at this count, everything before `at` was sent */
    } mark[RECEIPT_MARKS]; /* in order */
};

void receipt_reset(struct receipt *r, uint64_t at); /* nothing is in flight */
/* At the connection's count `sent`, everything before `at` was sent. */
void receipt_note(struct receipt *r, uint64_t sent, uint64_t at);
/* The peer has confirmed this much of the connection's count. True: the receipt has advanced. */
bool receipt_confirm(struct receipt *r, uint64_t confirmed);
/* The offset of the last mark, or the receipt itself. */
uint64_t receipt_noted(const struct receipt *r);

#endif

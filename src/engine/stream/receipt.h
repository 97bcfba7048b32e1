/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receipt.h - how much of the output a viewer has certainly got
 *
 * What was given to a socket may be lost with it: it lies in buffers of both kernels, and in those of whoever
 * is between. Connections count what they send in a count of their own, with heads and encodings, so a receipt remembers
 * a few pairs of that count and an offset, and moves on when the connection tells that its count was
 * confirmed. It is never ahead of what the peer has. Owned by struct viewer. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_RECEIPT_H
#define HF_ENGINE_STREAM_RECEIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECEIPT_MARKS 8

struct receipt {
    uint64_t at; /* all in front of this offset has arrived */
    size_t count;
    struct receipt_mark {
        uint64_t sent, at; /* with so much sent, all in front of `at` was sent */
    } mark[RECEIPT_MARKS]; /* in order */
};

void receipt_reset(struct receipt *r, uint64_t at); /* nothing is on its way */
/* With `sent` in the connection's count everything in front of `at` was sent. */
void receipt_note(struct receipt *r, uint64_t sent, uint64_t at);
/* The peer has so much of the connection's count. True: the receipt has moved. */
bool receipt_confirm(struct receipt *r, uint64_t confirmed);
/* The offset behind the last mark, or the receipt itself. */
uint64_t receipt_noted(const struct receipt *r);

#endif

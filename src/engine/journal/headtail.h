/* SPDX-License-Identifier: Apache-2.0 */
/*
 * headtail.h - the beginning and the end of an output, and how much is between
 *
 * Keeps at most max_bytes: the first half as head, the last as tail. What fits
 * is kept whole. head.len + omitted + tail.len is always the number of bytes
 * fed. Memory grows with the output up to max_bytes; when it cannot be had, less
 * is kept, and still nothing is miscounted. Layer: engine.
 */
#ifndef HF_ENGINE_JOURNAL_HEADTAIL_H
#define HF_ENGINE_JOURNAL_HEADTAIL_H

#include <stddef.h>
#include <stdint.h>

/* One half; a ring once it is full and fed on. */
struct headtail_part {
    char *mem;
    size_t len, cap, max; /* held, allocated, allowed */
    size_t next;          /* ring: where the next byte goes, which is the oldest held */
};

/* Embedded by its owner; the fields are the module's own. */
struct headtail {
    struct headtail_part head, tail;
    uint64_t total;
};

struct headtail_view {
    const char *head, *tail; /* may be NULL when empty */
    size_t head_len, tail_len;
    uint64_t omitted; /* bytes between the two */
};

void headtail_init(struct headtail *h, size_t max_bytes);
void headtail_fini(struct headtail *h);
void headtail_feed(struct headtail *h, const void *bytes, size_t len);

/*
 * Borrows what is held until the next feed. When something is omitted, bytes of
 * a UTF-8 character that was cut in two are left out and counted as omitted
 * (at most three on either side).
 */
void headtail_peek(struct headtail *h, struct headtail_view *out);

#endif

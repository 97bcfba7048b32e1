/* SPDX-License-Identifier: Apache-2.0 */
/*
 * headtail.h - the beginning and the end of an output, and the length of the gap between them
 *
 * Keeps at most max_bytes: the first half as head, the last half as tail. What fits is kept whole.
 * head.len + omitted + tail.len is always the number of bytes fed or skipped. Memory grows with the
 * output up to max_bytes. If it cannot be allocated, less is kept, and the counts stay right.
 * Layer: engine.
 */
#ifndef HF_ENGINE_JOURNAL_HEADTAIL_H
#define HF_ENGINE_JOURNAL_HEADTAIL_H

#include <stddef.h>
#include <stdint.h>

/* One half; it becomes a ring once it is full and is fed more. */
struct headtail_part {
    char *mem;
    size_t len, cap, max; /* held, allocated, allowed */
    size_t next;          /* ring: where the next byte is written, over the oldest */
};

/* Embedded by its owner; the fields are private to this module. */
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
/* Bytes that are not known: what comes after them is tail. */
void headtail_skip(struct headtail *h, uint64_t len);

/*
 * Borrows what is held until the next feed. When something is omitted, bytes of a UTF-8 character
 * that was cut in two are left out and counted as omitted (at most three on either side).
 */
void headtail_peek(struct headtail *h, struct headtail_view *out);

#endif

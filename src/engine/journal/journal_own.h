/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal_own.h - the writing side of the journal, for the engine only
 *
 * Readers of a journal include journal.h. Layer: engine.
 */
#ifndef HF_ENGINE_JOURNAL_JOURNAL_OWN_H
#define HF_ENGINE_JOURNAL_JOURNAL_OWN_H

#include "engine/journal/journal.h"
#include "engine/journal/record.h"
#include "engine/worker_shared.h"

/* In pattern mode, this much of the ring ahead of `next` is reserved for the pattern. */
#define JOURNAL_WINDOW_BYTES (64 * 1024)
#define JOURNAL_READ_BYTES ((size_t)1 << 30) /* at once; the slip counts in 32 bits */

struct journal {
    struct record *rec; /* borrowed from the process */
    struct slip *slip;  /* borrowed from the engine's state */
    bool exact;         /* the kernel counts our reads: no pattern needed */
};

void journal_init(struct journal *j, struct record *rec, struct slip *slip, bool exact);

/*
 * One read(2) from fd into the ring, at most max bytes. Returns as read(2), or -errno. The bytes
 * count as soon as this returns; journal_recover() recovers those of an interrupted call.
 */
ssize_t journal_read(struct journal *j, int fd, enum stream stream, size_t max);

/*
 * After a worker died inside journal_read(): accounts for the bytes that its last read returned.
 * `moved` is the kernel's count for that read, or -1 if unknown. Returns the number of bytes
 * recovered.
 */
size_t journal_recover(struct journal *j, int64_t moved);

void journal_mark_size(struct journal *j, uint16_t rows, uint16_t cols);

/* The ring size for a requested capacity. */
size_t journal_ring_bytes(size_t cap_bytes, bool exact);
/* Bytes that may be read before the one at `hold` is overwritten. */
size_t journal_room(const struct journal *j, uint64_t hold);
/* Of the last occurrence of either sequence in the held output: is it `on`? (mode look-back) */
bool journal_last_is(const struct journal *j, const char *on, const char *off);

#endif

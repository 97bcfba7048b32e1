/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal_own.h - the journal's writing side, for the engine itself
 *
 * Readers of a journal include journal.h. Layer: engine.
 */
#ifndef HF_ENGINE_JOURNAL_JOURNAL_OWN_H
#define HF_ENGINE_JOURNAL_JOURNAL_OWN_H

#include "engine/journal/journal.h"
#include "engine/journal/record.h"
#include "engine/worker_shared.h"

/* In pattern mode this much of the ring in front of `next` is the pattern's. */
#define JOURNAL_WINDOW_BYTES (64 * 1024)
#define JOURNAL_READ_BYTES ((size_t)1 << 30) /* at once; the slip counts in 32 bits */

struct journal {
    struct record *rec; /* borrowed from the process */
    struct slip *slip;  /* borrowed from the engine's state */
    bool exact;         /* the kernel counts our reads: no pattern needed */
};

void journal_init(struct journal *j, struct record *rec, struct slip *slip, bool exact);

/*
 * One read(2) from fd into the ring, at most max bytes. Returns as read(2), or
 * -errno. The bytes count as soon as this returns; what a kill interrupts is found
 * again by journal_recover().
 */
ssize_t journal_read(struct journal *j, int fd, enum stream stream, size_t max);

/*
 * After a worker died inside journal_read(): makes the bytes count that its
 * last read brought. `moved` is what the kernel says that read brought, or -1 when it does
 * not say. Returns the number of bytes found.
 */
size_t journal_recover(struct journal *j, int64_t moved);

void journal_mark_size(struct journal *j, uint16_t rows, uint16_t cols);

/* The ring that a wished capacity needs. */
size_t journal_ring_bytes(size_t cap_bytes, bool exact);
/* Bytes that may be read before the one at `hold` is overwritten. */
size_t journal_room(const struct journal *j, uint64_t hold);
/* Does the last of two sequences that the held output has come out as `on`? (mode look-back) */
bool journal_last_is(const struct journal *j, const char *on, const char *off);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units.h - positions in a journal in UTF-16 units, for platforms that count output this way
 *
 * One point is kept in the record: a border between two characters (utf16.h) and the number of
 * units before it, counted from the first byte ever written. From the first query on, it never
 * falls out of the ring: it advances before that, in steps of UNITS_STEP_BYTES. So little output
 * costs nothing, and in a flood each byte is read once more while it is in the cache. Every other
 * position is found from the point by counting forwards or, because a border can be found anywhere,
 * backwards; so positions near the end are found quickly. The point is in shared memory and changed
 * by a single store, so positions mean the same after a crash of the worker.
 *
 * If bytes were already dropped at the first query, each of them counts as one unit. A caller that
 * needs exact positions from the first byte therefore queries right after it starts the process.
 * Layer: engine.
 */
#ifndef HF_ENGINE_JOURNAL_UNITS_H
#define HF_ENGINE_JOURNAL_UNITS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define UNITS_STEP_BYTES (64 * 1024)

struct units_point {
    uint64_t at, units;
};

/* In the header of the record. */
struct units_head {
    struct units_point point[2];
    _Atomic uint32_t which; /* 0: not counted yet, else 1 + index of the valid one */
};

struct journal;

/* The last border of the output; at most UTF8_OPEN_MAX bytes follow it. */
struct units_point units_end(struct journal *j);
/* The border at this number of units, or before it if that is within a character; no further back
 * than `most` units and what is held, and not beyond the end. */
struct units_point units_find(struct journal *j, uint64_t units, uint64_t most);
/* The first border at or after a held offset. */
struct units_point units_from(struct journal *j, uint64_t at);

/* For the journal only: *max bytes are about to be read (it may be reduced). */
void units_keep(struct journal *j, size_t *max);

#endif

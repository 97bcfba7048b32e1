/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units.h - places of a journal in UTF-16 units, for platforms that count output so
 *
 * One point is kept in the record: a border between two characters (utf16.h) and the number of
 * units in front of it, back to the first byte ever written. From the first question on it never
 * falls out of the ring: it moves on before that, in steps of UNITS_STEP_BYTES, so little output
 * costs nothing and a flood one look at each byte while it is in the cache. Every other
 * place is found from it by counting forwards or, because a border can be found
 * anywhere, backwards; so what is near the end is near. The point is in shared memory and
 * changed by one store: places mean the same after a crash of the worker.
 *
 * If bytes were gone by the first question, each of them is taken as one unit: whoever starts a
 * process that is to be counted from its first byte asks at once. Layer: engine.
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
    _Atomic uint32_t which; /* 0: not counted yet, else 1 + the one that counts */
};

struct journal;

/* The last border of the output; at most UTF8_OPEN_MAX bytes lie behind it. */
struct units_point units_end(struct journal *j);
/* The border at this number of units, or in front of it where that is within a character; not
 * further back than `most` units and what is held, and not beyond the end. */
struct units_point units_find(struct journal *j, uint64_t units, uint64_t most);
/* The first border at or behind an offset that is held. */
struct units_point units_from(struct journal *j, uint64_t at);

/* The journal's own: *max bytes are about to be read (it may become less). */
void units_keep(struct journal *j, size_t *max);

#endif

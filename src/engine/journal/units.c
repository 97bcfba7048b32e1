/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units.c - positions in a journal in UTF-16 units. Layer: engine.
 */
#include "engine/journal/units.h"

#include "base/utf16.h"
#include "engine/journal/journal_own.h"

static struct units_head *head_of(const struct journal *j)
{
    return &j->rec->head->units;
}

static uint32_t which_of(const struct journal *j)
{
    return atomic_load_explicit(&head_of(j)->which, memory_order_relaxed);
}

static void point_set(struct journal *j, struct units_point to)
{
    struct units_head *h = head_of(j);
    uint32_t spare = which_of(j) == 1 ? 2 : 1;

    h->point[spare - 1] = to;
    atomic_store_explicit(&h->which, spare, memory_order_release);
}

/* Nothing precedes the first byte, so it is not the rest of a character. */
static uint64_t border_from(const struct journal *j, uint64_t at)
{
    if (at == 0)
        return 0;
    return at + utf8_to_border(journal_bytes(j, at), (size_t)(journal_next(j) - at));
}

/* The first byte that is not overwritten yet. */
static uint64_t edge_of(const struct journal *j)
{
    const struct record_head *h = j->rec->head;
    uint64_t next = journal_next(j), to = h->pattern_to > next ? h->pattern_to : next;

    return to > h->ring_bytes ? to - h->ring_bytes : 0;
}

/* The point; created if there is none, or if an older binary, which does not maintain it, let it
 * fall out of the ring. */
static struct units_point point_of(struct journal *j)
{
    uint32_t which = which_of(j);
    struct units_point p = {0};
    uint64_t at;

    if (which != 0)
        p = head_of(j)->point[which - 1];
    if (which != 0 && p.at >= edge_of(j))
        return p;
    at = border_from(j, journal_first(j));
    p = (struct units_point){at, p.units + (at - p.at)};
    point_set(j, p);
    return p;
}

struct units_point units_end(struct journal *j)
{
    struct units_point p = point_of(j);
    uint64_t units, next = journal_next(j);
    size_t n = utf16_count(journal_bytes(j, p.at), (size_t)(next - p.at), false, &units);

    if (n == 0)
        return p;
    p = (struct units_point){p.at + n, p.units + units};
    point_set(j, p);
    return p;
}

void units_keep(struct journal *j, size_t *max)
{
    const struct record_head *h = j->rec->head;
    uint64_t next = journal_next(j), ahead;
    struct units_point p;

    if (which_of(j) == 0)
        return; /* never used: other processes do not pay for it */
    p = point_of(j);
    if (*max > h->ring_bytes / 2)
        *max = h->ring_bytes / 2;
    ahead = j->exact ? *max : JOURNAL_WINDOW_BYTES;
    if (next - p.at >= UNITS_STEP_BYTES || next + ahead > p.at + h->ring_bytes)
        units_end(j);
}

/* The units between two borders. */
static uint64_t between(const struct journal *j, uint64_t from, uint64_t to)
{
    uint64_t units;

    utf16_count(journal_bytes(j, from), (size_t)(to - from), true, &units);
    return units;
}

/* The border one step before this one, or the first that is held. */
static struct units_point step_back(const struct journal *j, struct units_point p)
{
    uint64_t first = journal_first(j);
    uint64_t from = p.at - first > UNITS_STEP_BYTES ? p.at - UNITS_STEP_BYTES : first;

    from = border_from(j, from);
    if (from > p.at)
        from = p.at; /* fewer bytes than a character are held */
    return (struct units_point){from, p.units - between(j, from, p.at)};
}

struct units_point units_find(struct journal *j, uint64_t units, uint64_t most)
{
    struct units_point end = units_end(j), p = end;
    uint64_t found;
    size_t n;

    if (end.units > most && units < end.units - most)
        units = end.units - most;
    while (p.units > units) {
        struct units_point back = step_back(j, p);

        if (back.at == p.at)
            return p;
        p = back;
    }
    n = utf16_fit(journal_bytes(j, p.at), (size_t)(end.at - p.at), units - p.units, &found);
    return (struct units_point){p.at + n, p.units + found};
}

struct units_point units_from(struct journal *j, uint64_t at)
{
    struct units_point p = units_end(j);

    at = border_from(j, at);
    while (p.at > at) {
        struct units_point back = step_back(j, p);

        if (back.at == p.at)
            return p;
        if (back.at < at) {
            p.units -= between(j, at, p.at);
            p.at = at;
            return p;
        }
        p = back;
    }
    return p;
}

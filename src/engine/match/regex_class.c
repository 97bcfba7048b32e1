/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex_class.c - character classes as ranges of code points
 *
 * While a class is parsed, its ranges are appended to the tree in input order; regex_class_finish()
 * sorts and merges them so that they neither overlap nor touch. Surrogates are not characters and
 * are in no class. Layer: engine.
 */
#include "engine/match/regex_prog.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define SET_RANGES 4
static const struct {
    size_t count;
    struct regex_range ranges[SET_RANGES];
} sets[] = {
    [REGEX_NOTHING] = {0, {{0, 0}}},
    [REGEX_DIGITS] = {1, {{'0', '9'}}},
    [REGEX_WORDS] = {4, {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
    [REGEX_SPACES] = {2, {{'\t', '\r'}, {' ', ' '}}},
    [REGEX_LINE_ENDS] = {2, {{'\n', '\n'}, {'\r', '\r'}}},
};

static void push_range(struct regex_tree *t, uint32_t lo, uint32_t hi)
{
    if (t->range_count == t->range_cap) {
        t->range_cap = t->range_cap ? t->range_cap * 2 : 32;
        t->ranges = hf_xrealloc(t->ranges, t->range_cap * sizeof *t->ranges);
    }
    t->ranges[t->range_count++] = (struct regex_range){lo, hi};
}

void regex_class_add(struct regex_tree *t, uint32_t lo, uint32_t hi)
{
    if (hi < REGEX_SURROGATE_LO || lo > REGEX_SURROGATE_HI) {
        push_range(t, lo, hi);
        return;
    }
    if (lo < REGEX_SURROGATE_LO)
        push_range(t, lo, REGEX_SURROGATE_LO - 1);
    if (hi > REGEX_SURROGATE_HI)
        push_range(t, REGEX_SURROGATE_HI + 1, hi);
}

/* Appends the gaps between the given sorted ranges, which do not touch. */
static void add_gaps(struct regex_tree *t, const struct regex_range *ranges, size_t count)
{
    uint32_t lo = 0;

    for (size_t i = 0; i < count; i++) {
        if (ranges[i].lo > lo)
            regex_class_add(t, lo, ranges[i].lo - 1);
        lo = ranges[i].hi + 1;
    }
    if (lo <= REGEX_CHAR_MAX)
        regex_class_add(t, lo, REGEX_CHAR_MAX);
}

void regex_class_add_set(struct regex_tree *t, enum regex_set set, bool negate)
{
    if (negate) {
        add_gaps(t, sets[set].ranges, sets[set].count);
        return;
    }
    for (size_t i = 0; i < sets[set].count; i++)
        regex_class_add(t, sets[set].ranges[i].lo, sets[set].ranges[i].hi);
}

/* Appends the part of a range that falls into the letters from `first`, shifted to `other`. */
static void add_other_case(struct regex_tree *t, struct regex_range r, uint32_t first,
                           uint32_t other)
{
    uint32_t lo = r.lo > first ? r.lo : first;
    uint32_t hi = r.hi < first + 25 ? r.hi : first + 25;

    if (lo <= hi)
        push_range(t, lo - first + other, hi - first + other);
}

static void fold_case(struct regex_tree *t, size_t from)
{
    size_t end = t->range_count;

    for (size_t i = from; i < end; i++) {
        add_other_case(t, t->ranges[i], 'a', 'A');
        add_other_case(t, t->ranges[i], 'A', 'a');
    }
}

static int compare_ranges(const void *a, const void *b)
{
    const struct regex_range *x = a, *y = b;

    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static void sort_and_join(struct regex_tree *t, size_t from)
{
    size_t last = from;

    if (t->range_count == from)
        return;
    qsort(t->ranges + from, t->range_count - from, sizeof *t->ranges, compare_ranges);
    for (size_t i = from + 1; i < t->range_count; i++) {
        struct regex_range r = t->ranges[i];

        if (r.lo > t->ranges[last].hi + 1)
            t->ranges[++last] = r;
        else if (r.hi > t->ranges[last].hi)
            t->ranges[last].hi = r.hi;
    }
    t->range_count = last + 1;
}

/* Computes the gaps from a copy, since the array may move while they are appended. */
static void negate_ranges(struct regex_tree *t, size_t from)
{
    size_t count = t->range_count - from;
    struct regex_range *copy = hf_xalloc((count + 1) * sizeof *copy);

    memcpy(copy, t->ranges + from, count * sizeof *copy);
    t->range_count = from;
    add_gaps(t, copy, count);
    free(copy);
}

void regex_class_finish(struct regex_tree *t, size_t from, bool fold, bool negate)
{
    if (fold)
        fold_case(t, from);
    sort_and_join(t, from);
    if (negate)
        negate_ranges(t, from);
}

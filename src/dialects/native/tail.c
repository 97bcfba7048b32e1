/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tail.c - the last bytes or lines. Slices are found from the front only, so one
 * stream is walked twice: to count, then to the place. Layer: dialects.
 */
#include "dialects/native/tail.h"

#include <string.h>

/* The next slice of the stream at or behind *at, which moves behind it. len 0: no more. */
static struct slice next_of(const struct journal *j, uint64_t *at, int stream)
{
    uint64_t next = journal_next(j);
    struct slice s = {.at = *at};

    while (*at < next) {
        s = journal_slice(j, *at, (size_t)(next - *at));
        if (s.len == 0)
            break;
        *at += s.len;
        if ((int)s.stream == stream)
            return s;
    }
    s.len = 0;
    return s;
}

static uint64_t count_bytes(const struct journal *j, int stream)
{
    uint64_t at = journal_first(j), count = 0;
    struct slice s;

    while ((s = next_of(j, &at, stream)).len > 0)
        count += s.len;
    return count;
}

/* The place behind the first `skip` bytes of the stream. */
static uint64_t behind_bytes(const struct journal *j, uint64_t skip, int stream)
{
    uint64_t at = journal_first(j);
    struct slice s;

    while ((s = next_of(j, &at, stream)).len > 0) {
        if (skip < s.len)
            return s.at + skip;
        skip -= s.len;
    }
    return at;
}

uint64_t tail_bytes(const struct journal *j, uint64_t n, int only_stream)
{
    uint64_t first = journal_first(j), next = journal_next(j), held;

    if (only_stream < 0)
        return next - first > n ? next - n : first;
    held = count_bytes(j, only_stream);
    return n == 0 ? next : behind_bytes(j, held > n ? held - n : 0, only_stream);
}

/* Line ends in the stream that have a byte of it behind them: each begins a line. */
static uint64_t count_line_starts(const struct journal *j, int stream)
{
    uint64_t at = journal_first(j), count = 0;
    char last = '\0';
    struct slice s;

    while ((s = next_of(j, &at, stream)).len > 0) {
        for (size_t i = 0; i < s.len; i++) {
            count += last == '\n';
            last = s.bytes[i];
        }
    }
    return count;
}

/* Where line number `skip` begins, counted from 0 at the first byte held. */
static uint64_t line_start(const struct journal *j, uint64_t skip, int stream)
{
    uint64_t at = journal_first(j);
    char last = '\0';
    struct slice s;

    while ((s = next_of(j, &at, stream)).len > 0) {
        for (size_t i = 0; i < s.len; i++) {
            skip -= last == '\n';
            if (skip == 0)
                return s.at + i;
            last = s.bytes[i];
        }
    }
    return at;
}

uint64_t tail_lines(const struct journal *j, uint64_t n, int only_stream)
{
    uint64_t lines;

    if (only_stream < 0)
        return journal_tail_lines(j, n);
    if (n == 0)
        return journal_next(j);
    lines = count_line_starts(j, only_stream) + 1;
    return line_start(j, lines > n ? lines - n : 0, only_stream);
}

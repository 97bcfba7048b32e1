/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.c - the output ring and its marks. Layer: engine.
 *
 * There are two ways to survive a kill inside read(2):
 *
 * exact: the kernel's count of bytes read shows how many the call returned (worker_shared.h).
 * Nothing is prepared before the read; the whole ring holds output.
 *
 * pattern: where the kernel does not count. The window ahead of `next` is filled with a pattern
 * before the read, and [next, pattern_to) is the pattern until a read overwrites its beginning.
 * After a kill, what is no longer the pattern was read. The pattern consists of bytes that UTF-8
 * never uses, so text is recovered exactly. Binary output that happens to end in the same bytes as
 * the pattern could be cut short, one time in some hundred kills.
 */
#include "engine/journal/journal_own.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/text.h"
#include "engine/journal/safecut.h"

#define PATTERN_BYTES 4096
/*
 * The minimum rate of marks while output arrives, so that recordings have times: 10 ms is a frame
 * of a player. On pipes, changes of stream need marks as well, and a mark that is pushed out costs
 * bytes, so the interval is longer there.
 */
#define MARK_TTY_MS 10
#define MARK_PIPE_MS 100
#define MARK_BYTES (256 * 1024)           /* a run is at most this long, plus one read */
#define OPEN_CHAR_BYTES 3                 /* at most, of an incomplete character */
#define LOOK_BACK_BYTES (4 * 1024 * 1024) /* for a mode: a long history is not read in full */

static unsigned char pattern[PATTERN_BYTES];

static void pattern_make(void)
{
    static const unsigned char never_utf8[] = {0xc0, 0xc1, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9,
                                               0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff};
    uint32_t x = 0x9e3779b9;
    size_t i;

    for (i = 0; i < PATTERN_BYTES; i++) {
        x = x * 1664525u + 1013904223u;
        pattern[i] = never_utf8[(x >> 16) % sizeof never_utf8];
    }
}

const char *stream_name(enum stream s)
{
    switch (s) {
    case STREAM_STDOUT: return "stdout";
    case STREAM_STDERR: return "stderr";
    default: return "tty";
    }
}

size_t journal_ring_bytes(size_t cap_bytes, bool exact)
{
    return exact ? cap_bytes : cap_bytes + JOURNAL_WINDOW_BYTES;
}

void journal_init(struct journal *j, struct record *rec, struct slip *slip, bool exact)
{
    j->rec = rec;
    j->slip = slip;
    j->exact = exact;
    if (!exact && pattern[0] == 0)
        pattern_make();
}

uint64_t journal_next(const struct journal *j)
{
    return atomic_load_explicit(&j->rec->head->next, memory_order_relaxed);
}

uint64_t journal_first(const struct journal *j)
{
    const struct record_head *h = j->rec->head;
    uint64_t edge = journal_next(j);
    uint64_t first;

    if (h->pattern_to > edge)
        edge = h->pattern_to;
    first = edge > h->ring_bytes ? edge - h->ring_bytes : 0;
    return first > h->floor ? first : h->floor;
}

const char *journal_bytes(const struct journal *j, uint64_t at)
{
    return j->rec->ring + at % j->rec->head->ring_bytes;
}

/* --- marks ---------------------------------------------------------------- */

static struct mark *mark_slot(const struct journal *j, uint64_t index)
{
    assert(j->rec->mark_slots > 0);
    return &j->rec->marks[index % j->rec->mark_slots];
}

static uint64_t mark_count(const struct journal *j)
{
    return atomic_load_explicit(&j->rec->head->mark_next, memory_order_relaxed);
}

static uint64_t mark_oldest(const struct journal *j)
{
    uint64_t n = mark_count(j);

    return n > j->rec->mark_slots ? n - j->rec->mark_slots : 0;
}

static bool mark_same_size(const struct mark *a, const struct mark *b)
{
    return a->rows == b->rows && a->cols == b->cols;
}

/*
 * Nothing was written under the last mark, so the new one can replace it, under its number. Not if
 * it recorded a new size: that happened then, even though output came only later. Nor if the new
 * one does: a reader that has seen the mark with this number does not read it again.
 */
static bool mark_is_void(const struct journal *j, uint64_t n, const struct mark *m)
{
    const struct mark *last;

    if (n == 0)
        return false;
    last = mark_slot(j, n - 1);
    if (last->at != m->at || !mark_same_size(last, m))
        return false;
    return n < 2 || mark_same_size(last, mark_slot(j, n - 2));
}

/* Bytes below this are dropped when one more mark is added, because their stream would be wrong. 0:
 * none are. */
static uint64_t mark_next_floor(const struct journal *j)
{
    uint64_t n = mark_count(j);
    const struct mark *old, *heir;

    if (n < j->rec->mark_slots)
        return 0;
    old = mark_slot(j, n - j->rec->mark_slots);
    heir = mark_slot(j, n - j->rec->mark_slots + 1);
    return old->stream != heir->stream ? heir->at : 0;
}

/* Returns how much can be read without overwriting anything from `hold` on, neither bytes nor their
 * marks. */
size_t journal_room(const struct journal *j, uint64_t hold)
{
    const struct record_head *h = j->rec->head;
    uint64_t end = hold + h->ring_bytes - (j->exact ? 0 : JOURNAL_WINDOW_BYTES);
    uint64_t next = journal_next(j);

    return end > next && mark_next_floor(j) <= hold ? (size_t)(end - next) : 0;
}

/* 16 million changes of size without output make one step in the dense numbers, no worse. */
static uint64_t mark_empty(const struct mark *m)
{
    return (uint64_t)m->empty[0] << 16 | (uint64_t)m->empty[1] << 8 | m->empty[2];
}

static void mark_set_empty(struct mark *m, uint64_t count)
{
    m->empty[0] = (uint8_t)(count >> 16);
    m->empty[1] = (uint8_t)(count >> 8);
    m->empty[2] = (uint8_t)count;
}

static void mark_append(struct journal *j, const struct mark *wanted)
{
    struct record_head *h = j->rec->head;
    uint64_t n = mark_count(j), floor;
    const struct mark *last = n > 0 ? mark_slot(j, n - 1) : NULL;
    bool replaces = mark_is_void(j, n, wanted);
    struct mark m = *wanted;

    mark_set_empty(&m, last == NULL ? 0 : mark_empty(last) + (!replaces && last->at == m.at));
    if (replaces) {
        *mark_slot(j, n - 1) = m;
        return;
    }
    /* The oldest mark is overwritten. Bytes under it get their stream from the next one, or are
     * dropped. */
    floor = mark_next_floor(j);
    if (floor > h->floor)
        h->floor = floor;
    *mark_slot(j, n) = m;
    atomic_store_explicit(&h->mark_next, n + 1, memory_order_release);
}

/* The end of the complete characters under the last mark; an incomplete one follows it. */
static uint64_t whole_end(const struct journal *j, const struct mark *last)
{
    uint64_t next = journal_next(j), first = journal_first(j), from = last->at;

    if (from < first)
        from = first;
    if (next - from > OPEN_CHAR_BYTES)
        from = next - OPEN_CHAR_BYTES;
    return next - utf8_open_tail(journal_bytes(j, from), (size_t)(next - from));
}

/* Called before each read: the stream must be recorded before its bytes count. */
static void mark_for_read(struct journal *j, enum stream stream)
{
    const struct record_head *h = j->rec->head;
    int64_t now = clock_wall_ms();
    uint64_t n = mark_count(j);
    struct mark m = {.at = journal_next(j),
                     .time_ms = now,
                     .stream = (uint8_t)stream,
                     .rows = h->rows,
                     .cols = h->cols};

    if (n > 0) {
        const struct mark *last = mark_slot(j, n - 1);
        int64_t every = h->pty ? MARK_TTY_MS : MARK_PIPE_MS;
        if (last->stream == m.stream && mark_same_size(last, &m) && now - last->time_ms < every &&
            now >= last->time_ms && m.at - last->at < MARK_BYTES)
            return;
        if (last->stream == m.stream)
            m.at = whole_end(j, last);
    }
    mark_append(j, &m);
}

/*
 * The read returned nothing, so remove its mark and let the previous run continue: it may end
 * inside a character. Not if the new mark has pushed out the oldest one.
 */
static void mark_take_back(struct journal *j, uint64_t count)
{
    if (mark_count(j) > count && count < j->rec->mark_slots)
        atomic_store_explicit(&j->rec->head->mark_next, count, memory_order_release);
}

void journal_mark_size(struct journal *j, uint16_t rows, uint16_t cols)
{
    struct mark m = {.at = journal_next(j), .time_ms = clock_wall_ms(), .rows = rows, .cols = cols};

    mark_append(j, &m);
}

/* Index of the last mark with mark.at <= at, or the oldest. */
static uint64_t mark_search(const struct journal *j, uint64_t at)
{
    uint64_t lo = mark_oldest(j), hi = mark_count(j);

    while (hi - lo > 1) {
        uint64_t mid = lo + (hi - lo) / 2;
        if (mark_slot(j, mid)->at <= at)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

bool journal_mark_from(const struct journal *j, uint64_t number, struct journal_mark *out)
{
    uint64_t oldest = mark_oldest(j);
    const struct mark *m;

    if (number < oldest)
        number = oldest;
    if (number >= mark_count(j))
        return false;
    m = mark_slot(j, number);
    *out = (struct journal_mark){number, m->at, m->time_ms, m->rows, m->cols};
    return true;
}

bool journal_mark_at(const struct journal *j, uint64_t at, struct journal_mark *out)
{
    return journal_mark_from(j, mark_count(j) > 0 ? mark_search(j, at) : 0, out);
}

struct slice journal_slice(const struct journal *j, uint64_t at, size_t max)
{
    uint64_t next = journal_next(j), end = next, i, n = mark_count(j);
    struct slice s = {.at = at, .bytes = journal_bytes(j, at)};

    if (at >= next || n == 0)
        return s;
    i = mark_search(j, at);
    s.stream = mark_slot(j, i)->stream;
    s.time_ms = mark_slot(j, i)->time_ms;
    while (++i < n && mark_slot(j, i)->at < end && mark_slot(j, i)->at - at < max)
        if (mark_slot(j, i)->stream != (uint8_t)s.stream)
            end = mark_slot(j, i)->at;
    s.len = end - at < max ? (size_t)(end - at) : max;
    return s;
}

uint64_t journal_run_first(const struct journal *j)
{
    /* While nothing has been dropped, the first runs count, even if a change of size left them
     * empty. */
    if (journal_first(j) == 0)
        return mark_oldest(j);
    return mark_count(j) == 0 ? 0 : mark_search(j, journal_first(j));
}

uint64_t journal_run_count(const struct journal *j)
{
    uint64_t n = mark_count(j);

    return n > 0 && mark_slot(j, n - 1)->at == journal_next(j) ? n - 1 : n;
}

struct slice journal_run(const struct journal *j, uint64_t number)
{
    const struct mark *m = mark_slot(j, number);
    uint64_t first = journal_first(j), at = m->at > first ? m->at : first;
    uint64_t end = number + 1 < mark_count(j) ? mark_slot(j, number + 1)->at : journal_next(j);

    assert(number >= mark_oldest(j) && number < mark_count(j));
    return (struct slice){
        .at = at,
        .bytes = journal_bytes(j, at),
        .len = end > at ? (size_t)(end - at) : 0,
        .stream = m->stream,
        .time_ms = m->time_ms,
        .number = number,
        .dense = number - mark_empty(m),
    };
}

uint64_t journal_run_last(const struct journal *j, uint64_t from, uint64_t bytes)
{
    uint64_t n = journal_run_count(j), total = 0;

    while (n > from && total + journal_run(j, n - 1).len <= bytes)
        total += journal_run(j, --n).len;
    return n;
}

bool journal_run_may_grow(const struct journal *j, uint64_t number)
{
    return number + 1 >= mark_count(j);
}

static void cut_at(struct journal *j, uint64_t at)
{
    struct mark m = *mark_slot(j, mark_count(j) - 1);

    if (m.at >= at)
        return;
    m.at = at;
    m.time_ms = clock_wall_ms();
    mark_append(j, &m);
}

void journal_cut(struct journal *j)
{
    if (mark_count(j) > 0)
        cut_at(j, journal_next(j));
}

void journal_cut_text(struct journal *j)
{
    if (mark_count(j) > 0)
        cut_at(j, whole_end(j, mark_slot(j, mark_count(j) - 1)));
}

/* --- writing ---------------------------------------------------------------- */

static void pattern_fill(struct journal *j)
{
    struct record_head *h = j->rec->head;
    uint64_t to = journal_next(j) + JOURNAL_WINDOW_BYTES;
    uint64_t at = h->pattern_to > journal_next(j) ? h->pattern_to : journal_next(j);

    /* Give up what is about to be overwritten before it is. */
    h->pattern_to = to;
    while (at < to) {
        size_t off = at % PATTERN_BYTES, n = PATTERN_BYTES - off;
        if (n > to - at)
            n = to - at;
        memcpy(j->rec->ring + at % h->ring_bytes, pattern + off, n);
        at += n;
    }
}

static void journal_commit(struct journal *j, size_t n)
{
    struct record_head *h = j->rec->head;

    atomic_store_explicit(&h->next, journal_next(j) + n, memory_order_release);
    h->last_output_ms = clock_wall_ms();
}

ssize_t journal_read(struct journal *j, int fd, enum stream stream, size_t max)
{
    struct record_head *h = j->rec->head;
    size_t cap = j->exact ? JOURNAL_READ_BYTES : JOURNAL_WINDOW_BYTES;
    uint64_t at = journal_next(j), marks = mark_count(j);
    ssize_t n;

    if (max > cap)
        max = cap;
    units_keep(j, &max);
    mark_for_read(j, stream);
    if (!j->exact)
        pattern_fill(j);
    worker_slip_note(j->slip, SLIP_READ, h->id, at, max, io_counted().read_bytes);
    n = hf_read(fd, j->rec->ring + at % h->ring_bytes, max);
    if (n > 0)
        journal_commit(j, (size_t)n);
    else
        mark_take_back(j, marks);
    slip_clear(j->slip);
    return n;
}

static size_t pattern_scan(const struct journal *j)
{
    const struct record_head *h = j->rec->head;
    uint64_t next = journal_next(j), end = h->pattern_to;

    while (end > next &&
           (unsigned char)*journal_bytes(j, end - 1) == pattern[(end - 1) % PATTERN_BYTES])
        end--;
    return end > next ? (size_t)(end - next) : 0;
}

size_t journal_recover(struct journal *j, int64_t moved)
{
    size_t n = moved >= 0 ? (size_t)moved : j->exact ? 0 : pattern_scan(j);

    if (n > 0)
        journal_commit(j, n);
    return n;
}

/* --- look-back -------------------------------------------------------------- */

uint64_t journal_tail_bytes(const struct journal *j, uint64_t n, bool terminal)
{
    uint64_t first = journal_first(j), next = journal_next(j);
    uint64_t want = next - first > n ? next - n : first;
    uint64_t from;

    if (want == 0 || want == next)
        return want;
    /* A look-back of one page shows whether the cut is inside a sequence. */
    from = want - first > 4096 ? want - 4096 : first;
    if (!terminal) {
        while (want < next && ((unsigned char)*journal_bytes(j, want) & 0xc0) == 0x80 &&
               want - from < 4096 + 3)
            want++;
        return want;
    }
    return from + safecut_find(journal_bytes(j, from), (size_t)(next - from), (size_t)(want - from),
                               from == 0);
}

static const char *find_last(const char *hay, size_t len, const char *needle)
{
    size_t n = strlen(needle);
    const char *p = hay + len;

    while (len >= n && (p = memrchr(hay, needle[0], (size_t)(p - hay))) != NULL) {
        if ((size_t)(hay + len - p) >= n && memcmp(p, needle, n) == 0)
            return p;
        if (p == hay)
            break;
    }
    return NULL;
}

bool journal_last_is(const struct journal *j, const char *on, const char *off)
{
    uint64_t first = journal_first(j), next = journal_next(j);
    uint64_t from = next - first > LOOK_BACK_BYTES ? next - LOOK_BACK_BYTES : first;
    size_t len = (size_t)(next - from);
    const char *base = journal_bytes(j, from);
    const char *set = find_last(base, len, on);

    return set != NULL && find_last(set, (size_t)(base + len - set), off) == NULL;
}

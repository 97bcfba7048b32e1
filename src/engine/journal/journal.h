/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.h - the output of a process, kept so that late readers can catch up
 *
 * A bounded ring addressed by absolute offsets: byte 0 is the first byte the process ever wrote,
 * over all its streams in the order in which they were read. [first, next) is held; older bytes are
 * dropped. The ring is a memfd mapped twice in a row, so every held range is contiguous. Marks
 * beside it record the stream and time of a range, and changes of size.
 *
 * Owned by struct process. Layer: engine.
 */
#ifndef HF_ENGINE_JOURNAL_JOURNAL_H
#define HF_ENGINE_JOURNAL_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum stream { STREAM_TTY = 0, STREAM_STDOUT = 1, STREAM_STDERR = 2 };
#define STREAM_NONE 127                 /* as a filter: none of them */
const char *stream_name(enum stream s); /* "tty", "stdout", "stderr" */

struct journal;

/* A borrowed run of one stream: valid until control returns to the loop. */
struct slice {
    uint64_t at;
    const char *bytes;
    size_t len;
    enum stream stream;
    int64_t time_ms; /* wall clock of the mark it is under */
    uint64_t number; /* of the run, if it is one */
    uint64_t dense;  /* the same, not counting empty runs */
};

uint64_t journal_first(const struct journal *j);
uint64_t journal_next(const struct journal *j);
/* The longest run of one stream from `at`, at most max bytes; len 0 at the end.
 * `at` must be in [first, next]. */
struct slice journal_slice(const struct journal *j, uint64_t at, size_t max);
/*
 * Runs are for platforms that number pieces of output. A run is what lies under one mark; runs are
 * numbered consecutively from 0 over the whole lifetime. The last one may still grow. journal_cut()
 * ends it, so that a client that received it can continue with the next one. A run does not end
 * inside a character unless its stream does or it was cut there. It is empty if only the size
 * changed. `dense` of a run that is not empty is one more than that of the one before it; it is
 * never above `number`.
 */
uint64_t journal_run_first(const struct journal *j); /* oldest held, even if only in part */
uint64_t journal_run_count(const struct journal *j); /* ever; an empty last one does not count */
struct slice journal_run(const struct journal *j, uint64_t number); /* in [first, count) */
/* The first of the last runs, none before `from`, that together have at most so many bytes. */
uint64_t journal_run_last(const struct journal *j, uint64_t from, uint64_t bytes);
/* Whether it is the last one, or still to come. */
bool journal_run_may_grow(const struct journal *j, uint64_t number);
void journal_cut(struct journal *j);
/* The same, but before an incomplete character, which then begins the next run. */
void journal_cut_text(struct journal *j);
/* All streams together: plain contiguous bytes. */
const char *journal_bytes(const struct journal *j, uint64_t at);

/*
 * Marks are numbered as they are made; the oldest are dropped first. A recording walks them,
 * because they carry the times and sizes that apply from `at` on.
 */
struct journal_mark {
    uint64_t number, at;
    int64_t time_ms; /* wall clock */
    uint16_t rows, cols;
};
/* The first held mark with this number or a higher one; false: there is none yet. */
bool journal_mark_from(const struct journal *j, uint64_t number, struct journal_mark *out);
/* The mark in force at an offset, else the oldest; false: nothing was ever marked. */
bool journal_mark_at(const struct journal *j, uint64_t at, struct journal_mark *out);

/* Where "the last n bytes" start, moved so that it is not inside an escape sequence (terminals) or
 * a character. */
uint64_t journal_tail_bytes(const struct journal *j, uint64_t n, bool terminal);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.h - what a process has written, kept so that late readers can catch up
 *
 * A bounded ring addressed by absolute offsets: byte 0 is the first byte the
 * process ever wrote, over all its streams in the order in which they were
 * read. [first, next) is held; what is older is gone. The ring is a memfd
 * mapped twice in a row, so every held range is contiguous. Marks beside it
 * say which stream a range came from, when, and when the size changed.
 *
 * Owned by struct process. Layer: engine.
 */
#ifndef HF_ENGINE_JOURNAL_H
#define HF_ENGINE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum stream { STREAM_TTY = 0, STREAM_STDOUT = 1, STREAM_STDERR = 2 };
#define STREAM_NONE 127                 /* as a filter: none of them */
const char *stream_name(enum stream s); /* "tty", "stdout", "stderr" */

struct journal;

/* A borrowed run of one stream: good until the next return to the loop. */
struct slice {
    uint64_t at;
    const char *bytes;
    size_t len;
    enum stream stream;
    int64_t time_ms; /* wall clock of the mark it is under */
};

uint64_t journal_first(const struct journal *j);
uint64_t journal_next(const struct journal *j);
/* The longest run of one stream from `at`, at most max bytes; len 0 at the end.
 * `at` must be in [first, next]. */
struct slice journal_slice(const struct journal *j, uint64_t at, size_t max);
/* All streams together: plain contiguous bytes. */
const char *journal_bytes(const struct journal *j, uint64_t at);

/* Where to begin for "the last n bytes", not inside an escape sequence (terminals) or a character. */
uint64_t journal_tail_bytes(const struct journal *j, uint64_t n, bool terminal);
/* Where the last n lines begin. */
uint64_t journal_tail_lines(const struct journal *j, uint64_t n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex.h - regular expressions matched against a stream of output
 *
 * Made for "notify me when this appears": the run is fed chunks as they arrive and
 * reports a match at the earliest byte where one is certain to exist. So the match
 * reported is the one that ENDS first and, among those that end there, the one
 * that starts leftmost. `a+` on "aaa" is "a"; `abcd|c` on "abcd" is "c". How
 * the bytes were cut into chunks never changes the result. Time per byte is
 * bounded by the number of states (LIMIT_REGEX_STATES); nothing backtracks.
 *
 * Syntax: literals, . [] [^] with ranges, \d \w \s \D \W \S (ASCII), \b \B,
 * ^ $, ( ) (?: ), |, * + ? {n} {n,} {n,m}, \n \r \t \f \v \a \e \xHH \x{H...}
 * (both name a code point), \ before punctuation, and at the very front
 * (?i) ignore ASCII case, (?s) . matches line ends too, (?m) no effect.
 * - Lazy forms (*? +? ?? {n,m}?) are accepted and change nothing: they request the
 *   earliest end, which is what we report. A greedy tail such as `.*` at the end matches nothing
 *   more; write `.*$` for the rest of the line.
 * - ^ and $ are line anchors. A line ends at "\n", "\r\n" or a lone "\r" (the
 *   terminal's own "\r\n" must not hide a `done$`), and . matches none of them.
 *   ^ holds at the start of a run unless regex_run_set_before() says otherwise;
 *   $ also holds at the end of the output, which only regex_run_finish() knows.
 * - Characters are UTF-8; . and [^...] match whole valid characters only, so
 *   bytes that are not UTF-8 match nothing.
 * Back-references, look-around, named groups, possessive quantifiers and
 * POSIX classes are refused with bad_regex and the position. Layer: engine.
 */
#ifndef HF_ENGINE_MATCH_REGEX_H
#define HF_ENGINE_MATCH_REGEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct regex;     /* a compiled pattern; may serve many runs */
struct regex_run; /* one search; borrows its regex */

struct regex_match {
    uint64_t start, end; /* absolute offsets, half-open */
};

enum regex_result {
    REGEX_MORE,  /* no match so far */
    REGEX_MATCH, /* *out is filled; the run is over and repeats this result */
};

/* NULL: err is bad_regex with the position and the reason. */
struct regex *regex_new(const char *pattern, size_t len, struct hf_error *err);
void regex_free(struct regex *re); /* NULL is fine */

/* The maximum number of bytes to feed at once: half a millisecond in the worst case for this
 * pattern. */
size_t regex_slice_bytes(const struct regex *re);

/* `at` is the offset of the first byte that will be fed. NULL: out of memory. */
struct regex_run *regex_run_new(const struct regex *re, uint64_t at);
void regex_run_free(struct regex_run *run); /* NULL is fine */

/* Sets the byte before `at`, for ^ and \b. Only before the first feed. */
void regex_run_set_before(struct regex_run *run, unsigned char byte);

/* Starts over, with nothing before it: the next byte fed is at `at`. Not after a match. */
void regex_run_restart(struct regex_run *run, uint64_t at);

enum regex_result regex_run_feed(struct regex_run *run, const void *bytes, size_t len,
                                 struct regex_match *out);

/*
 * Would there be a match if the output ended here? This matters for $, \b and \B. If the result is
 * REGEX_MORE, the run is unchanged, so that this can be called in any pause and feeding can
 * continue.
 */
enum regex_result regex_run_finish(struct regex_run *run, struct regex_match *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf16.h - UTF-8 as JavaScript counts it: in UTF-16 units
 *
 * Output need not be UTF-8. A token is one character, or the longest prefix of a broken one, which
 * readers show as one U+FFFD (as every browser's decoder does). A character above U+FFFF has two
 * units, every other token one. A position between two tokens is a border; borders depend on the
 * bytes alone, not on how they were split into reads. Pure. Layer: base.
 */
#ifndef HF_BASE_UTF16_H
#define HF_BASE_UTF16_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* A token has at most four bytes, so at most three can be waiting for the rest. */
#define UTF8_OPEN_MAX 3

/* From a border on: the number of bytes that are whole tokens, and their units. An incomplete
 * token at the end of the run is left, unless `end` says that nothing follows. */
size_t utf16_count(const void *bytes, size_t len, bool end, uint64_t *units);
/* The same for as many tokens as fit in `most` units. */
size_t utf16_fit(const void *bytes, size_t len, uint64_t most, uint64_t *units);

/* The number of bytes (0..3) before the first position that is certainly a border, when nothing
 * is known of the bytes before. */
size_t utf8_to_border(const void *bytes, size_t len);

/* Appends the tokens, broken ones as U+FFFD; returns the number of bytes used, as utf16_count(). */
size_t utf8_repair(struct buf *out, const void *bytes, size_t len, bool end);

#endif

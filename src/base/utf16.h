/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf16.h - UTF-8 as JavaScript counts it: in UTF-16 units
 *
 * Output need not be UTF-8. A token is one character, or the longest beginning of one that is
 * broken off, which readers show as one U+FFFD (so does every browser's decoder). A
 * character above U+FFFF has two units, every other token one. A place between two tokens
 * is a border; where the borders are depends on the bytes alone, not on how they were
 * cut into reads. Pure. Layer: base.
 */
#ifndef HF_BASE_UTF16_H
#define HF_BASE_UTF16_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* A token has at most four bytes, so at most three can be waiting for their rest. */
#define UTF8_OPEN_MAX 3

/*
 * From a border on: how many bytes are whole tokens, and their units. What is broken off
 * by the end of the run is left, unless `end` says that nothing follows.
 */
size_t utf16_count(const void *bytes, size_t len, bool end, uint64_t *units);
/* The same for as many tokens as have no more than `most` units together. */
size_t utf16_fit(const void *bytes, size_t len, uint64_t most, uint64_t *units);

/* How many bytes (0..3) lie in front of the first place that is surely a border, when
 * nothing is known of what came before. */
size_t utf8_to_border(const void *bytes, size_t len);

/* Appends the tokens, broken ones as U+FFFD; how many bytes were used, as utf16_count(). */
size_t utf8_repair(struct buf *out, const void *bytes, size_t len, bool end);

#endif

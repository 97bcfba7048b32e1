/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tail.h - where the last bytes or lines of an output begin, of all or of one stream
 *
 * Exact to the byte: whoever asks for ten bytes gets ten, if so many are held.
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_TAIL_H
#define HF_DIALECTS_NATIVE_TAIL_H

#include "engine/journal.h"

/* only_stream: enum stream, or -1 for all. */
uint64_t tail_bytes(const struct journal *j, uint64_t n, int only_stream);
uint64_t tail_lines(const struct journal *j, uint64_t n, int only_stream);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_scan.h - searches one stream for several texts, regexes and prompts at once
 *
 * The first match is the one that ends first; of several that end at the same place, the first in
 * the list. Pure: bytes in, a match out. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_OUTPUT_SCAN_H
#define HF_DIALECTS_COMMON_OUTPUT_SCAN_H

#include "dialects/common/wait_decode.h"

struct scan;

struct scan_match {
    size_t index; /* of the condition */
    uint64_t start, end;
    int exit_code; /* WAIT_PROMPT: of the last command; -1: unknown */
};

/* Conditions that do not concern the output are skipped. `before`: the byte before `at`,
 * or -1. NULL: err (bad_regex, no_memory). */
struct scan *scan_new(const struct wait_request *request, uint64_t at, int before,
                      struct hf_error *err);
void scan_free(struct scan *s);
enum wait_kind scan_kind(const struct scan *s, size_t index); /* of a condition that matched */
bool scan_is_empty(const struct scan *s);                     /* nothing to search for */
bool scan_needs_pauses(const struct scan *s);                 /* a pause may be a match */
/* Most bytes to feed at once: half a millisecond in the worst case for these conditions. */
size_t scan_piece_bytes(const struct scan *s);
/* The next input starts at `at`: the output in between was lost, and no match spans the gap. */
void scan_skip(struct scan *s, uint64_t at);

bool scan_feed(struct scan *s, const void *bytes, size_t len, struct scan_match *out);
/* Would something match if the output ended here? May be called in any pause; `exited`: the
 * process has ended, so there is no prompt. */
bool scan_at_end(struct scan *s, bool exited, struct scan_match *out);

#endif

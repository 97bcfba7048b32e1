/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_pattern.h - regular expressions as ripgrep's users write them, for the C library
 *
 * Both match characters of UTF-8. But here only ASCII is in \w, \d, \s, [:NAME:] and \b, and (?i)
 * treats only ASCII alike. What only Rust's expressions can say (classes of Unicode, flags inside)
 * is refused; what repeats as little as possible repeats as much as possible. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENCODE_OC_PATTERN_H
#define HF_DIALECTS_OPENCODE_OC_PATTERN_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

/* 0, or err is bad_query. `out` gets an extended expression of POSIX. */
int oc_pattern_decode(const char *text, struct buf *out, bool *any_case, struct hf_error *err);

#endif

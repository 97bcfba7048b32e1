/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_glob.h - the patterns of a watch: *, ** and ?. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_CLOUDFLARE_CF_GLOB_H
#define HF_DIALECTS_CLOUDFLARE_CF_GLOB_H

#include <stdbool.h>

/* Is it one that clients may send? Brackets and braces have no meaning here, and are refused. */
bool cf_glob_is_valid(const char *pattern);
/* Does a part of the path match, from one slash (or the beginning) to another (or the end)? The
 * time is bounded by the product of both lengths. */
bool cf_glob_matches(const char *pattern, const char *path);

#endif

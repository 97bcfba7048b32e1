/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_expand_path.h - directories as execd accepts them: $VAR, ${VAR} and a leading ~. Pure.
 *
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_OSB_EXPAND_PATH_H
#define HF_DIALECTS_OPENSANDBOX_OSB_EXPAND_PATH_H

#include "base/buf.h"
#include "base/error.h"

typedef const char *expand_fn(const char *name); /* as getenv(3) */

/* Appends the path to *out, NUL-terminated. 0, or bad_value: an unset variable, an unclosed brace,
 * or more than PATH_MAX bytes. */
int osb_expand(const char *path, expand_fn *lookup, struct buf *out, struct hf_error *err);

#endif

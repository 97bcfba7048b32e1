/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token.h - where the daemon's tokens come from. Layer: cli.
 */
#ifndef HF_CLI_TOKEN_H
#define HF_CLI_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

#define TOKEN_ENV "HOLDFAST_TOKEN"

/*
 * The text of the token file, of HOLDFAST_TOKEN (which is wiped from the
 * environment, also from what /proc shows of it), or of a file that is made
 * with a fresh token, mode 0600. Tells on standard error which it was, never the token.
 */
int token_load(const char *token_file, struct buf *out, struct hf_error *err);
/* Where a made token is kept; false: there is none that we may read. */
bool token_default_path(char *out, size_t size);

#endif

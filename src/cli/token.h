/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token.h - where the daemon's tokens come from. Layer: cli.
 */
#ifndef HF_CLI_TOKEN_H
#define HF_CLI_TOKEN_H

#include "base/buf.h"
#include "base/error.h"

#define TOKEN_ENV "HOLDFAST_TOKEN"

/*
 * The text of the token file, of HOLDFAST_TOKEN (which is wiped from the
 * environment, also from what /proc shows of it), or of a file that is made
 * with a fresh token, mode 0600. Tells on standard error which it was, never the token.
 */
int token_load(const char *token_file, struct buf *out, struct hf_error *err);

#endif

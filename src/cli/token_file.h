/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_file.h - where the daemon's tokens come from. Layer: cli.
 */
#ifndef HF_CLI_TOKEN_FILE_H
#define HF_CLI_TOKEN_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

#define TOKEN_ENV "HOLDFAST_TOKEN"
#define TOKEN_FILE_BYTES_MAX 65536

/*
 * The text of the token file, of HOLDFAST_TOKEN (which is wiped from the
 * environment, also from what /proc shows of it), or of a file that is made
 * with a fresh token, mode 0600. Tells on standard error which it was, never the token.
 * `path` (PATH_MAX bytes) gets the absolute path of the file; "": it was the environment.
 */
int token_load(const char *token_file, struct buf *out, char *path, struct hf_error *err);
/* Which file has these tokens, by the same rules? "": none, or they came from the environment. An
 * older binary carried them over without a word about that. */
void token_find(const char *token_file, const struct buf *tokens, char *path);
/* The same file once more. */
int token_read(const char *path, struct buf *out, struct hf_error *err);
/* A fresh token and a newline, appended. */
void token_make(struct buf *out);
/* Where a made token is kept; false: there is none that we may read. */
bool token_default_path(char *out, size_t size);

#endif

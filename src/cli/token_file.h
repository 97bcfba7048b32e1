/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_file.h - where the daemon's tokens come from, and other secrets of the environment
 *
 * Layer: cli.
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
 * Reads the token file, or HOLDFAST_TOKEN (which is wiped from the environment, also in
 * /proc/PID/environ), or creates a file with a generated token, mode 0600. Logs which it was, never
 * the token. `path` (PATH_MAX bytes) gets the absolute path of the file; "": the environment.
 */
int token_load(const char *token_file, struct buf *out, char *path, struct hf_error *err);
/* Which file has these tokens, by the same rules? "": none, or they came from the environment. An
 * older binary handed them over without that information. */
void token_find(const char *token_file, const struct buf *tokens, char *path);
/*
 * Appends the value of a variable with a token, key or password and wipes it, also in
 * /proc/PID/environ, so that no child inherits it. False: not set, or empty.
 */
bool token_take_env(const char *name, struct buf *out);
/* Rereads the same file. */
int token_read(const char *path, struct buf *out, struct hf_error *err);
/* Appends a new token and a newline. */
void token_make(struct buf *out);
/* The path of the generated token; false: there is none that we may read. */
bool token_default_path(char *out, size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credentials.h - tokens and certificate: read from files, kept in sealed memory
 *
 * Files come and go: a certificate is renewed, a secret is mounted anew. What was good once is kept
 * in a memory file that nobody can change (the keeper holds it, its children do not get it), so a
 * new worker never depends on the files, and an upgrade carries it on. Reading the files again
 * keeps, of each, what there was if it cannot be used. Layer: cli.
 */
#ifndef HF_CLI_CREDENTIALS_H
#define HF_CLI_CREDENTIALS_H

#include <limits.h>

#include "base/json.h"
#include "cli/options.h"
#include "transport/auth.h"

struct credentials {
    struct buf tokens;         /* as lines of text; see auth.h */
    struct buf fixed;          /* the same, of the daemon's own making: no file replaces them */
    struct buf retired;        /* replaced ones that are still good: "UNTIL_MS ROLE TOKEN" lines */
    struct buf cert, key;      /* PEM; empty: no TLS */
    char token_file[PATH_MAX]; /* absolute; "": they came from the environment, or there are none */
    uint8_t link_key[AUTH_KEY_BYTES];
    char token_error[320], tls_error[320]; /* why the last reading failed; "": it did not */
};

void credentials_fini(struct credentials *c); /* wipes */
/* At the start: what cannot be used is an error. */
int credentials_load(struct credentials *c, const struct serve_options *o, struct hf_error *err);
/*
 * Once more: an error is noted and logged, and what there was stays. Tokens that are gone from the
 * file stay good for grace_ms; 0: no longer, nor do earlier ones; -1: no longer, but earlier ones
 * keep their time.
 */
void credentials_reload(struct credentials *c, const struct serve_options *o, int64_t grace_ms);
/* Would a worker start with them? */
int credentials_check(const struct credentials *c, const struct serve_options *o,
                      struct hf_error *err);
/* For the worker: the tokens, those that are retired, and the key of links. */
int credentials_auth(const struct credentials *c, struct auth *a, struct hf_error *err);

/* Into an empty memory file, which is sealed then; 0 or -errno. */
int credentials_save(const struct credentials *c, int fd);
int credentials_open(struct credentials *c, int fd); /* 0 or -errno */
/* As members of an object. What is missing there stays as it is. */
void credentials_write(const struct credentials *c, struct json_out *o);
void credentials_read(struct credentials *c, const json_t *o);

#endif

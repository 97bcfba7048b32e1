/* SPDX-License-Identifier: Apache-2.0 */
/*
 * greeting.h - the text that `holdfast serve` prints for the person who started it
 *
 * Where the token is, how to run the client commands, and as the last line a link that signs a
 * browser in. The worker prints it, but may run as a user without access to these facts, so the
 * keeper collects them first. Layer: cli.
 */
#ifndef HF_CLI_GREETING_H
#define HF_CLI_GREETING_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"
#include "transport/auth.h"

struct greeting;

/* token_from_env: the token was in HOLDFAST_TOKEN, which loading it removes from the environment.
 * Borrows the options. */
struct greeting *greeting_new(const struct serve_options *o, bool token_from_env);
void greeting_free(struct greeting *g);
/* Prints to standard output. `urls`: those of the listeners that serve everything. */
void greeting_print(const struct greeting *g, struct auth *auth, const char *const *urls,
                    size_t count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * greeting.h - what `holdfast serve` tells the person who started it
 *
 * Where the token is, how to call the client commands, and as the last line a link that signs a
 * browser in. The worker prints it, but it may run as a user who cannot look these up, so the
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
/* On standard output. `urls`: of the listeners that serve everything. */
void greeting_print(const struct greeting *g, struct auth *auth, const char *const *urls,
                    size_t count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * impersonate.h - acts as another platform's server when started with its command line
 *
 * Some clients start their server themselves, with a fixed command line. holdfast accepts it when
 * it is installed in place of that program. Layer: cli.
 */
#ifndef HF_CLI_IMPERSONATE_H
#define HF_CLI_IMPERSONATE_H

#include <stdbool.h>

/* `server --host H --port P --token T | --no-token`: sandbox-agent. */
int impersonate_sandbox_agent(int argc, char **argv);

/* Called by the name `opencode`: `serve --hostname=H --port=P [--cors=ORIGIN]`, the password in
 * OPENCODE_SERVER_PASSWORD; without one anyone who can reach it has access, as in the original. */
bool impersonate_is_opencode(const char *argv0);
int impersonate_opencode(int argc, char **argv);

#endif

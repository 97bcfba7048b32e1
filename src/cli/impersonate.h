/* SPDX-License-Identifier: Apache-2.0 */
/*
 * impersonate.h - being started as another platform's server
 *
 * Some clients start the server themselves, with a command line of their own: put in
 * that program's place, holdfast understands it. Layer: cli.
 */
#ifndef HF_CLI_IMPERSONATE_H
#define HF_CLI_IMPERSONATE_H

#include <stdbool.h>

/* `server --host H --port P --token T | --no-token`: sandbox-agent. */
int impersonate_sandbox_agent(int argc, char **argv);

/* Called by the name `opencode`: `serve --hostname=H --port=P [--cors=ORIGIN]`, the password in
 * OPENCODE_SERVER_PASSWORD; without one everybody who reaches it may come in, as there. */
bool impersonate_is_opencode(const char *argv0);
int impersonate_opencode(int argc, char **argv);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * builtin_commands.h - the commands that main() runs itself; clients of a daemon are in client/
 *
 * Each function has the command line of the process and returns its exit code. Layer: cli.
 */
#ifndef HF_CLI_BUILTIN_COMMANDS_H
#define HF_CLI_BUILTIN_COMMANDS_H

#include <stdbool.h>

/* `holdfast stop` and `restart`, through the vault of a daemon on this machine. They need no token
 * and no responsive daemon, only the same user. */
int stop_main(int argc, char **argv);
int stop_restart_main(int argc, char **argv);
int routes_main(int argc, char **argv); /* lists every endpoint of a daemon */

/* For the daemon, which runs them as a sandbox user: one file operation, and the connection of
 * standard input and output to a local port. */
int file_op_main(int argc, char **argv);
int port_relay_main(int argc, char **argv);
/* For `holdfast sh`, in the daemon: sets what a request cannot carry, then executes the shell. */
int shell_exec_main(int argc, char **argv);

/*
 * Some clients start their server themselves, with a fixed command line. holdfast accepts it when
 * it is installed in place of that program. `server --host H --port P --token T | --no-token` is
 * sandbox-agent's. By the name `opencode`: `serve --hostname=H --port=P [--cors=ORIGIN]`, with the
 * password in OPENCODE_SERVER_PASSWORD; without one anyone who can reach it has access, as in the
 * original.
 */
int impersonate_sandbox_agent(int argc, char **argv);
bool impersonate_is_opencode(const char *argv0);
int impersonate_opencode(int argc, char **argv);

int file_op_watch(char **args); /* a directory: reports changes until it is terminated */
#endif

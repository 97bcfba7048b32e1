/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launcher.h - the process that the user started: it stays in the foreground, the daemon does not
 *
 * The launcher is the parent of the vault, or has picked up what an earlier launcher left. It
 * forwards signals, and reports what a person or a service manager must know. When it exits, the
 * daemon keeps running. As PID 1 the vault itself is what the user started: the kernel ends
 * everything with it in any case. Layer: cli.
 */
#ifndef HF_CLI_LAUNCHER_H
#define HF_CLI_LAUNCHER_H

#include "cli/pickup.h"
#include "keeper/keeper.h"

/* The launcher has the tokens in its memory and a socket to the vault. The processes that the
 * daemon runs may belong to the same user, and must reach neither. */
void launcher_guard_begin(void);
void launcher_guard_end(void); /* for LeakSanitizer; does nothing in other builds */

/* Starts the daemon that listens at `name`, or continues with what `earlier` has found, and
 * stays until it ends; returns the exit code. In the keeper and the vault, which are forked, it
 * returns theirs. */
int launcher_run(struct keeper_options *k, const char *name, struct pickup *earlier);

#endif

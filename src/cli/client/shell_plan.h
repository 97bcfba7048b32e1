/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell_plan.h - which shell `holdfast sh` runs, and what its arguments say about the command
 *
 * By the names holdfast-sh, holdfast-bash and holdfast-zsh, and bash, zsh and sh, the binary is
 * that command, because the variable SHELL has no arguments. Some agents accept a shell only if
 * its name contains, or is, that of one they know. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_SHELL_PLAN_H
#define HF_CLI_CLIENT_SHELL_PLAN_H

#include <stdbool.h>

#include "base/buf.h"

#define SHELL_LABEL_BYTES 80

bool shell_plan_is_name(const char *argv0);
/* "-holdfast-sh", as login(1) calls a shell. NULL is not. */
bool shell_plan_is_login(const char *called_as);
/*
 * The path of the real shell, never of this binary, to be freed: the one of the name if it is that
 * of a shell; else HOLDFAST_SHELL, else bash, else /bin/sh. A HOLDFAST_SHELL that is not found is
 * returned as it is.
 */
char *shell_plan_find(const char *called_as);
/* A description from the first words of the command, the script, or neither. UTF-8. */
void shell_plan_label(int argc, char *const *argv, struct buf *out);

#endif

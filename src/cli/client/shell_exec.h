/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell_exec.h - what a request cannot carry: bytes that are not UTF-8, and the umask
 *
 * Instead of the shell, the daemon starts this binary as `holdfast sh-exec MASK DIR COUNT
 * VARIABLE... SHELL ARG...`, each word percent-encoded. It sets them and executes the shell in its
 * place, so that the shell has exactly the caller's. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_SHELL_EXEC_H
#define HF_CLI_CLIENT_SHELL_EXEC_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/json.h"

struct shell_exec {
    char *shell;
    char **args; /* of the shell, ends with NULL */
    const char *cwd;
    mode_t mask;
};

/* Must this binary be started first? Else the request carries all. */
bool shell_exec_is_needed(const struct shell_exec *s, bool with_mask);
/* Writes "command", "args" and "cwd". `self`: the path of this binary; NULL: not needed. */
void shell_exec_put(const struct shell_exec *s, const char *self, struct json_out *o);
/* Writes "env": the variables that JSON can carry. Returns their count. */
size_t shell_exec_put_env(struct json_out *o);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_launch.h - a process that inherits what its session's shell has
 *
 * On the platform the session's shell starts background processes and terminals, so they inherit
 * its directory and its exported variables. Here they are separate processes, and the shell passes
 * its variables through a file that only its user can read and that is removed before the program
 * begins. Layer: dialects.
 */
#ifndef HF_DIALECTS_CLOUDFLARE_CF_LAUNCH_H
#define HF_DIALECTS_CLOUDFLARE_CF_LAUNCH_H

#include "base/limits.h"
#include "dialects/cloudflare/cf_session.h"

struct cf_launch_request {
    const char *session; /* provides variables and directory; NULL: none */
    const char *group;   /* the session that owns the process if `session` is NULL */
    const char *command; /* a line for the shell; */
    const json_t *argv;  /* or a program and its arguments; else a terminal's shell */
    const char *shell;   /* of a terminal; NULL: the session's */
    const char *cwd;     /* NULL: the session's, or the workspace */
    const json_t *env;   /* object of strings, or NULL */
    int64_t timeout_ms;
    const char *tag, *metadata;
    bool pty, kill_on_detach;
    bool stdin_pipe; /* input will follow; else there is none */
    bool impatient;  /* do not wait for a command that runs in the session */
    bool background; /* the client wants no output */
    bool helper;     /* visible to the owner only (spec.h) */
    int64_t rows, cols, history_bytes;
};

/* What a body says of any command, into a struct that begins with a cf_launch_request. */
#define CF_LAUNCH_FIELD(n, k, m, ...) CF_FIELD(struct cf_launch_request, n, k, m, __VA_ARGS__)
#define CF_COMMAND_FIELDS                                                                          \
    CF_LAUNCH_FIELD("command", STR, command, .required = true, .min = 1),                          \
        CF_LAUNCH_FIELD("cwd", STR, cwd), CF_LAUNCH_FIELD("env", OBJECT, env),                     \
        CF_LAUNCH_FIELD("timeoutMs", INT, timeout_ms, .max = LIMIT_DURATION_MS)

struct cf_launch;
typedef void cf_launch_fn(void *arg, struct process *p, const struct hf_error *err);
/* Calls fn once, maybe before this returns; *out is set before that. Copies what it needs. */
void cf_launch(struct cf *cf, const struct cf_launch_request *request, cf_launch_fn *fn, void *arg,
               struct cf_launch **out);
/*
 * The caller no longer waits. `end`: terminate what has been started by then; else it keeps
 * running.
 */
void cf_launch_leave(struct cf_launch *l, bool end);

/*
 * The line that a process was started with through this dialect, without the wrapper; else its
 * command.
 */
void cf_write_command(struct json_out *o, const char *key, const struct process_view *v);

#endif

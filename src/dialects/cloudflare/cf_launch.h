/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_launch.h - a process that has what its session's shell has
 *
 * On the platform background processes and terminals are started by the session's shell,
 * so they have its directory and whatever was exported in it. Here they are processes of their own, and the
 * shell hands its variables over through a file that only its user can read and that is gone when
 * the program begins. Layer: dialects.
 */
#ifndef HF_DIALECTS_CLOUDFLARE_CF_LAUNCH_H
#define HF_DIALECTS_CLOUDFLARE_CF_LAUNCH_H

#include "dialects/cloudflare/cf_session.h"

struct cf_launch_ask {
    const char *session; /* whose variables and directory; NULL: none */
    const char *group;   /* the process belongs to this one, where `session` is NULL */
    const char *command; /* a line for the shell; */
    const json_t
        *argv; /* or a program with its arguments, not by a shell; else a terminal's shell */
    const char *shell; /* of a terminal; NULL: as the session's */
    const char *cwd;   /* NULL: the session's, or the workspace */
    const json_t *env; /* object of strings, or NULL */
    int64_t timeout_ms;
    const char *tag, *metadata;
    bool pty, kill_on_detach;
    bool stdin_pipe; /* input will come; else there is none */
    bool impatient;  /* does not wait for a command that runs in the session */
    bool helper;     /* only the owner sees it (spec.h) */
    int64_t rows, cols, history_bytes;
};

struct cf_launch;
typedef void cf_launch_fn(void *arg, struct process *p, const struct hf_error *err);
/* fn runs once, maybe before this returns; *out is set before that. Copies what it needs. */
void cf_launch(struct cf *cf, const struct cf_launch_ask *ask, cf_launch_fn *fn, void *arg,
               struct cf_launch **out);
/* Nobody waits any more. `end`: what is started by then is ended; else it goes on all the same. */
void cf_launch_leave(struct cf_launch *l, bool end);

/* The line that a process was started with here, whatever stands around it; else its command. */
void cf_write_command(struct json_out *o, const char *key, const struct process_view *v);

#endif

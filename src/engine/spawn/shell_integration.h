/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell_integration.h - makes bash and zsh mark their prompts and commands
 *
 * The user's files are not touched. bash is given another rc file, which reads theirs first; zsh is
 * shown a directory of ours by ZDOTDIR, whose files read theirs and put ZDOTDIR back. These files are in the
 * binary and are written to a directory of the daemon's own user, never of the worker's, when first
 * needed; by a daemon of root at its start. Layer: engine.
 */
#ifndef HF_ENGINE_SPAWN_SHELL_INTEGRATION_H
#define HF_ENGINE_SPAWN_SHELL_INTEGRATION_H

#include "base/error.h"
#include "engine/spawn/spec.h"

struct shell_plan {
    struct spawn_spec spec; /* what is started in place of what was asked for */
    const char **args;
    struct spec_env *env;
    char *path; /* that one of them points to */
};

/* Checks that the spec is one that can be integrated: 0, or bad_value. Touches nothing. */
int shell_check(const struct spawn_spec *s, struct hf_error *err);
/* 0, or -errno and err: bad_value, or spawn_failed if there is no place for the files. Borrows from
 * the spec; free with shell_plan_fini() in any case. */
int shell_plan(const struct spawn_spec *s, struct shell_plan *out, struct hf_error *err);
void shell_plan_fini(struct shell_plan *p);

/* Where the files go: DIR/holdfast-shell-UID-HASH below the first of the directories that can be
 * written to. 0 or -errno; `out` has PATH_MAX bytes. */
int shell_files(const char *const *bases, char *out);
/* Makes them now, as the user that this still is; from then on they are only looked for. For a
 * worker that starts processes of users other than the one it becomes. */
void shell_files_prepare(void);
/* The directory: of the prepared files, or else of files that are made now. 0 or -errno; `out` has
 * PATH_MAX bytes. */
int shell_files_find(char *out);

#endif

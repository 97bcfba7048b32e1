/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell_integration.h - makes bash and zsh mark their prompts and commands
 *
 * The user's files are not touched. bash gets another rc file, which reads the user's first. zsh
 * gets one of our directories as ZDOTDIR; its files read the user's and restore ZDOTDIR. These
 * files are in the binary. They are written to a directory of the daemon's own user, never of the
 * worker's, when first needed; a daemon that runs as root writes them at startup. Layer: engine.
 */
#ifndef HF_ENGINE_SPAWN_SHELL_INTEGRATION_H
#define HF_ENGINE_SPAWN_SHELL_INTEGRATION_H

#include "base/error.h"
#include "engine/spawn/spec.h"

struct shell_plan {
    struct spawn_spec spec; /* what is started in place of the requested spec */
    const char **args;
    struct spec_env *env;
    char *path; /* the memory behind one of them */
};

/* Checks whether the spec supports the integration: 0, or bad_value. Changes nothing. */
int shell_check(const struct spawn_spec *s, struct hf_error *err);
/* 0, or -errno and err: bad_value, or spawn_failed if there is no directory for the files. Borrows
 * from the spec; free with shell_plan_fini() in any case. */
int shell_plan(const struct spawn_spec *s, struct shell_plan *out, struct hf_error *err);
void shell_plan_fini(struct shell_plan *p);

/* Writes the files to DIR/holdfast-shell-UID-HASH below the first writable directory of `bases`. 0
 * or -errno; `out` has PATH_MAX bytes. */
int shell_files(const char *const *bases, char *out);
/* Writes the files now, as the current user; later calls only find them. For a worker that starts
 * processes as users other than the one it becomes. */
void shell_files_prepare(void);
/* The directory of the prepared files, or else of files that are written now. 0 or -errno; `out`
 * has PATH_MAX bytes. */
int shell_files_find(char *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell_integration.c - makes bash and zsh mark their prompts and commands. Layer: engine.
 */
#include "engine/spawn/shell_integration.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

enum shell { SHELL_NONE, SHELL_BASH, SHELL_ZSH };

/* The options among the arguments; other arguments are refused. */
struct shell_integration_options {
    bool login, no_rc, no_profile;
};

static enum shell shell_of(const struct spawn_spec *s)
{
    const char *slash = strrchr(s->command, '/');
    const char *name = slash != NULL ? slash + 1 : s->command;

    if (s->shell)
        return SHELL_NONE;
    if (strcmp(name, "bash") == 0)
        return SHELL_BASH;
    return strcmp(name, "zsh") == 0 ? SHELL_ZSH : SHELL_NONE;
}

static bool is_one_of(const char *arg, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (strcmp(arg, *names) == 0)
            return true;
    }
    return false;
}

static bool take_arg(enum shell shell, const char *arg, struct shell_integration_options *w)
{
    static const char *const interactive[] = {"-i", NULL};
    static const char *const login[] = {"-l", "--login", "-il", "-li", NULL};

    if (is_one_of(arg, interactive))
        return true;
    if (is_one_of(arg, login)) {
        w->login = true;
        return true;
    }
    if (shell == SHELL_BASH && strcmp(arg, "--norc") == 0)
        return w->no_rc = true;
    if (shell == SHELL_BASH && strcmp(arg, "--noprofile") == 0)
        return w->no_profile = true;
    return false;
}

static int take_args(const struct spawn_spec *s, struct shell_integration_options *w,
                     struct hf_error *err)
{
    enum shell shell = shell_of(s);

    if (!s->pty || shell == SHELL_NONE)
        return hf_fail_field(err, HF_E_bad_value, "shell_integration",
                             "\"shell_integration\" needs bash or zsh on a terminal (\"pty\")");
    for (size_t i = 0; i < s->arg_count; i++) {
        if (!take_arg(shell, s->args[i], w))
            return hf_fail_field(
                err, HF_E_bad_value, "args",
                "with \"shell_integration\" the arguments may be -i, -l, --login%s",
                shell == SHELL_BASH ? ", --norc and --noprofile" : "");
    }
    return 0;
}

int shell_check(const struct spawn_spec *s, struct hf_error *err)
{
    struct shell_integration_options w = {0};

    return s->shell_integration ? take_args(s, &w, err) : 0;
}

/* --- bash ------------------------------------------------------------------------------------ */

static void plan_bash(struct shell_plan *p, const char *dir,
                      const struct shell_integration_options *w)
{
    bool bare = w->login ? w->no_profile : w->no_rc;
    const char *file = bare ? "integration.bash" : w->login ? "profile.bash" : "rc.bash";

    p->path = hf_xalloc(strlen(dir) + strlen(file) + 2);
    sprintf(p->path, "%s/%s", dir, file);
    p->args = hf_xalloc(3 * sizeof *p->args);
    p->args[0] = "--rcfile";
    p->args[1] = p->path;
    p->args[2] = "-i";
    p->spec.args = p->args;
    p->spec.arg_count = 3;
}

/* --- zsh ------------------------------------------------------------------------------------- */

/* The user's own: from the request, else from the daemon's environment; NULL: none. */
static const char *zdotdir_of(const struct spawn_spec *s)
{
    for (size_t i = 0; i < s->env_count; i++) {
        if (strcmp(s->env[i].name, "ZDOTDIR") == 0)
            return s->env[i].value;
    }
    return s->clear_env ? NULL : getenv("ZDOTDIR");
}

static void plan_zsh(struct shell_plan *p, const char *dir)
{
    const struct spawn_spec *s = &p->spec;
    const char *theirs = zdotdir_of(s);
    size_t n = 0;

    p->path = hf_xalloc(strlen(dir) + sizeof "/zsh");
    sprintf(p->path, "%s/zsh", dir);
    p->env = hf_xalloc((s->env_count + 2) * sizeof *p->env);
    for (size_t i = 0; i < s->env_count; i++) {
        if (strcmp(s->env[i].name, "ZDOTDIR") != 0)
            p->env[n++] = s->env[i];
    }
    p->env[n++] = (struct spec_env){"ZDOTDIR", p->path};
    if (theirs != NULL)
        p->env[n++] = (struct spec_env){"HOLDFAST_ZDOTDIR", theirs};
    p->spec.env = p->env;
    p->spec.env_count = n;
}

/* --- both ------------------------------------------------------------------------------------ */

static int find_files(char *dir, struct hf_error *err)
{
    int rc = shell_files_find(dir);

    if (rc < 0) {
        hf_fail_field(err, HF_E_spawn_failed, "shell_integration",
                      "cannot find a directory for the shell integration files: %s", strerror(-rc));
        if (err != NULL)
            err->errno_name = hf_errno_name(-rc);
    }
    return rc;
}

int shell_plan(const struct spawn_spec *s, struct shell_plan *out, struct hf_error *err)
{
    char dir[PATH_MAX];
    struct shell_integration_options w = {0};
    int rc;

    *out = (struct shell_plan){.spec = *s};
    if (!s->shell_integration)
        return 0;
    rc = take_args(s, &w, err);
    if (rc == 0)
        rc = find_files(dir, err);
    if (rc < 0)
        return rc;
    if (shell_of(s) == SHELL_BASH)
        plan_bash(out, dir, &w);
    else
        plan_zsh(out, dir);
    return 0;
}

void shell_plan_fini(struct shell_plan *p)
{
    free(p->args);
    free(p->env);
    free(p->path);
}

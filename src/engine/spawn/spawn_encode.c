/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn_encode.c - encodes the strings of a K_SPAWN packet. Layer: engine.
 *
 * They are the working directory, the candidate paths of the program, the arguments and the
 * environment.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/spawn/engine_spawn.h"
#include "engine/users.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define SHELL "/bin/sh"
#define PATHS_MAX 1024 /* directories in PATH */

static void put_string(struct buf *b, const char *s)
{
    buf_put(b, s, strlen(s) + 1);
}

/* --- environment -------------------------------------------------------------- */

struct env {
    const struct spawn_spec *spec;
    struct buf text; /* NAME=value, NUL-terminated each */
    uint32_t count;
    size_t path_at; /* 1 + its offset in text; 0: none */
};

static bool spec_names(const struct spawn_spec *s, const char *name, size_t len)
{
    size_t i;

    for (i = 0; i < s->env_count; i++)
        if (strncmp(s->env[i].name, name, len) == 0 && s->env[i].name[len] == '\0')
            return true;
    return false;
}

static bool env_has(const struct env *e, const char *name)
{
    size_t len = strlen(name), at = 0;

    while (at < e->text.len) {
        const char *s = buf_data(&e->text) + at;
        if (strncmp(s, name, len) == 0 && s[len] == '=')
            return true;
        at += strlen(s) + 1;
    }
    return false;
}

static void env_put(struct env *e, const char *name, const char *value)
{
    if (strcmp(name, "PATH") == 0)
        e->path_at = e->text.len + 6; /* after "PATH=", plus one */
    buf_puts(&e->text, name);
    buf_putc(&e->text, '=');
    put_string(&e->text, value);
    e->count++;
}

/* Sets a default for a variable that neither the caller nor the daemon's environment has. */
static void env_default(struct env *e, const char *name, const char *value)
{
    if (value[0] != '\0' && !env_has(e, name) && !spec_names(e->spec, name, strlen(name)))
        env_put(e, name, value);
}

/* Whether our value replaces the one of the daemon's environment; the caller's own always wins. */
static bool env_overrides(const struct spawn_spec *s, const struct user *u, const char *name,
                          size_t len)
{
    static const char *const tty[] = {"TERM", "COLORTERM"};
    static const char *const user[] = {"HOME", "USER", "LOGNAME", "SHELL"};
    size_t i;

    for (i = 0; s->pty && i < 2; i++)
        if (strlen(tty[i]) == len && strncmp(tty[i], name, len) == 0)
            return true;
    for (i = 0; u != NULL && i < 4; i++)
        if (strlen(user[i]) == len && strncmp(user[i], name, len) == 0)
            return true;
    return s->cwd != NULL && len == 3 && strncmp(name, "PWD", 3) == 0;
}

static void env_inherit(struct env *e, const struct user *u)
{
    char **v;

    for (v = environ; v != NULL && *v != NULL; v++) {
        const char *eq = strchr(*v, '=');
        size_t len = eq != NULL ? (size_t)(eq - *v) : 0;
        char name[256];

        /* Do not pass the daemon's own variables (token, hand-over) to the child. */
        if (len == 0 || len >= sizeof name || strncmp(*v, "HOLDFAST_", 9) == 0 ||
            strncmp(*v, "LISTEN_", 7) == 0)
            continue;
        if (spec_names(e->spec, *v, len) || env_overrides(e->spec, u, *v, len))
            continue;
        memcpy(name, *v, len);
        name[len] = '\0';
        env_put(e, name, eq + 1);
    }
}

static void env_build(struct env *e, const char *id, const struct user *u)
{
    const struct spawn_spec *s = e->spec;
    size_t i;

    if (!s->clear_env)
        env_inherit(e, u);
    for (i = 0; i < s->env_count; i++)
        if (s->env[i].value != NULL)
            env_put(e, s->env[i].name, s->env[i].value);
    if (u != NULL) {
        env_default(e, "HOME", u->home);
        env_default(e, "USER", u->name);
        env_default(e, "LOGNAME", u->name);
        env_default(e, "SHELL", u->shell);
    }
    if (s->pty) {
        env_default(e, "TERM", "xterm-256color");
        env_default(e, "COLORTERM", "truecolor");
        env_default(e, "LANG", "C.UTF-8");
    }
    if (s->cwd != NULL && s->cwd[0] == '/')
        env_default(e, "PWD", s->cwd);
    env_put(e, "HOLDFAST_PROCESS_ID", id);
}

/* --- candidate paths ------------------------------------------------------------- */

static uint32_t put_paths(struct buf *out, const char *command, const char *path)
{
    uint32_t n = 0;

    if (strchr(command, '/') != NULL) {
        put_string(out, command);
        return 1;
    }
    for (;;) {
        size_t len = strcspn(path, ":");
        if (len == 0)
            buf_putc(out, '.');
        buf_put(out, path, len);
        buf_putc(out, '/');
        put_string(out, command);
        n++;
        if (path[len] == '\0')
            return n;
        path += len + 1;
    }
}

static void put_args(struct buf *out, const struct spawn_spec *s, struct k_spawn *k)
{
    size_t i;

    if (s->shell) {
        put_string(out, "sh");
        put_string(out, "-c");
        put_string(out, s->command);
        k->arg_count = 3;
        if (s->arg_count > 0) {
            put_string(out, "sh");
            k->arg_count++;
        }
    } else {
        put_string(out, s->argv0 != NULL ? s->argv0 : s->command);
        k->arg_count = 1;
    }
    for (i = 0; i < s->arg_count; i++)
        put_string(out, s->args[i]);
    k->arg_count += (uint32_t)s->arg_count;
}

/* --- the packet --------------------------------------------------------------------- */

static uint64_t limit_of(int64_t v)
{
    return v < 0 ? K_UNSET : (uint64_t)v;
}

static void packet_numbers(const struct spawn_spec *s, struct k_spawn *k)
{
    bool wants_pipe =
        s->stdin_mode == STDIN_PIPE || (s->stdin_mode == STDIN_DEFAULT && s->input_len > 0);

    k->type = K_SPAWN;
    k->pty = s->pty;
    k->stdin_mode = wants_pipe && !s->pty ? K_STDIN_PIPE : K_STDIN_NULL;
    k->rows = (uint16_t)(s->rows != 0 ? s->rows : 24);
    k->cols = (uint16_t)(s->cols != 0 ? s->cols : 80);
    k->set_nice = s->set_nice;
    k->set_oom = s->set_oom;
    k->quiet = s->quiet_start;
    k->side = s->session_json != NULL;
    k->nice = (int32_t)s->nice;
    k->oom_score_adj = (int32_t)s->oom_score_adj;
    k->cpu_s = limit_of(s->cpu_s);
    k->memory_bytes = limit_of(s->memory_bytes);
    k->processes = limit_of(s->processes);
    k->open_files = limit_of(s->open_files);
    k->file_bytes = limit_of(s->file_bytes);
}

static void packet_user(const struct user *u, struct k_spawn *k)
{
    k->set_user = 1;
    k->uid = u->uid;
    k->gid = u->gid;
    k->group_count = (uint32_t)u->group_count;
    memcpy(k->groups, u->groups, u->group_count * sizeof u->groups[0]);
}

int spawn_encode_build(const struct spawn_spec *s, const char *id, struct k_spawn *packet,
                       struct buf *strings, struct hf_error *err)
{
    struct env env = {.spec = s};
    struct user user;
    const char *path = DEFAULT_PATH;

    memset(packet, 0, sizeof *packet);
    packet_numbers(s, packet);
    snprintf(packet->id, sizeof packet->id, "%s", id);
    if (s->user != NULL) {
        int rc = user_find(s->user, &user, err);
        if (rc < 0)
            return rc;
        packet_user(&user, packet);
    }
    env_build(&env, id, s->user != NULL ? &user : NULL);
    if (env.path_at > 0)
        path = buf_data(&env.text) + env.path_at - 1;
    put_string(strings, s->cwd != NULL ? s->cwd : "");
    packet->path_count = put_paths(strings, s->shell ? SHELL : s->command, path);
    put_args(strings, s, packet);
    buf_put(strings, buf_data(&env.text), env.text.len);
    packet->env_count = env.count;
    packet->strings_len = (uint32_t)strings->len;
    buf_wipe(&env.text);
    if (packet->path_count > PATHS_MAX)
        return hf_fail_field(err, HF_E_bad_value, "env", "PATH names more than %d directories",
                             PATHS_MAX);
    if (strings->len > K_STRINGS_MAX)
        return hf_fail(err, HF_E_body_too_large,
                       "arguments and environment together exceed %d bytes", K_STRINGS_MAX);
    return 0;
}

const char *spawn_encode_path(const struct buf *strings, uint32_t n)
{
    const char *s = buf_data(strings);

    s += strlen(s) + 1; /* the directory */
    while (n-- > 0)
        s += strlen(s) + 1;
    return s;
}

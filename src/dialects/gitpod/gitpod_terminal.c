/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gitpod_terminal.c - Open, Get, List: terminals as messages. Layer: dialects.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/start_call.h"
#include "dialects/gitpod/gitpod.h"

struct process *gitpod_find(struct http_request *rq, const json_t *message, bool living,
                            const char *why)
{
    const char *alias = json_string_value(json_object_get(message, "alias"));
    struct process *p = alias == NULL ? NULL : engine_find(gitpod_of(rq)->engine, alias, NULL);
    struct process_view v;

    if (p != NULL) {
        process_view(p, &v);
        if (v.pty && (v.running || !living))
            return p;
    }
    gitpod_fail(rq, GRPC_NOT_FOUND, why);
    return NULL;
}

/* --- the message ------------------------------------------------------------------------ */

static void current_workdir(const struct process_view *v, char *out, size_t size)
{
    char path[40];
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%d/cwd", (int)v->pid);
    n = v->running ? readlink(path, out, size - 1) : -1;
    if (n < 0)
        snprintf(out, size, "%s", v->cwd);
    else
        out[n] = '\0';
}

static void put_text(struct buf *out, uint32_t number, const char *text)
{
    if (text[0] != '\0')
        pb_put_bytes(out, number, text, strlen(text));
}

static void put_annotations(struct buf *out, json_t *all)
{
    struct buf entry = {0};
    const char *key;
    json_t *value;

    json_object_foreach (all, key, value) {
        buf_clear(&entry);
        put_text(&entry, 1, key);
        if (json_is_string(value))
            put_text(&entry, 2, json_string_value(value));
        pb_put_bytes(out, 7, buf_data(&entry), entry.len);
    }
    buf_fini(&entry);
}

/* Everything that a Terminal message contains. */
struct gitpod_terminal_info {
    struct process_view v;
    struct gitpod_title title;
    char cwd[PATH_MAX];
    json_t *meta, *annotations; /* annotations borrowed from meta; may be NULL */
    const char *workdir;        /* where it started, if known */
};

static struct gitpod_terminal_info *terminal_info_new(struct process *p)
{
    struct gitpod_terminal_info *l = hf_xalloc(sizeof *l);

    gitpod_title(p, &l->title);
    process_view(p, &l->v);
    current_workdir(&l->v, l->cwd, sizeof l->cwd);
    l->meta = gitpod_meta(&l->v);
    l->annotations = json_object_get(json_object_get(l->meta, "gitpod"), "annotations");
    l->workdir = json_string_value(json_object_get(json_object_get(l->meta, "gitpod"), "workdir"));
    if (l->workdir == NULL)
        l->workdir = l->v.cwd;
    return l;
}

static void terminal_info_free(struct gitpod_terminal_info *l)
{
    json_decref(l->meta);
    free(l);
}

static void put_terminal(struct buf *out, const struct gitpod_terminal_info *l)
{
    put_text(out, 1, l->v.id);
    pb_put_bytes(out, 2, l->v.command, strlen(l->v.command));
    for (size_t i = 0; i < l->v.arg_count; i++)
        pb_put_bytes(out, 2, l->v.args[i], strlen(l->v.args[i]));
    put_text(out, 3, l->title.text);
    if (l->v.pid > 0)
        pb_put_number(out, 4, (uint64_t)l->v.pid);
    put_text(out, 5, l->workdir);
    put_text(out, 6, l->cwd);
    put_annotations(out, l->annotations);
    if (l->title.api)
        pb_put_number(out, 8, 1);
}

static void write_terminal(struct json_out *o, const struct gitpod_terminal_info *l)
{
    char pid[24];

    snprintf(pid, sizeof pid, "%lld", (long long)l->v.pid);
    json_open(o, '{');
    json_kstr(o, "alias", l->v.id);
    json_key(o, "command");
    json_open(o, '[');
    json_str(o, l->v.command);
    for (size_t i = 0; i < l->v.arg_count; i++)
        json_str(o, l->v.args[i]);
    json_close(o, ']');
    json_kstr(o, "title", l->title.text);
    json_kstr(o, "pid", pid);
    json_kstr(o, "initialWorkdir", l->workdir);
    json_kstr(o, "currentWorkdir", l->cwd);
    json_key(o, "annotations");
    if (l->annotations != NULL)
        json_value(o, l->annotations);
    else
        json_raw(o, "{}", 2);
    json_kstr(o, "titleSource", l->title.api ? "api" : "process");
    json_close(o, '}');
}

/* --- Get, List ----------------------------------------------------------------------------- */

void gitpod_get(struct http_request *rq)
{
    json_auto_t *message = gitpod_request(rq, &gitpod_alias_request);
    struct process *p =
        message == NULL ? NULL : gitpod_find(rq, message, false, "terminal not found");
    struct buf wire = {0}, json = {0};
    struct json_out o;
    struct gitpod_terminal_info *l;

    if (p == NULL)
        return;
    l = terminal_info_new(p);
    put_terminal(&wire, l);
    json_out_init(&o, &json);
    write_terminal(&o, l);
    gitpod_reply(rq, &wire, &json);
    terminal_info_free(l);
    buf_fini(&wire);
    buf_fini(&json);
}

/* In order of creation; the engine has the newest first. */
static size_t living(struct engine *e, struct process **all, size_t max)
{
    struct process_view v;
    size_t n = max;

    for (struct process *p = NULL; n > 0 && (p = engine_next(e, p)) != NULL;) {
        process_view(p, &v);
        if (v.pty && v.running)
            all[--n] = p;
    }
    return n;
}

void gitpod_list(struct http_request *rq)
{
    json_auto_t *message = gitpod_request(rq, &gitpod_none);
    size_t max = engine_options(gitpod_of(rq)->engine)->max_processes;
    struct buf wire = {0}, json = {0}, one = {0};
    struct process **all;
    struct json_out o;

    if (message == NULL)
        return;
    all = hf_xalloc((max + 1) * sizeof *all);
    json_out_init(&o, &json);
    json_open(&o, '{');
    json_key(&o, "terminals");
    json_open(&o, '[');
    for (size_t i = living(gitpod_of(rq)->engine, all, max);
         i < max && wire.len < LIMIT_GITPOD_LIST_BYTES; i++) {
        struct gitpod_terminal_info *l = terminal_info_new(all[i]);

        buf_clear(&one);
        put_terminal(&one, l);
        pb_put_bytes(&wire, 1, buf_data(&one), one.len);
        write_terminal(&o, l);
        terminal_info_free(l);
    }
    json_close(&o, ']');
    json_close(&o, '}');
    gitpod_reply(rq, &wire, &json);
    free(all);
    buf_fini(&wire);
    buf_fini(&json);
    buf_fini(&one);
}

/* --- Open ------------------------------------------------------------------------------------- */

static void open_done(struct http_request *rq, struct process *p, const struct hf_error *err)
{
    struct buf wire = {0}, one = {0};
    const char *token;
    struct gitpod_terminal_info *l;

    if (p == NULL) {
        gitpod_error(rq, err);
        return;
    }
    l = terminal_info_new(p);
    put_terminal(&one, l);
    pb_put_bytes(&wire, 1, buf_data(&one), one.len);
    token = json_string_value(json_object_get(gitpod_meta_own(l->meta), "token"));
    put_text(&wire, 2, token != NULL ? token : "");
    gitpod_reply(rq, &wire, &wire); /* the gateway does not have this call */
    terminal_info_free(l);
    buf_fini(&wire);
    buf_fini(&one);
}

static const char *default_shell(void)
{
    const char *shell = getenv("SHELL");

    return shell != NULL && shell[0] == '/' ? shell : "/bin/bash";
}

/* A request as a spec, and what the spec borrows from. */
struct gitpod_terminal_plan {
    struct spawn_spec spec;
    const char **args;
    struct spec_env *env;
    char *meta;
};

static void plan_fini(struct gitpod_terminal_plan *p)
{
    free(p->args);
    free(p->env);
    free(p->meta);
}

static int check_text(const json_t *v, const char *field, struct hf_error *err)
{
    if (v == NULL || strlen(json_string_value(v)) == json_string_length(v))
        return 0;
    return hf_fail_field(err, HF_E_bad_value, field, "%s must not contain NUL", field);
}

static int plan_command(struct gitpod_terminal_plan *p, const json_t *message, struct hf_error *err)
{
    const json_t *args = json_object_get(message, "shellArgs"),
                 *shell = json_object_get(message, "shell"),
                 *cwd = json_object_get(message, "workdir");
    size_t n = json_array_size(args);

    if (check_text(shell, "shell", err) < 0 || check_text(cwd, "workdir", err) < 0)
        return -1;
    p->spec.command = json_string_length(shell) > 0 ? json_string_value(shell) : default_shell();
    p->spec.cwd = json_string_length(cwd) > 0 ? json_string_value(cwd) : NULL;
    p->args = hf_xalloc((n + 1) * sizeof *p->args);
    for (size_t i = 0; i < n; i++) {
        if (check_text(json_array_get(args, i), "shell_args", err) < 0)
            return -1;
        p->args[i] = json_string_value(json_array_get(args, i));
    }
    p->spec.args = p->args;
    p->spec.arg_count = n;
    return 0;
}

static int plan_env(struct gitpod_terminal_plan *p, json_t *env, struct hf_error *err)
{
    const char *name;
    json_t *value;

    p->env = hf_xalloc((json_object_size(env) + 1) * sizeof *p->env);
    if (json_object_get(env, "TERM") == NULL)
        p->env[p->spec.env_count++] = (struct spec_env){"TERM", "xterm-256color"};
    json_object_foreach (env, name, value) {
        if (check_text(value, "env", err) < 0)
            return -1;
        p->env[p->spec.env_count++] = (struct spec_env){name, json_string_value(value)};
    }
    p->spec.env = p->env;
    return 0;
}

static void plan_size(struct gitpod_terminal_plan *p, const json_t *size)
{
    p->spec.rows = json_integer_value(json_object_get(size, "rows"));
    p->spec.cols = json_integer_value(json_object_get(size, "cols"));
    if (p->spec.rows == 0)
        p->spec.rows = 24;
    if (p->spec.cols == 0)
        p->spec.cols = 80;
}

static int plan_meta(struct gitpod_terminal_plan *p, json_t *annotations, struct hf_error *err)
{
    json_auto_t *meta = json_object();
    json_t *own = gitpod_meta_own(meta);
    char token[37], cwd[PATH_MAX];

    gitpod_make_token(token);
    json_object_set_new(own, "token", json_string(token));
    if (p->spec.cwd != NULL)
        json_object_set_new(own, "workdir", json_string(p->spec.cwd));
    else if (getcwd(cwd, sizeof cwd) != NULL)
        json_object_set_new(own, "workdir", json_string(cwd));
    if (annotations != NULL)
        json_object_set(own, "annotations", annotations);
    p->meta = json_dumps(meta, JSON_COMPACT);
    p->spec.metadata_json = p->meta;
    return p->meta != NULL ? 0 : hf_fail(err, HF_E_bad_value, "annotations must be UTF-8");
}

void gitpod_open(struct http_request *rq)
{
    json_auto_t *message = gitpod_request(rq, &gitpod_open_request);
    const struct start_call_options o = {.pending = &gitpod_of(rq)->pending, .done = open_done};
    struct hf_error err = {0};
    struct gitpod_terminal_plan plan = {0};

    if (message == NULL)
        return;
    spec_init(&plan.spec);
    plan.spec.pty = true;
    plan_size(&plan, json_object_get(message, "size"));
    if (plan_command(&plan, message, &err) < 0 ||
        plan_env(&plan, json_object_get(message, "env"), &err) < 0 ||
        plan_meta(&plan, json_object_get(message, "annotations"), &err) < 0)
        gitpod_error(rq, &err);
    else
        start_call_begin(rq, gitpod_of(rq)->engine, &plan.spec, &o);
    plan_fini(&plan);
}

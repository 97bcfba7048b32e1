/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gitpod_terminal.c - Open, Get, List: terminals as messages. Layer: dialects.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "dialects/common/own_meta.h"
#include "dialects/common/spec_decode.h"
#include "dialects/common/start_call.h"
#include "dialects/common/uuid.h"
#include "dialects/gitpod/gitpod.h"
#include "dialects/gitpod/gitpod_limits.h"

/* --- the message ---------------------------------------------------------------------------- */

/* As protobuf does, omits a field with its default. */
static void set_text(json_t *tree, const char *key, const char *text)
{
    if (text[0] != '\0')
        json_object_set_new(tree, key, json_string_nocheck(text));
}

static void set_current_workdir(json_t *tree, const struct process_view *v)
{
    char path[40], cwd[PATH_MAX];
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%d/cwd", (int)v->pid);
    n = v->running ? readlink(path, cwd, sizeof cwd - 1) : -1;
    if (n >= 0)
        cwd[n] = '\0';
    set_text(tree, "currentWorkdir", n >= 0 ? cwd : v->cwd);
}

static json_t *terminal_tree(struct process *p)
{
    json_auto_t *meta = gitpod_meta(p);
    const char *workdir = json_string_value(json_object_get(meta, "workdir"));
    json_t *tree = json_object(), *command = json_array(),
           *annotations = json_object_get(meta, "annotations");
    struct gitpod_title title;
    struct process_view v;

    gitpod_title(p, &title);
    process_view(p, &v);
    set_text(tree, "alias", v.id);
    json_array_append_new(command, json_string_nocheck(v.command));
    for (size_t i = 0; i < v.arg_count; i++)
        json_array_append_new(command, json_string_nocheck(v.args[i]));
    json_object_set_new(tree, "command", command);
    set_text(tree, "title", title.text);
    if (v.pid > 0)
        json_object_set_new(tree, "pid", json_integer(v.pid));
    set_text(tree, "initialWorkdir", workdir != NULL ? workdir : v.cwd);
    set_current_workdir(tree, &v);
    if (json_is_object(annotations))
        json_object_set(tree, "annotations", annotations);
    if (title.api)
        json_object_set_new(tree, "titleSource", json_integer(1));
    return tree;
}

/* --- Get, List ------------------------------------------------------------------------------ */

void gitpod_get(struct http_request *rq)
{
    json_auto_t *message = NULL, *tree = NULL;
    struct process *p = gitpod_find(rq, &gitpod_alias_request, false, GITPOD_NOT_FOUND, &message);

    if (p == NULL)
        return;
    tree = terminal_tree(p);
    grpc_reply(rq, &gitpod_terminal, tree);
}

/* Returns how many bytes it adds to the reply. */
static size_t append_terminal(json_t *list, struct process *p)
{
    json_t *tree = terminal_tree(p);
    struct buf wire = {0};
    size_t len;

    pb_to_wire(&gitpod_terminal, tree, &wire);
    len = wire.len;
    buf_fini(&wire);
    json_array_append_new(list, tree);
    return len;
}

/* In order of creation. */
void gitpod_list(struct http_request *rq)
{
    json_auto_t *message = gitpod_message(rq, &pb_empty), *reply = NULL;
    struct engine *e = dialect_base_of(rq)->engine;
    struct process *p = NULL;
    json_t *list;
    size_t bytes = 0;

    if (message == NULL)
        return;
    reply = json_object();
    list = json_array();
    json_object_set_new(reply, "terminals", list);
    while (bytes < LIMIT_GITPOD_LIST_BYTES && (p = engine_next_oldest(e, p)) != NULL)
        if (gitpod_is_terminal(p, true))
            bytes += append_terminal(list, p);
    grpc_reply(rq, &gitpod_list_response, reply);
}

/* --- Open ----------------------------------------------------------------------------------- */

static void open_reply(struct http_request *rq, struct process *p)
{
    json_auto_t *meta = gitpod_meta(p), *reply = json_object();

    json_object_set_new(reply, "terminal", terminal_tree(p));
    json_object_set(reply, "starterToken", json_object_get(meta, "token"));
    grpc_reply(rq, &gitpod_open_response, reply);
}

/* A text, or an array or object of texts. */
static int check_text(const json_t *v, const char *field, struct hf_error *err)
{
    const char *key;
    json_t *one;
    size_t i;

    json_array_foreach (v, i, one)
        if (check_text(one, field, err) < 0)
            return -1;
    json_object_foreach ((json_t *)(uintptr_t)v, key, one)
        if (check_text(one, field, err) < 0)
            return -1;
    if (!json_is_string(v) || strlen(json_string_value(v)) == json_string_length(v))
        return 0;
    return hf_fail_field(err, HF_E_bad_value, field, "%s must not contain NUL", field);
}

static void plan_command(struct spec_body *b, const json_t *message)
{
    const json_t *shell = json_object_get(message, "shell"),
                 *cwd = json_object_get(message, "workdir"),
                 *args = json_object_get(message, "shellArgs");
    size_t n = json_array_size(args);

    b->spec.command =
        json_string_length(shell) > 0 ? json_string_value(shell) : spec_default_shell();
    b->spec.cwd = json_string_length(cwd) > 0 ? json_string_value(cwd) : NULL;
    b->arg_words = hf_xalloc((n + 1) * sizeof *b->arg_words);
    b->spec.source = SOURCE_USER;
    for (size_t i = 0; i < n; i++) {
        b->arg_words[i] = json_string_value(json_array_get(args, i));
        if (b->arg_words[i][0] != '-')
            b->spec.source = SOURCE_AGENT; /* a command; a shell with options is for a person */
    }
    b->spec.args = b->arg_words;
    b->spec.arg_count = n;
}

static void plan_env(struct spec_body *b, json_t *env)
{
    const char *name;
    json_t *value;

    b->env_vars = hf_xalloc((json_object_size(env) + 1) * sizeof *b->env_vars);
    if (json_object_get(env, "TERM") == NULL)
        b->env_vars[b->spec.env_count++] = (struct spec_env){"TERM", "xterm-256color"};
    json_object_foreach (env, name, value) {
        b->env_vars[b->spec.env_count++] = (struct spec_env){name, json_string_value(value)};
    }
    b->spec.env = b->env_vars;
}

static void plan_size(struct spawn_spec *s, const json_t *size)
{
    s->pty = true;
    s->rows = json_integer_value(json_object_get(size, "rows"));
    s->cols = json_integer_value(json_object_get(size, "cols"));
    if (s->rows == 0)
        s->rows = 24;
    if (s->cols == 0)
        s->cols = 80;
}

static int plan(struct spec_body *b, const json_t *message, struct hf_error *err)
{
    static const char *const texts[][2] = {
        {"shell", "shell"}, {"workdir", "workdir"}, {"shellArgs", "shell_args"}, {"env", "env"}};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (check_text(json_object_get(message, texts[i][0]), texts[i][1], err) < 0)
            return -1;
    plan_command(b, message);
    plan_env(b, json_object_get(message, "env"));
    plan_size(&b->spec, json_object_get(message, "size"));
    return 0;
}

static char *plan_meta(const struct spawn_spec *s, json_t *annotations)
{
    json_auto_t *own = json_object();
    char token[UUID_BYTES], cwd[PATH_MAX];

    uuid_make(token);
    json_object_set_new(own, "token", json_string(token));
    if (s->cwd != NULL)
        json_object_set_new(own, "workdir", json_string(s->cwd));
    else if (getcwd(cwd, sizeof cwd) != NULL)
        json_object_set_new(own, "workdir", json_string(cwd));
    if (annotations != NULL)
        json_object_set(own, "annotations", annotations);
    return own_meta_text("gitpod", own);
}

void gitpod_open(struct http_request *rq)
{
    json_auto_t *message = gitpod_message(rq, &gitpod_open_request);
    struct hf_error err = {0};
    struct spec_body b;
    char *meta = NULL;

    if (message == NULL)
        return;
    spec_body_init(&b);
    if (plan(&b, message, &err) < 0) {
        http_reply_error(rq, &err);
    } else {
        b.spec.metadata_json = meta = plan_meta(&b.spec, json_object_get(message, "annotations"));
        start_call_reply(rq, &b.spec, open_reply);
    }
    spec_body_fini(&b);
    free(meta);
}

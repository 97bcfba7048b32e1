/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pty.c - PTYs: what they look like, list, get, create and update. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/checks.h"
#include "dialects/common/starting.h"
#include "dialects/opencode/ticket.h"
#include "engine/units.h"

/* --- what is known of one --------------------------------------------------------- */

json_t *oc_meta(const char *metadata_json)
{
    json_auto_t *all = NULL;

    if (metadata_json == NULL || strstr(metadata_json, "\"opencode\"") == NULL)
        return NULL;
    all = json_parse(metadata_json, strlen(metadata_json), NULL);
    return json_incref(json_object_get(all, "opencode"));
}

const char *oc_meta_text(const json_t *meta, const char *key)
{
    return json_string_value(json_object_get(meta, key));
}

bool oc_is_visible(const struct process_view *v, const char *directory)
{
    json_auto_t *meta = oc_meta(v->metadata_json);
    const char *own = oc_meta_text(meta, "directory");

    return own == NULL || strcmp(own, directory) == 0;
}

static void write_title(struct json_out *o, const struct process_view *v, const char *id)
{
    char title[32];

    snprintf(title, sizeof title, "Terminal %s", id + strlen(id) - 4);
    json_kstr(o, "title", v->label != NULL && v->label[0] != '\0' ? v->label : title);
}

void oc_write_pty(struct json_out *o, struct process *p)
{
    struct process_view v;
    char id[OC_ID_BYTES];

    process_view(p, &v);
    oc_pty_id(&v, id);
    json_open(o, '{');
    json_kstr(o, "id", id);
    write_title(o, &v, id);
    json_kstr(o, "command", v.command);
    json_key(o, "args");
    json_open(o, '[');
    for (size_t i = 0; i < v.arg_count; i++)
        json_str(o, v.args[i]);
    json_shut(o, ']');
    json_kstr(o, "cwd", v.cwd != NULL ? v.cwd : "");
    json_kstr(o, "status", v.running ? "running" : "exited");
    json_kint(o, "pid", v.pid);
    if (!v.running && v.exit->exit_code >= 0)
        json_kint(o, "exitCode", v.exit->exit_code);
    json_shut(o, '}');
}

/* --- answers of both surfaces ---------------------------------------------------------- */

/* The newer surface says which place its answer is about. */
static void data_open(struct http_request *rq, struct json_out *o)
{
    char directory[PATH_MAX];

    if (!oc_is_api(rq))
        return;
    json_open(o, '{');
    json_key(o, "location");
    json_open(o, '{');
    json_kstr(o, "directory", oc_directory(rq, directory));
    json_key(o, "project");
    json_open(o, '{');
    json_kstr(o, "id", "global");
    json_kstr(o, "directory", "/");
    json_shut(o, '}');
    json_shut(o, '}');
    json_key(o, "data");
}

static void data_send(struct http_request *rq, struct json_out *o)
{
    if (oc_is_api(rq))
        json_shut(o, '}');
    oc_send(rq, 200, o);
}

static void answer_pty(struct http_request *rq, struct process *p)
{
    struct json_out o = oc_answer(oc_of(rq));

    data_open(rq, &o);
    oc_write_pty(&o, p);
    data_send(rq, &o);
}

void oc_pty_list(struct http_request *rq)
{
    struct oc *oc = oc_of(rq);
    struct json_out o = oc_answer(oc);
    char directory[PATH_MAX];
    struct process *p = NULL;

    oc_directory(rq, directory);
    data_open(rq, &o);
    json_open(&o, '[');
    while ((p = engine_next(oc->engine, p)) != NULL) {
        struct process_view v;

        process_view(p, &v);
        if (v.pty && (v.running || oc_is_api(rq)) && oc_is_visible(&v, directory))
            oc_write_pty(&o, p);
    }
    json_shut(&o, ']');
    data_send(rq, &o);
}

void oc_pty_get(struct http_request *rq)
{
    struct process *p = oc_process(rq);

    if (p != NULL)
        answer_pty(rq, p);
}

void oc_pty_token(struct http_request *rq)
{
    struct process *p = oc_process(rq);
    const char *guard = http_header(rq, "x-opencode-ticket");
    struct process_view v;
    struct json_out o;
    char ticket[37];

    if (p == NULL)
        return;
    /* A page of another site cannot send this header without being asked first. */
    if (guard == NULL || strcmp(guard, "1") != 0) {
        oc_tagged(rq, 403, "PtyForbiddenError", NULL, NULL, "Invalid PTY connect token request");
        return;
    }
    process_view(p, &v);
    oc_ticket_new(rq, v.id, ticket);
    o = oc_answer(oc_of(rq));
    data_open(rq, &o);
    json_open(&o, '{');
    json_kstr(&o, "ticket", ticket);
    json_kint(&o, "expires_in", OC_TICKET_MS / 1000);
    json_shut(&o, '}');
    data_send(rq, &o);
}

/* --- create --------------------------------------------------------------------------- */

static void creation_done(struct http_request *rq, struct process *p, const struct hf_error *err)
{
    if (p == NULL) {
        oc_error(rq, err);
        return;
    }
    (void)units_end(process_journal(p)); /* counted from its first byte on */
    answer_pty(rq, p);
}

/* What a create body says; strings are borrowed from it. */
struct wish {
    const char *command, *cwd, *title;
    const char **args;
    struct spec_env *env;
    size_t arg_count, env_count;
    char shell[PATH_MAX], directory[PATH_MAX];
    struct buf metadata;
};

static void wish_fini(struct wish *w)
{
    free(w->args);
    free(w->env);
    buf_fini(&w->metadata);
}

static bool wish_args(struct http_request *rq, const json_t *body, struct wish *w)
{
    const json_t *args = json_object_get(body, "args"), *v;
    size_t i;

    w->args = hf_xalloc((json_array_size(args) + 2) * sizeof *w->args);
    if (args != NULL && !json_is_array(args)) {
        oc_invalid(rq, "Payload", "Expected array\n  at [\"args\"]");
        return false;
    }
    json_array_foreach (args, i, v) {
        if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v)) {
            oc_invalid(rq, "Payload", "Expected strings without NUL\n  at [\"args\"]");
            return false;
        }
        w->args[w->arg_count++] = json_string_value(v);
    }
    return true;
}

/* Which terminal it is and whose is not for the caller to say. */
static bool wish_env(struct http_request *rq, const json_t *body, struct wish *w)
{
    json_t *env = json_object_get(body, "env");
    const char *name;
    json_t *v;

    w->env = hf_xalloc((json_object_size(env) + 3) * sizeof *w->env);
    if (env != NULL && !json_is_object(env)) {
        oc_invalid(rq, "Payload", "Expected object\n  at [\"env\"]");
        return false;
    }
    json_object_foreach (env, name, v) {
        if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v)) {
            oc_invalid(rq, "Payload", "Expected strings without NUL\n  at [\"env\"]");
            return false;
        }
        if (strcmp(name, "TERM") != 0 && strcmp(name, "OPENCODE_TERMINAL") != 0)
            w->env[w->env_count++] = (struct spec_env){name, json_string_value(v)};
    }
    w->env[w->env_count++] = (struct spec_env){"TERM", "xterm-256color"};
    w->env[w->env_count++] = (struct spec_env){"OPENCODE_TERMINAL", "1"};
    return true;
}

static void wish_metadata(struct wish *w)
{
    struct json_out o;

    json_out_init(&o, &w->metadata);
    json_open(&o, '{');
    json_key(&o, "opencode");
    json_open(&o, '{');
    json_kstr(&o, "directory", w->directory);
    json_shut(&o, '}');
    json_shut(&o, '}');
}

static bool wish_take(struct http_request *rq, const json_t *body, struct wish *w)
{
    if (!oc_text(rq, body, "command", false, &w->command) ||
        !oc_text(rq, body, "cwd", false, &w->cwd) ||
        !oc_text(rq, body, "title", false, &w->title) || !wish_args(rq, body, w) ||
        !wish_env(rq, body, w))
        return false;
    oc_directory(rq, w->directory);
    if (w->command == NULL || w->command[0] == '\0')
        w->command = oc_shell(w->shell);
    if (oc_is_shell(w->command))
        w->args[w->arg_count++] = "-l";
    if (w->cwd == NULL || w->cwd[0] == '\0')
        w->cwd = w->directory;
    wish_metadata(w);
    return true;
}

static void create_spawn(struct http_request *rq, struct wish *w)
{
    struct oc *oc = oc_of(rq);
    const struct starting_options o = {.pending = &oc->pending, .done = creation_done};
    struct spawn_spec spec;

    spec_init(&spec);
    spec.command = w->command;
    spec.args = w->args;
    spec.arg_count = w->arg_count;
    spec.cwd = w->cwd;
    spec.env = w->env;
    spec.env_count = w->env_count;
    spec.label = w->title;
    spec.pty = true;
    spec.rows = 24;
    spec.cols = 80;
    spec.history_bytes = OC_RING_BYTES;
    spec.metadata_json = buf_cstr(&w->metadata);
    starting_begin(rq, oc->engine, &spec, &o);
}

void oc_pty_create(struct http_request *rq)
{
    json_auto_t *body = oc_body(rq, true); /* create({}) of the SDK sends none */
    struct wish *w;

    if (body == NULL)
        return;
    w = hf_xalloc(sizeof *w);
    if (wish_take(rq, body, w))
        create_spawn(rq, w);
    wish_fini(w);
    free(w);
}

/* --- update ----------------------------------------------------------------------------- */

/* 1: there is a size, 0: there is none, -1: answered. */
static int ask_size(struct http_request *rq, const json_t *body, int64_t *rows, int64_t *cols)
{
    const json_t *size = json_object_get(body, "size"), *r = json_object_get(size, "rows"),
                 *c = json_object_get(size, "cols");
    struct hf_error err;

    if (size == NULL)
        return 0;
    *rows = json_integer_value(r);
    *cols = json_integer_value(c);
    if (!json_is_integer(r) || !json_is_integer(c))
        oc_invalid(rq, "Payload", "Expected whole numbers\n  at [\"size\"]");
    else if (check_size(*rows, *cols, &err) < 0)
        oc_invalid(rq, "Payload", err.detail);
    else
        return 1;
    return -1;
}

void oc_pty_update(struct http_request *rq)
{
    struct process *p = oc_process(rq);
    json_auto_t *body = p == NULL ? NULL : oc_body(rq, true);
    struct process_patch patch = {0};
    int64_t rows = 0, cols = 0;
    struct hf_error err;
    int size;

    if (body == NULL || !oc_text(rq, body, "title", false, &patch.label))
        return;
    size = ask_size(rq, body, &rows, &cols);
    if (size < 0)
        return;
    /* A PTY that has exited has no size any more, and its clients are told nothing of it. */
    if ((size > 0 && process_is_running(p) && process_resize(p, rows, cols, "api", &err) < 0) ||
        (patch.label != NULL && process_patch(p, &patch, &err) < 0)) {
        oc_error(rq, &err);
        return;
    }
    oc_tell_pty(oc_of(rq), "pty.updated", p);
    answer_pty(rq, p);
}

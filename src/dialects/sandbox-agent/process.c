/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.c - create, list, get, delete, resize. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/starting.h"
#include "dialects/sandbox-agent/agent.h"

/* --- the object ------------------------------------------------------------------ */

static bool is_interactive(const struct process_view *v)
{
    json_auto_t *meta = json_loads(v->metadata_json, 0, NULL);

    return json_is_true(json_object_get(meta, "interactive"));
}

/* What is not known is absent, not null. */
void write_info(struct json_out *o, struct process *p)
{
    struct process_view v;

    process_view(p, &v);
    json_open(o, '{');
    json_kstr(o, "id", v.id);
    json_kstr(o, "command", v.command);
    json_key(o, "args");
    json_open(o, '[');
    for (size_t i = 0; i < v.arg_count; i++)
        json_str(o, v.args[i]);
    json_shut(o, ']');
    json_kstr(o, "cwd", v.cwd);
    json_kbool(o, "tty", v.pty);
    json_kbool(o, "interactive", is_interactive(&v));
    json_kstr(o, "owner", v.source == SOURCE_SYSTEM ? "system" : "user");
    json_kstr(o, "status", v.running ? "running" : "exited");
    if (v.running)
        json_kint(o, "pid", v.pid);
    else if (v.exit->code >= 0)
        json_kint(o, "exitCode", v.exit->code);
    json_kint(o, "createdAtMs", v.created_ms);
    if (!v.running)
        json_kint(o, "exitedAtMs", v.exited_ms);
    json_shut(o, '}');
}

static void answer_info(struct http_request *rq, struct process *p)
{
    struct agent *a = agent_of(rq);
    struct json_out o;

    buf_clear(&a->scratch);
    json_out_init(&o, &a->scratch);
    write_info(&o, p);
    http_reply_json(rq, 200, &a->scratch);
}

/* --- create -------------------------------------------------------------------------- */

static bool spec_args(struct http_request *rq, const json_t *body, struct agent_spec *s)
{
    const json_t *args = json_object_get(body, "args");
    size_t n = json_array_size(args);

    if (args != NULL && !json_is_null(args) && !json_is_array(args)) {
        agent_invalid(rq, 422, "field `args` must be an array of strings");
        return false;
    }
    s->args = hf_xalloc((n + 1) * sizeof *s->args);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(args, i);

        if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v)) {
            agent_invalid(rq, 422, "field `args` must be an array of strings without NUL");
            return false;
        }
        s->args[i] = json_string_value(v);
    }
    s->spec.args = s->args;
    s->spec.arg_count = n;
    return true;
}

static bool spec_env(struct http_request *rq, json_t *body, struct agent_spec *s)
{
    json_t *env = json_object_get(body, "env"), *value;
    const char *name;
    size_t n = 0;

    if (env != NULL && !json_is_null(env) && !json_is_object(env)) {
        agent_invalid(rq, 422, "field `env` must be an object of strings");
        return false;
    }
    s->env = hf_xalloc((json_object_size(env) + 1) * sizeof *s->env);
    json_object_foreach (env, name, value) {
        if (!json_is_string(value) ||
            strlen(json_string_value(value)) != json_string_length(value)) {
            agent_invalid(rq, 422, "field `env` must be an object of strings without NUL");
            return false;
        }
        s->env[n++] = (struct spec_env){name, json_string_value(value)};
    }
    s->spec.env = s->env;
    s->spec.env_count = n;
    return true;
}

bool agent_spec(struct http_request *rq, const json_t *body, struct agent_spec *s)
{
    memset(s, 0, sizeof *s);
    spec_init(&s->spec);
    s->spec.source = SOURCE_AGENT;
    if (!agent_text(rq, body, "command", true, &s->spec.command) ||
        !agent_text(rq, body, "cwd", false, &s->spec.cwd))
        return false;
    if (s->spec.command[0] == '\0') {
        agent_invalid(rq, 400, "command must not be empty");
        return false;
    }
    return spec_args(rq, body, s) && spec_env(rq, (json_t *)(uintptr_t)body, s);
}

void agent_spec_fini(struct agent_spec *s)
{
    free(s->args);
    free(s->env);
}

static void create_done(struct http_request *rq, struct process *p, const struct hf_error *err)
{
    if (p != NULL)
        answer_info(rq, p);
    else
        agent_error(rq, err);
}

static bool has_room(struct agent *a)
{
    struct engine_stats stats;

    engine_stats(a->engine, &stats);
    return stats.running < a->runs || stats.running - a->runs < (size_t)a->config.max_concurrent;
}

static bool create_options(struct http_request *rq, const json_t *body, struct spawn_spec *s)
{
    bool interactive = false;

    if (!agent_bool(rq, body, "tty", &s->pty) || !agent_bool(rq, body, "interactive", &interactive))
        return false;
    s->metadata_json = interactive ? "{\"interactive\":true}" : NULL;
    s->stdin_mode = s->pty ? STDIN_DEFAULT : STDIN_PIPE;
    return true;
}

static void create_spawn(struct http_request *rq, const struct spawn_spec *spec)
{
    struct agent *a = agent_of(rq);
    const struct starting_options o = {.pending = &a->pending, .done = create_done};

    if (has_room(a))
        starting_begin(rq, a->engine, spec, &o);
    else
        agent_conflict(rq, "max concurrent process limit reached");
}

void agent_create(struct http_request *rq)
{
    json_auto_t *body = agent_body(rq);
    struct agent_spec s;

    if (body == NULL)
        return;
    if (agent_spec(rq, body, &s) && create_options(rq, body, &s.spec))
        create_spawn(rq, &s.spec);
    agent_spec_fini(&s);
}

/* --- list, get, delete -------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    struct process_view x, y;

    process_view(*(struct process *const *)a, &x);
    process_view(*(struct process *const *)b, &y);
    return strcmp(x.id, y.id);
}

static struct process **sorted(struct engine *e, size_t *count)
{
    struct process *p = NULL, **all;
    size_t n = 0;

    while ((p = engine_next(e, p)) != NULL)
        n++;
    all = hf_xalloc((n + 1) * sizeof *all);
    *count = n;
    for (n = 0, p = NULL; (p = engine_next(e, p)) != NULL;)
        all[n++] = p;
    qsort(all, n, sizeof *all, by_id);
    return all;
}

static bool owner_fits(struct process *p, const char *owner)
{
    struct process_view v;

    process_view(p, &v);
    return owner == NULL || strcmp(owner, v.source == SOURCE_SYSTEM ? "system" : "user") == 0;
}

void agent_list(struct http_request *rq)
{
    struct agent *a = agent_of(rq);
    const char *owner = http_query(rq, "owner");
    struct process **all;
    struct json_out o;
    size_t n;

    if (owner != NULL && strcmp(owner, "user") != 0 && strcmp(owner, "system") != 0 &&
        strcmp(owner, "desktop") != 0) {
        agent_invalid(rq, 400, "owner must be user, desktop or system");
        return;
    }
    all = sorted(a->engine, &n);
    o = agent_answer(a);
    json_key(&o, "processes");
    json_open(&o, '[');
    for (size_t i = 0; i < n; i++)
        if (owner_fits(all[i], owner))
            write_info(&o, all[i]);
    json_shut(&o, ']');
    agent_send(rq, 200, &o);
    free(all);
}

void agent_get(struct http_request *rq)
{
    struct process *p = agent_process(rq);

    if (p != NULL)
        answer_info(rq, p);
}

void agent_delete(struct http_request *rq)
{
    struct process *p = agent_process(rq);

    if (p == NULL)
        return;
    if (process_is_running(p)) {
        agent_conflict(rq, "process is still running; stop or kill it before delete");
        return;
    }
    process_forget(p);
    http_reply_empty(rq, 204);
}

/* --- resize --------------------------------------------------------------------------------- */

void agent_resize(struct http_request *rq)
{
    struct process *p = agent_process(rq);
    json_auto_t *body = p == NULL ? NULL : agent_body(rq);
    int64_t rows = 0, cols = 0;
    struct hf_error err;
    struct json_out o;

    if (body == NULL || !agent_int(rq, body, "cols", true, &cols) ||
        !agent_int(rq, body, "rows", true, &rows))
        return;
    if (rows > UINT16_MAX || cols > UINT16_MAX) {
        agent_invalid(rq, 422, "cols and rows must fit 16 bits");
        return;
    }
    /* A zero leaves that side as it is: programs divide by it. */
    if (rows == 0 || cols == 0) {
        struct process_view v;

        process_view(p, &v);
        rows = rows == 0 ? v.rows : rows;
        cols = cols == 0 ? v.cols : cols;
    }
    if (process_resize(p, rows, cols, "api", &err) < 0) {
        agent_error(rq, &err);
        return;
    }
    o = agent_answer(agent_of(rq));
    json_kint(&o, "cols", cols);
    json_kint(&o, "rows", rows);
    agent_send(rq, 200, &o);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_process.c - create, list, get, delete, resize. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/common/start_call.h"
#include "dialects/sandbox-agent/agent.h"

/* --- the object ------------------------------------------------------------------ */

static bool is_interactive(const struct process_view *v)
{
    json_auto_t *meta = json_loads(v->metadata_json, 0, NULL);

    return json_is_true(json_object_get(meta, "interactive"));
}

/* Unknown members are absent, not null. */
void agent_write_info(struct json_out *o, struct process *p)
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
    json_close(o, ']');
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
    json_close(o, '}');
}

static void reply_info(struct http_request *rq, struct process *p)
{
    struct agent *a = agent_of(rq);
    struct json_out o;

    buf_clear(&a->scratch);
    json_out_init(&o, &a->scratch);
    agent_write_info(&o, p);
    http_reply_json(rq, 200, &a->scratch);
}

/* --- create -------------------------------------------------------------------------- */

static void create_done(struct http_request *rq, struct process *p, const struct hf_error *err)
{
    if (p != NULL)
        reply_info(rq, p);
    else
        agent_error(rq, err);
}

/* Pending starts count, or many simultaneous requests would all find room. */
static bool has_room(struct agent *a)
{
    struct engine_stats stats;
    size_t count;

    engine_stats(a->engine, &stats);
    count = stats.running + stats.starting;
    return count < a->runs || count - a->runs < (size_t)a->config.max_concurrent;
}

static void create_spawn(struct http_request *rq, const struct spawn_spec *spec)
{
    struct agent *a = agent_of(rq);
    const struct start_call_options o = {.pending = &a->pending, .done = create_done};

    if (has_room(a))
        start_call_begin(rq, a->engine, spec, &o);
    else
        agent_conflict(rq, "max concurrent process limit reached");
}

void agent_create(struct http_request *rq)
{
    json_auto_t *body = agent_body(rq);
    struct hf_error err = {0};
    struct agent_request request;

    if (body == NULL)
        return;
    if (agent_decode_create(&request, body, &err) < 0)
        agent_error(rq, &err);
    else
        create_spawn(rq, &request.spec);
    agent_request_fini(&request);
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
    o = agent_reply_open(a);
    json_key(&o, "processes");
    json_open(&o, '[');
    for (size_t i = 0; i < n; i++)
        if (owner_fits(all[i], owner))
            agent_write_info(&o, all[i]);
    json_close(&o, ']');
    agent_send(rq, 200, &o);
    free(all);
}

void agent_get(struct http_request *rq)
{
    struct process *p = agent_process(rq);

    if (p != NULL)
        reply_info(rq, p);
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
    struct hf_error err = {0};
    int64_t rows, cols;
    struct json_out o;

    if (body == NULL)
        return;
    if (agent_decode_size(body, &rows, &cols, &err) < 0) {
        agent_error(rq, &err);
        return;
    }
    /* A zero leaves that dimension unchanged: programs divide by it. */
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
    o = agent_reply_open(agent_of(rq));
    json_kint(&o, "cols", cols);
    json_kint(&o, "rows", rows);
    agent_send(rq, 200, &o);
}

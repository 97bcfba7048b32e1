/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_process.c - every call that concerns one process, but logs and terminal. Layer: dialects.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/collect_call.h"
#include "dialects/common/end_call.h"
#include "dialects/common/process_json.h"
#include "dialects/common/request_checks.h"
#include "dialects/common/start_call.h"
#include "dialects/sandbox-agent/agent.h"

#define STOP_WAIT_MS 2000
#define KILL_WAIT_MS 1000

/* --- the object ------------------------------------------------------------------ */

static bool is_interactive(const struct process_view *v)
{
    json_auto_t *meta = json_loads(v->metadata_json, 0, NULL);

    return json_is_true(json_object_get(meta, "interactive"));
}

static const char *owner_of(struct process *p)
{
    struct process_view v;

    process_view(p, &v);
    return v.source == SOURCE_SYSTEM ? "system" : "user";
}

/* The members of the object. Unknown ones are absent, not null. */
static void write_info(struct json_out *o, struct process *p)
{
    struct process_view v;

    process_view(p, &v);
    json_kstr(o, "id", v.id);
    json_kstr(o, "command", v.command);
    process_json_args(o, "args", &v);
    json_kstr(o, "cwd", v.cwd);
    json_kbool(o, "tty", v.pty);
    json_kbool(o, "interactive", is_interactive(&v));
    json_kstr(o, "owner", owner_of(p));
    json_kstr(o, "status", v.running ? "running" : "exited");
    if (v.running)
        json_kint(o, "pid", v.pid);
    else if (v.exit->code >= 0)
        json_kint(o, "exitCode", v.exit->code);
    json_kint(o, "createdAtMs", v.created_ms);
    if (!v.running)
        json_kint(o, "exitedAtMs", v.exited_ms);
}

static void reply_info(struct http_request *rq, struct process *p)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    write_info(&o, p);
    dialect_reply_send(rq, 200, &o);
}

/* --- create and run -------------------------------------------------------------------------- */

/* Pending starts count, or many simultaneous requests would all find room. */
static bool has_room(struct agent *a)
{
    struct engine_stats stats;
    size_t count;

    engine_stats(a->base.engine, &stats);
    count = stats.running + stats.starting;
    return count < a->runs || count - a->runs < (size_t)a->config.max_concurrent;
}

void agent_create(struct http_request *rq)
{
    json_auto_t *body = dialect_body(rq);
    struct agent *a = agent_of(rq);
    struct hf_error err = {0};
    struct agent_request request;

    if (body == NULL)
        return;
    if (agent_decode_create(&request, body, &err) < 0)
        http_reply_error(rq, &err);
    else if (has_room(a))
        start_call_reply(rq, &request.body.spec, reply_info);
    else
        agent_conflict(rq, "max concurrent process limit reached");
    agent_request_fini(&request);
}

struct agent_run {
    struct collect_call call;
    struct agent *agent;
};

static void run_release(struct collect_call *r)
{
    list_entry(r, struct agent_run, call)->agent->runs--;
}

static void run_done(struct collect_call *r, struct http_request *rq, const struct collected *c)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));
    bool timed_out = c->exit->kind == EXIT_TIMED_OUT;

    if (timed_out)
        json_knull(&o, "exitCode");
    else
        agent_write_code(&o, c->exit);
    json_kbool(&o, "timedOut", timed_out);
    json_key(&o, "stdout");
    json_strn(&o, buf_data(c->out), c->out->len);
    json_key(&o, "stderr");
    json_strn(&o, buf_data(c->err), c->err->len);
    json_kbool(&o, "stdoutTruncated", c->out_total > c->out->len);
    json_kbool(&o, "stderrTruncated", c->err_total > c->err->len);
    json_ku64(&o, "durationMs", clock_mono_ms() - r->began_ms);
    dialect_reply_send(rq, 200, &o);
    process_forget(c->process); /* no client knows its id */
}

static const struct collect_call_ops run_ops = {.done = run_done, .release = run_release};

static void run_begin(struct http_request *rq, struct spawn_spec *spec, int64_t max)
{
    struct agent_run *r = hf_xalloc(sizeof *r);

    r->agent = agent_of(rq);
    r->agent->runs++;
    collect_call_begin(&r->call, &run_ops, rq, spec, (size_t)max);
}

void agent_run(struct http_request *rq)
{
    json_auto_t *body = dialect_body(rq);
    struct hf_error err = {0};
    struct agent_request request;

    if (body == NULL)
        return;
    if (agent_decode_run(&request, body, &agent_of(rq)->config, &err) < 0)
        http_reply_error(rq, &err);
    else
        run_begin(rq, &request.body.spec, request.max_output);
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

void agent_list(struct http_request *rq)
{
    static const char *const owners[] = {"user", "desktop", "system"};
    struct agent *a = agent_of(rq);
    int owner = check_query_choice(rq, "owner", owners, 3, 3); /* 3: all */
    struct process **all;
    struct json_out o;
    size_t n;

    if (owner < 0)
        return;
    all = sorted(a->base.engine, &n);
    o = dialect_reply_open(&a->base);
    json_key(&o, "processes");
    json_open(&o, '[');
    for (size_t i = 0; i < n; i++) {
        if (owner < 3 && strcmp(owner_of(all[i]), owners[owner]) != 0)
            continue;
        json_open(&o, '{');
        write_info(&o, all[i]);
        json_close(&o, '}');
    }
    json_close(&o, ']');
    dialect_reply_send(rq, 200, &o);
    free(all);
}

void agent_get(struct http_request *rq)
{
    struct process *p = dialect_process(rq, "id");

    if (p != NULL)
        reply_info(rq, p);
}

void agent_delete(struct http_request *rq)
{
    struct process *p = dialect_process(rq, "id");

    if (p == NULL)
        return;
    if (process_is_running(p)) {
        dialect_fail(rq, HF_E_tag_in_use,
                     "process is still running; stop or kill it before delete");
        return;
    }
    process_forget(p);
    http_reply_empty(rq, 204);
}

/* --- resize, input, stop, kill --------------------------------------------------------------- */

void agent_resize(struct http_request *rq)
{
    struct process *p = dialect_process(rq, "id");
    json_auto_t *body = p == NULL ? NULL : dialect_body(rq);
    struct hf_error err = {0};
    int64_t rows, cols;
    struct json_out o;

    if (body == NULL)
        return;
    if (agent_decode_size(body, &rows, &cols, &err) < 0 ||
        process_resize_given(p, &rows, &cols, &err) < 0) {
        http_reply_error(rq, &err);
        return;
    }
    o = dialect_reply_open(dialect_base_of(rq));
    json_kint(&o, "cols", cols);
    json_kint(&o, "rows", rows);
    dialect_reply_send(rq, 200, &o);
}

static void input_done(struct http_request *rq, size_t taken, const struct hf_error *err)
{
    struct json_out o;

    if (err != NULL) {
        http_reply_error(rq, err);
        return;
    }
    o = dialect_reply_open(dialect_base_of(rq));
    json_ku64(&o, "bytesWritten", taken);
    dialect_reply_send(rq, 200, &o);
}

void agent_input(struct http_request *rq)
{
    struct process *p = dialect_process(rq, "id");
    json_auto_t *body = p == NULL ? NULL : dialect_body(rq);
    struct hf_error err = {0};
    struct buf bytes = {0};

    if (body == NULL)
        return;
    if (agent_decode_input(body, agent_of(rq)->config.max_input, &bytes, &err) < 0)
        http_reply_error(rq, &err);
    else if (!process_is_running(p))
        dialect_fail(rq, HF_E_not_running, "process is not running");
    else
        input_call_take(&dialect_base_of(rq)->typing, rq, p, &bytes, false, input_done);
    buf_fini(&bytes);
}

static void signal_tree(struct http_request *rq, int signum, int64_t wait_ms)
{
    struct process *p = dialect_process(rq, "id");

    if (p != NULL && dialect_query_number(rq, "waitMs", 0, LIMIT_DURATION_MS, &wait_ms))
        end_call_signal(rq, p, signum, (uint64_t)wait_ms, reply_info);
}

void agent_stop(struct http_request *rq)
{
    signal_tree(rq, SIGTERM, STOP_WAIT_MS);
}

void agent_kill(struct http_request *rq)
{
    signal_tree(rq, SIGKILL, KILL_WAIT_MS);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.c - errors, settings, and every call but logs, terminal and files. Layer: dialects.
 */
#include "dialects/sandbox-agent/agent.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/collect_call.h"
#include "dialects/common/end_call.h"
#include "dialects/common/error_row.h"
#include "dialects/common/input_call.h"
#include "dialects/common/process_json.h"
#include "dialects/common/request_checks.h"
#include "dialects/common/start_call.h"

#define STOP_WAIT_MS 2000
#define KILL_WAIT_MS 1000
#define CONFIG_NOTE "sandbox-agent.config"

/* --- errors ------------------------------------------------------------------ */

#define CONFLICT "conflict", "Conflict", "conflict: ", NULL
#define INVALID "invalid_request", "Invalid Request", "invalid request: ", NULL
#define STREAM_ERROR "stream error: "
#define NOT_STARTED "stream_error", "Stream Error", STREAM_ERROR "failed to spawn process: ", NULL

static const struct error_row errors[] = {
    {HF_E_unauthorized, 0, "token_invalid", "Token Invalid", NULL, "token invalid"},
    {HF_E_not_found, 0, "invalid_request", "Not Found", NULL, "endpoint not found"},
    {HF_E_no_such_process, 0, "not_found", "Not Found", "not found: process ", NULL},
    {HF_E_spawn_failed, 502, NOT_STARTED},
    {HF_E_user_unknown, 502, NOT_STARTED},
    {HF_E_no_pty, 502, NOT_STARTED},
    {HF_E_no_such_file, 400, INVALID},
    {HF_E_file_exists, 400, INVALID},
    {HF_E_not_a_directory, 400, INVALID},
    {HF_E_not_a_file, 400, INVALID},
    {HF_E_file_failed, 502, "stream_error", "Stream Error", STREAM_ERROR, NULL},
    {HF_E_too_many_processes, 409, CONFLICT},
    {HF_E_journal_memory_full, 409, CONFLICT},
    {HF_E_bad_type, 422, INVALID},
    {HF_E_missing_field, 422, INVALID},
    {HF_OK, 404, "invalid_request", "Not Found", NULL, NULL},
    {HF_OK, 409, CONFLICT},
    {HF_OK, 413, "invalid_request", "Payload Too Large", "invalid request: ", NULL},
    {HF_OK, 4, INVALID},
    {HF_OK, 5, "stream_error", NULL, NULL, NULL},
};

static void agent_error(struct http_request *rq, const struct hf_error *err)
{
    const struct error_row row = ERROR_ROW(errors, err->code);
    const char *id = err->code == HF_E_no_such_process ? http_param(rq, "id") : NULL;
    const char *text = row.text != NULL ? row.text : id != NULL ? id : err->detail;
    const char *message = row.status == 401 ? "missing or invalid bearer token" : text;
    bool spawn = row.status == 502;
    struct json_out o = dialect_reply_open(dialect_base_of(rq));
    char type[64], detail[sizeof err->detail + 64];

    snprintf(type, sizeof type, "urn:sandbox-agent:error:%s", row.word);
    snprintf(detail, sizeof detail, "%s%.*s", row.prefix, (int)sizeof err->detail, text);
    json_kstr(&o, "type", type);
    json_kstr(&o, "title", row.title);
    json_kint(&o, "status", row.status);
    json_kstr(&o, "detail", detail);
    if (id != NULL || row.status == 401 || row.status == 409 || spawn) {
        json_kopen(&o, "details", '{');
        json_kstr(&o, id != NULL ? "id" : "message",
                  spawn ? detail + strlen(STREAM_ERROR) : message);
        if (id != NULL)
            json_kstr(&o, "resource", "process");
        json_close(&o, '}');
    }
    json_close(&o, '}');
    http_reply(rq, row.status, "application/problem+json", buf_data(o.buf), o.buf->len);
}

json_t *agent_body(struct http_request *rq)
{
    if (dialect_is_json(rq))
        return dialect_body(rq);
    dialect_fail(rq, HF_E_unsupported_media_type,
                 "expected request with `Content-Type: application/json`");
    return NULL;
}

/* --- settings: limits that a client may set, kept for the next worker ------------------------ */

static void config_get(struct http_request *rq)
{
    dialect_reply_json(rq, 200, agent_config_json(&agent_of(rq)->config));
}

/* Without room for the note, only this worker has them. */
static void config_set(struct http_request *rq)
{
    json_auto_t *body = agent_body(rq), *kept = NULL;
    struct agent_config c = {0};
    struct hf_error err = {0};

    if (body == NULL || dialect_failed(rq, agent_decode_config(&c, body, &err), &err))
        return;
    agent_of(rq)->config = c;
    kept = agent_config_json(&c);
    (void)dialect_note_set(dialect_base_of(rq)->engine, CONFIG_NOTE, kept);
    config_get(rq);
}

static void agent_init(struct dialect_base *b)
{
    struct agent *a = list_entry(b, struct agent, base);
    json_auto_t *kept = dialect_note(b->engine, CONFIG_NOTE);
    struct agent_config c = {64, 30000, 300000, 1 << 20, 10 << 20, 1 << 16};

    a->config = c;
    if (kept != NULL && agent_decode_config(&c, kept, NULL) == 0)
        a->config = c;
}

static void health(struct http_request *rq)
{
    dialect_reply_json(rq, 200, json_pack("{s:s}", "status", "ok"));
}

/* --- processes ------------------------------------------------------------------------------- */

static const char *owner_of(const struct process_view *v)
{
    return v->source == SOURCE_SYSTEM ? "system" : "user";
}

/* The members of the object. Unknown ones are absent, not null. */
static void write_info(struct json_out *o, const struct process_view *v)
{
    json_auto_t *meta = json_loads(v->metadata_json, 0, NULL);

    json_kstr(o, "id", v->id);
    json_kstr(o, "command", v->command);
    process_json_args(o, "args", v);
    json_kstr(o, "cwd", v->cwd);
    json_kbool(o, "tty", v->pty);
    json_kbool(o, "interactive", json_is_true(json_object_get(meta, "interactive")));
    json_kstr(o, "owner", owner_of(v));
    json_kstr(o, "status", v->running ? "running" : "exited");
    if (v->running)
        json_kint(o, "pid", v->pid);
    else if (v->exit->code >= 0)
        json_kint(o, "exitCode", v->exit->code);
    json_kint(o, "createdAtMs", v->created_ms);
    if (!v->running)
        json_kint(o, "exitedAtMs", v->exited_ms);
}

static void reply_info(struct http_request *rq, struct process *p)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));
    struct process_view v;

    process_view(p, &v);
    write_info(&o, &v);
    dialect_reply_send(rq, 200, &o);
}

static void agent_list(struct http_request *rq)
{
    static const char *const owners[] = {"user", "desktop", "system"};
    struct dialect_base *b = dialect_base_of(rq);
    int owner = check_query_choice(rq, "owner", owners, 3, 3); /* 3: all */
    struct process *p = NULL;
    struct process_view v;
    struct json_out o;

    if (owner < 0)
        return;
    o = dialect_reply_open(b);
    json_kopen(&o, "processes", '[');
    while ((p = engine_next_oldest(b->engine, p)) != NULL) {
        process_view(p, &v);
        if (owner < 3 && strcmp(owner_of(&v), owners[owner]) != 0)
            continue;
        json_open(&o, '{');
        write_info(&o, &v);
        json_close(&o, '}');
    }
    json_close(&o, ']');
    dialect_reply_send(rq, 200, &o);
}

static void agent_get(struct http_request *rq)
{
    struct process *p = dialect_process(rq, "id");

    if (p != NULL)
        reply_info(rq, p);
}

/* Pending starts count, or many simultaneous requests would all find room. Runs do not count. */
static bool has_room(struct agent *a)
{
    struct engine_stats stats;

    engine_stats(a->base.engine, &stats);
    return stats.running + stats.starting < a->base.collecting + (size_t)a->config.max_concurrent;
}

static void agent_create(struct http_request *rq)
{
    json_auto_t *body = agent_body(rq);
    struct agent_request request;
    struct hf_error err = {0};

    if (body == NULL)
        return;
    if (agent_decode_create(&request, body, &err) < 0)
        http_reply_error(rq, &err);
    else if (has_room(agent_of(rq)))
        start_call_reply(rq, &request.body.spec, reply_info);
    else
        dialect_fail(rq, HF_E_too_many_processes, "max concurrent process limit reached");
    spec_body_fini(&request.body);
}

static void run_done(struct collect_call *r, struct http_request *rq, const struct collected *c)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));
    bool timed_out = c->exit->kind == EXIT_TIMED_OUT;

    process_json_code(&o, "exitCode", timed_out ? -1 : c->exit->code);
    json_kbool(&o, "timedOut", timed_out);
    json_kstrn(&o, "stdout", buf_data(c->out), c->out->len);
    json_kstrn(&o, "stderr", buf_data(c->err), c->err->len);
    json_kbool(&o, "stdoutTruncated", c->out_total > c->out->len);
    json_kbool(&o, "stderrTruncated", c->err_total > c->err->len);
    json_ku64(&o, "durationMs", clock_mono_ms() - r->began_ms);
    dialect_reply_send(rq, 200, &o);
    process_forget(c->process); /* no client knows its id */
}

static void agent_run(struct http_request *rq)
{
    static const struct collect_call_ops ops = {.done = run_done};
    json_auto_t *body = agent_body(rq);
    struct agent_request request;
    struct hf_error err = {0};

    if (body == NULL)
        return;
    if (!dialect_failed(rq, agent_decode_run(&request, body, &agent_of(rq)->config, &err), &err))
        collect_call_begin(hf_xalloc(sizeof(struct collect_call)), &ops, rq, &request.body.spec,
                           (size_t)request.max_output);
    spec_body_fini(&request.body);
}

static void agent_delete(struct http_request *rq)
{
    struct process *p = dialect_process(rq, "id");

    if (p != NULL && process_is_running(p)) {
        dialect_fail(rq, HF_E_tag_in_use,
                     "process is still running; stop or kill it before delete");
    } else if (p != NULL) {
        process_forget(p);
        http_reply_empty(rq, 204);
    }
}

static void agent_resize(struct http_request *rq)
{
    struct process *p = dialect_process(rq, "id");
    json_auto_t *body = p == NULL ? NULL : agent_body(rq);
    struct hf_error err = {0};
    int64_t rows, cols;

    if (body == NULL || dialect_failed(rq, agent_decode_size(body, &rows, &cols, &err), &err) ||
        dialect_failed(rq, process_resize_given(p, &rows, &cols, &err), &err))
        return;
    dialect_reply_json(rq, 200, json_pack("{s:I, s:I}", "cols", cols, "rows", rows));
}

static void input_reply(struct http_request *rq, size_t accepted)
{
    dialect_reply_json(rq, 200, json_pack("{s:I}", "bytesWritten", (json_int_t)accepted));
}

static void agent_input(struct http_request *rq)
{
    struct process *p = dialect_process(rq, "id");
    json_auto_t *body = p == NULL ? NULL : agent_body(rq);
    int64_t max = agent_of(rq)->config.max_input;
    struct hf_error err = {0};
    struct buf bytes = {0};

    if (body == NULL)
        return;
    if (agent_decode_input(body, "base64", max, &bytes, &err) < 0)
        http_reply_error(rq, &err);
    else if (!process_is_running(p))
        dialect_fail(rq, HF_E_not_running, "process is not running");
    else
        input_call_reply(rq, p, &bytes, input_reply);
    buf_fini(&bytes);
}

static void signal_tree(struct http_request *rq, int signum, int64_t wait_ms)
{
    struct process *p = dialect_process(rq, "id");

    if (p != NULL && dialect_query_number(rq, "waitMs", 0, LIMIT_DURATION_MS, &wait_ms))
        end_call_signal(rq, p, signum, (uint64_t)wait_ms, reply_info);
}

static void agent_stop(struct http_request *rq)
{
    signal_tree(rq, SIGTERM, STOP_WAIT_MS);
}

static void agent_kill(struct http_request *rq)
{
    signal_tree(rq, SIGKILL, KILL_WAIT_MS);
}

/* --- routes --------------------------------------------------------------------------------- */

#define ONE "/v1/processes/{id}"
#define FS "/v1/fs/"
#define UPLOAD ROUTE_STREAM_BODY | ROUTE_ANY_QUERY, LIMIT_FILE_BYTES, NULL

static const struct route routes[] = {
    {HTTP_GET_M, "/v1/health", health, ROLE_WATCH, 0, 0, NULL},
    {HTTP_GET_M, "/v1/processes/config", config_get, ROLE_WATCH, 0, 0, NULL},
    {HTTP_POST_M, "/v1/processes/config", config_set, ROLE_OWN, 0, 0, NULL},
    {HTTP_POST_M, "/v1/processes/run", agent_run, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/v1/processes", agent_list, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, "/v1/processes", agent_create, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, ONE, agent_get, ROLE_WATCH, 0, 0, NULL},
    {HTTP_DELETE_M, ONE, agent_delete, ROLE_OWN, 0, 0, NULL},
    {HTTP_POST_M, ONE "/stop", agent_stop, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, ONE "/kill", agent_kill, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, ONE "/logs", agent_logs, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, ONE "/input", agent_input, ROLE_TYPE, 0, 0, NULL},
    {HTTP_POST_M, ONE "/terminal/resize", agent_resize, ROLE_TYPE, 0, 0, NULL},
    {HTTP_GET_M, ONE "/terminal/ws", agent_terminal, ROLE_WATCH, ROUTE_UPGRADE | ROUTE_ANY_QUERY, 0,
     NULL},

    {HTTP_GET_M, FS "entries", agent_fs_entries, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, FS "file", agent_fs_read, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_PUT_M, FS "file", agent_fs_write, ROLE_OWN, UPLOAD},
    {HTTP_DELETE_M, FS "entry", agent_fs_delete, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, FS "mkdir", agent_fs_mkdir, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, FS "move", agent_fs_move, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, FS "stat", agent_fs_stat, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, FS "upload-batch", agent_fs_upload, ROLE_OWN, UPLOAD},
};

const struct dialect sandbox_agent_dialect = {
    .name = "sandbox-agent",
    .port = 2468,
    .prefix = "/dialects/sandbox-agent",
    .groups = ROUTE_GROUPS(routes),
    /* A browser's WebSocket cannot send headers; other calls do not accept it in the query. */
    .ways = &(const struct auth_ways){.upgrade_query = "access_token"},
    .error = agent_error,
    .size = sizeof(struct agent),
    .init = agent_init,
};

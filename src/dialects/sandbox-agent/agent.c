/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.c - creation and teardown of the dialect, its routes, replies and errors. Layer: dialects.
 */
#include "dialects/sandbox-agent/agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"

#define PROBLEM_TYPE "application/problem+json"

/* --- errors ------------------------------------------------------------------ */

struct problem {
    int status;
    const char *code, *title;
};

static void problem_send(struct http_request *rq, const struct problem *p, const char *detail,
                         const char *key, const char *value)
{
    struct agent *a = agent_of(rq);
    struct json_out o = agent_reply_open(a);
    char type[64];

    snprintf(type, sizeof type, "urn:sandbox-agent:error:%s", p->code);
    json_kstr(&o, "type", type);
    json_kstr(&o, "title", p->title);
    json_kint(&o, "status", p->status);
    json_kstr(&o, "detail", detail);
    if (key != NULL) {
        json_key(&o, "details");
        json_open(&o, '{');
        json_kstr(&o, key, value);
        if (strcmp(key, "id") == 0)
            json_kstr(&o, "resource", "process");
        json_close(&o, '}');
    }
    json_close(&o, '}');
    http_reply(rq, p->status, PROBLEM_TYPE, buf_data(&a->scratch), a->scratch.len);
}

void agent_invalid(struct http_request *rq, int status, const char *detail)
{
    struct problem p = {status, "invalid_request",
                        status == 413   ? "Payload Too Large"
                        : status == 404 ? "Not Found"
                                        : "Invalid Request"};
    char text[400];

    snprintf(text, sizeof text, "%s%s", status == 404 ? "" : "invalid request: ", detail);
    problem_send(rq, &p, text, NULL, NULL);
}

void agent_conflict(struct http_request *rq, const char *message)
{
    static const struct problem p = {409, "conflict", "Conflict"};
    char text[400];

    snprintf(text, sizeof text, "conflict: %s", message);
    problem_send(rq, &p, text, "message", message);
}

static void unknown_process(struct http_request *rq)
{
    static const struct problem p = {404, "not_found", "Not Found"};
    const char *id = http_param(rq, "id");
    char text[200];

    snprintf(text, sizeof text, "not found: process %.100s", id != NULL ? id : "");
    problem_send(rq, &p, text, "id", id);
}

static void stream_error(struct http_request *rq, const struct hf_error *err)
{
    static const struct problem p = {502, "stream_error", "Stream Error"};
    char text[400];

    snprintf(text, sizeof text, "stream error: failed to spawn process: %.300s", err->detail);
    problem_send(rq, &p, text, NULL, NULL);
}

void agent_error(struct http_request *rq, const struct hf_error *err)
{
    static const struct problem token = {401, "token_invalid", "Token Invalid"};
    int status = hf_code_status(err->code);
    struct problem other = {status, "stream_error", hf_code_title(err->code)};

    switch (err->code) {
    case HF_E_unauthorized:
        problem_send(rq, &token, "token invalid", "message", "missing or invalid bearer token");
        return;
    case HF_E_no_such_process: unknown_process(rq); return;
    case HF_E_not_found: agent_invalid(rq, 404, "endpoint not found"); return;
    case HF_E_spawn_failed:
    case HF_E_user_unknown:
    case HF_E_no_pty: stream_error(rq, err); return;
    case HF_E_too_many_processes:
    case HF_E_journal_memory_full: agent_conflict(rq, err->detail); return;
    case HF_E_bad_type:
    case HF_E_missing_field: agent_invalid(rq, 422, err->detail); return;
    default: break;
    }
    if (status == 409)
        agent_conflict(rq, err->detail);
    else if (status < 500)
        agent_invalid(rq, status, err->detail);
    else
        problem_send(rq, &other, err->detail, NULL, NULL);
}

/* --- replies --------------------------------------------------------------------- */

struct json_out agent_reply_open(struct agent *a)
{
    struct json_out o;

    buf_clear(&a->scratch);
    json_out_init(&o, &a->scratch);
    json_open(&o, '{');
    return o;
}

void agent_send(struct http_request *rq, int status, struct json_out *o)
{
    json_close(o, '}');
    http_reply_json(rq, status, o->buf);
}

void agent_write_code(struct json_out *o, const struct exit_record *x)
{
    if (x->code >= 0)
        json_kint(o, "exitCode", x->code);
    else
        json_knull(o, "exitCode");
}

/* --- decoding requests ------------------------------------------------------------- */

json_t *agent_body(struct http_request *rq)
{
    struct hf_error err;
    size_t len;
    const char *text = http_body(rq, &len);
    json_t *body = json_parse(text, len, &err);

    if (body == NULL)
        agent_error(rq, &err);
    return body;
}

struct process *agent_process(struct http_request *rq)
{
    struct process *p = engine_find(agent_of(rq)->engine, http_param(rq, "id"), NULL);

    if (p == NULL)
        unknown_process(rq);
    return p;
}

bool agent_number(struct http_request *rq, const char *name, int64_t max, int64_t *out)
{
    const char *text = http_query(rq, name);
    char detail[100];

    if (text == NULL || text_to_i64(text, 0, max, out))
        return true;
    snprintf(detail, sizeof detail, "query parameter %s must be a number", name);
    agent_invalid(rq, 400, detail);
    return false;
}

static void health(struct http_request *rq)
{
    struct json_out o = agent_reply_open(agent_of(rq));

    json_kstr(&o, "status", "ok");
    agent_send(rq, 200, &o);
}

/* --- routes --------------------------------------------------------------------------------- */

static const struct route routes[] = {
    {HTTP_GET_M, "/v1/health", health, ROLE_WATCH, 0, 0, NULL},
    {HTTP_GET_M, "/v1/processes/config", agent_config_get, ROLE_WATCH, 0, 0, NULL},
    {HTTP_POST_M, "/v1/processes/config", agent_config_set, ROLE_OWN, 0, 0, NULL},
    {HTTP_POST_M, "/v1/processes/run", agent_run, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/v1/processes", agent_list, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, "/v1/processes", agent_create, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/v1/processes/{id}", agent_get, ROLE_WATCH, 0, 0, NULL},
    {HTTP_DELETE_M, "/v1/processes/{id}", agent_delete, ROLE_OWN, 0, 0, NULL},
    {HTTP_POST_M, "/v1/processes/{id}/stop", agent_stop, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, "/v1/processes/{id}/kill", agent_kill, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, "/v1/processes/{id}/logs", agent_logs, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, "/v1/processes/{id}/input", agent_input, ROLE_TYPE, 0, 0, NULL},
    {HTTP_POST_M, "/v1/processes/{id}/terminal/resize", agent_resize, ROLE_TYPE, 0, 0, NULL},
    {HTTP_GET_M, "/v1/processes/{id}/terminal/ws", agent_terminal, ROLE_WATCH,
     ROUTE_UPGRADE | ROUTE_ANY_QUERY, 0, NULL},
};

/* A browser's WebSocket cannot send headers; other calls do not accept the token in the query. */
static const struct auth_ways ways = {.upgrade_query = "access_token"};

static void *agent_make(const struct dialect_host *host)
{
    struct agent *a = hf_xalloc(sizeof *a);

    a->engine = host->engine;
    a->loop = host->loop;
    a->config = (struct agent_config){64, 30000, 300000, 1 << 20, 10 << 20, 1 << 16};
    agent_config_recall(a);
    list_init(&a->pending);
    input_call_queue_init(&a->typing, &a->pending);
    a->table = (struct route_table){
        .prefix = "/dialects/sandbox-agent",
        .routes = routes,
        .count = sizeof routes / sizeof *routes,
        .error = agent_error,
        .context = a,
        .ways = &ways,
    };
    return a;
}

static const struct route_table *agent_routes(void *self)
{
    return &((struct agent *)self)->table;
}

static void agent_drain(void *self)
{
    pending_drain(&((struct agent *)self)->pending);
}

static void agent_free(void *self)
{
    struct agent *a = self;

    pending_free(&a->pending);
    buf_fini(&a->scratch);
    free(a);
}

static const struct route_group groups[] = {
    {"", routes, sizeof routes / sizeof *routes},
    {NULL, NULL, 0},
};

const struct dialect sandbox_agent_dialect = {
    .name = "sandbox-agent",
    .port = 2468,
    .prefix = "/dialects/sandbox-agent",
    .groups = groups,
    .ways = &ways,
    .make = agent_make,
    .routes = agent_routes,
    .drain = agent_drain,
    .free = agent_free,
};

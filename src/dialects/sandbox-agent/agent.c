/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.c - routes, errors and settings of the dialect. Layer: dialects.
 */
#include "dialects/sandbox-agent/agent.h"

#include <stdio.h>
#include <string.h>

#include "engine/notes.h"

#define CONFIG_NOTE "sandbox-agent.config"
#define PROBLEM_TYPE "application/problem+json"

/* --- errors ------------------------------------------------------------------ */

struct problem {
    int status;
    const char *code, *title, *prefix;
};

/* `key` and `value`: its details; NULL: none. */
static void problem_send(struct http_request *rq, const struct problem *p, const char *message,
                         const char *key, const char *value)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));
    char type[64], detail[sizeof((struct hf_error *)NULL)->detail + 64];

    snprintf(type, sizeof type, "urn:sandbox-agent:error:%s", p->code);
    snprintf(detail, sizeof detail, "%s%s", p->prefix, message);
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
    http_reply(rq, p->status, PROBLEM_TYPE, buf_data(o.buf), o.buf->len);
}

void agent_conflict(struct http_request *rq, const char *message)
{
    static const struct problem p = {409, "conflict", "Conflict", "conflict: "};

    problem_send(rq, &p, message, "message", message);
}

static void unknown_process(struct http_request *rq)
{
    static const struct problem p = {404, "not_found", "Not Found", "not found: process "};
    const char *id = http_param(rq, "id");
    char text[101];

    snprintf(text, sizeof text, "%s", id != NULL ? id : "");
    problem_send(rq, &p, text, "id", id);
}

static void other_problem(struct http_request *rq, int status, const struct hf_error *err)
{
    struct problem wrong = {status, "invalid_request",
                            status == 413   ? "Payload Too Large"
                            : status == 404 ? "Not Found"
                                            : "Invalid Request",
                            status == 404 ? "" : "invalid request: "};
    struct problem ours = {status, "stream_error", hf_code_title(err->code), ""};

    problem_send(rq, status < 500 ? &wrong : &ours, err->detail, NULL, NULL);
}

static void agent_error(struct http_request *rq, const struct hf_error *err)
{
    static const struct problem token = {401, "token_invalid", "Token Invalid", ""},
                                endpoint = {404, "invalid_request", "Not Found", ""},
                                spawn = {502, "stream_error", "Stream Error",
                                         "stream error: failed to spawn process: "};
    int status = hf_code_status(err->code);
    char reason[301];

    switch (err->code) {
    case HF_E_unauthorized:
        problem_send(rq, &token, "token invalid", "message", "missing or invalid bearer token");
        break;
    case HF_E_no_such_process: unknown_process(rq); break;
    case HF_E_not_found: problem_send(rq, &endpoint, "endpoint not found", NULL, NULL); break;
    case HF_E_spawn_failed:
    case HF_E_user_unknown:
    case HF_E_no_pty:
        snprintf(reason, sizeof reason, "%.300s", err->detail);
        problem_send(rq, &spawn, reason, NULL, NULL);
        break;
    case HF_E_too_many_processes:
    case HF_E_journal_memory_full: agent_conflict(rq, err->detail); break;
    case HF_E_bad_type:
    case HF_E_missing_field: other_problem(rq, 422, err); break;
    default:
        if (status == 409)
            agent_conflict(rq, err->detail);
        else
            other_problem(rq, status, err);
    }
}

/* --- settings: limits that a client may set, kept for the next worker ------------------------ */

static struct json_out config_write(struct agent *a)
{
    struct json_out o = dialect_reply_open(&a->base);

    for (size_t i = 0; i < AGENT_CONFIG_FIELDS; i++)
        json_kint(&o, agent_config_fields[i].name, *agent_config_at(&a->config, i));
    return o;
}

static void config_get(struct http_request *rq)
{
    struct json_out o = config_write(agent_of(rq));

    dialect_reply_send(rq, 200, &o);
}

/* Without room for the note, only this worker has them. */
static void config_set(struct http_request *rq)
{
    json_auto_t *body = dialect_body(rq);
    struct agent *a = agent_of(rq);
    struct agent_config c = {0};
    struct hf_error err = {0};
    struct json_out o;

    if (body == NULL)
        return;
    if (agent_decode_config(&c, body, &err) < 0) {
        http_reply_error(rq, &err);
        return;
    }
    a->config = c;
    o = config_write(a);
    json_close(&o, '}');
    (void)engine_note_set(a->base.engine, CONFIG_NOTE, buf_data(o.buf), o.buf->len);
    http_reply_json(rq, 200, o.buf);
}

static void agent_init(struct dialect_base *b)
{
    struct agent *a = list_entry(b, struct agent, base);
    size_t len = 0;
    const char *text = engine_note(b->engine, CONFIG_NOTE, &len);
    json_auto_t *kept = text != NULL ? json_parse(text, len, NULL) : NULL;
    struct agent_config c = {0};

    a->config = (struct agent_config){64, 30000, 300000, 1 << 20, 10 << 20, 1 << 16};
    if (kept != NULL && agent_decode_config(&c, kept, NULL) == 0)
        a->config = c;
}

static void health(struct http_request *rq)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "status", "ok");
    dialect_reply_send(rq, 200, &o);
}

/* --- routes --------------------------------------------------------------------------------- */

static const struct route routes[] = {
    {HTTP_GET_M, "/v1/health", health, ROLE_WATCH, 0, 0, NULL},
    {HTTP_GET_M, "/v1/processes/config", config_get, ROLE_WATCH, 0, 0, NULL},
    {HTTP_POST_M, "/v1/processes/config", config_set, ROLE_OWN, 0, 0, NULL},
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
    .error = agent_error,
    .size = sizeof(struct agent),
    .init = agent_init,
};

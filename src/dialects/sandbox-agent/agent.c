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
    const char *code, *title;
};

static void problem_send(struct http_request *rq, const struct problem *p, const char *detail,
                         const char *key, const char *value)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));
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
    http_reply(rq, p->status, PROBLEM_TYPE, buf_data(o.buf), o.buf->len);
}

static void invalid(struct http_request *rq, int status, const char *detail)
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

static void agent_error(struct http_request *rq, const struct hf_error *err)
{
    static const struct problem token = {401, "token_invalid", "Token Invalid"};
    int status = hf_code_status(err->code);
    struct problem other = {status, "stream_error", hf_code_title(err->code)};

    switch (err->code) {
    case HF_E_unauthorized:
        problem_send(rq, &token, "token invalid", "message", "missing or invalid bearer token");
        return;
    case HF_E_no_such_process: unknown_process(rq); return;
    case HF_E_not_found: invalid(rq, 404, "endpoint not found"); return;
    case HF_E_spawn_failed:
    case HF_E_user_unknown:
    case HF_E_no_pty: stream_error(rq, err); return;
    case HF_E_too_many_processes:
    case HF_E_journal_memory_full: agent_conflict(rq, err->detail); return;
    case HF_E_bad_type:
    case HF_E_missing_field: invalid(rq, 422, err->detail); return;
    default: break;
    }
    if (status == 409)
        agent_conflict(rq, err->detail);
    else if (status < 500)
        invalid(rq, status, err->detail);
    else
        problem_send(rq, &other, err->detail, NULL, NULL);
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

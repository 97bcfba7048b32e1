/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf.c - setup and teardown of the dialect, its routes and its errors. Layer: dialects.
 */
#include "dialects/cloudflare/cf.h"

#include <stdio.h>
#include <string.h>

#include "base/braces.h"
#include "base/clock.h"
#include "base/limits.h"
#include "dialects/cloudflare/cf_bridge.h"
#include "dialects/cloudflare/cf_request.h"
#include "dialects/cloudflare/cloudflare_limits.h"

#define PREFIX "/dialects/cloudflare"

struct process *cf_find(struct cf *cf, const char *id)
{
    struct process *p = engine_find(cf->base.engine, id, NULL);
    char tag[LIMIT_TAG_BYTES + 8];

    if (p != NULL || strlen(id) > LIMIT_TAG_BYTES)
        return p;
    snprintf(tag, sizeof tag, "tag:%s", id);
    return engine_find(cf->base.engine, tag, NULL);
}

/* --- errors ----------------------------------------------------------------------------------- */

void cf_refuse_text(struct http_request *rq, int status, const char *text)
{
    http_reply(rq, status, "text/plain; charset=utf-8", text, strlen(text));
}

static void api_error(struct http_request *rq, const struct hf_error *err)
{
    int status = hf_code_status(err->code);
    bool unknown = err->code == HF_E_not_found;
    const char *code = unknown || status == 405 ? "UNKNOWN_ERROR"
                       : status == 401          ? "UNAUTHORIZED"
                       : status == 403          ? "PERMISSION_DENIED"
                       : status < 500           ? "VALIDATION_FAILED"
                                                : "INTERNAL_ERROR";
    struct json_out o =
        cf_failure(dialect_base_of(rq), status, code,
                   unknown ? "The requested endpoint was not found" : err->detail, NULL, NULL);

    json_ktime(&o, "timestamp", clock_wall_ms());
    dialect_reply_send(rq, status, &o);
}

/*
 * Replies with err in the shape of the API that the request addressed: JSON of the routes, JSON of
 * the bridge, or text.
 */
static void cf_error_reply(struct http_request *rq, const struct hf_error *err)
{
    const char *path = http_path(rq);

    if (strncmp(path, PREFIX, strlen(PREFIX)) == 0)
        path += strlen(PREFIX);
    if (strncmp(path, "/v1/", 4) == 0)
        bridge_fail(rq, err);
    else if (strncmp(path, "/ws", 3) == 0)
        cf_refuse_text(rq, hf_code_status(err->code), err->detail);
    else
        api_error(rq, err);
}

/* --- routes ----------------------------------------------------------------------------------- */

static void greet(struct http_request *rq)
{
    cf_refuse_text(rq, 200, "this is holdfast, serving the Cloudflare Sandbox protocol\n");
}

static void health(struct http_request *rq)
{
    http_reply(rq, 200, "application/json", "{\"ok\":true}", 11);
}

#define ALL_METHODS (HTTP_GET_M | HTTP_POST_M | HTTP_PUT_M | HTTP_DELETE_M)
#define SOCKET (ROUTE_UPGRADE | ROUTE_ANY_QUERY)

#define BOX "/v1/sandbox"
#define FILE_BODY (ROUTE_PREFIX | ROUTE_ANY_QUERY | ROUTE_STREAM_BODY)
#define R(method, path, handler, role, flags) BRACES(method, path, handler, role, flags, 0, NULL)
#define BOX_ROUTE(method, path, handler, role) R(method, BOX path, handler, role, ROUTE_ANY_QUERY)

/* The first row is for the server only: the same call is in cf_api_rows. */
static const struct route routes[] = {
    {HTTP_POST_M, "/api/write", cf_api_write, ROLE_OWN, ROUTE_ANY_QUERY, LIMIT_CF_WRITE_BYTES,
     NULL},
    R(HTTP_GET_M, "/", greet, ROLE_WATCH, 0),
    R(HTTP_GET_M, "/health", health, ROLE_NONE, ROUTE_PUBLIC | ROUTE_PROBE),
    R(HTTP_GET_M, "/ws", cf_mux, ROLE_WATCH, SOCKET),
    R(HTTP_GET_M, "/api/ws", cf_mux, ROLE_WATCH, SOCKET),
    R(HTTP_GET_M, "/ws/pty", cf_pty, ROLE_WATCH, SOCKET),
    R(HTTP_GET_M, "/ws/terminal", cf_terminal, ROLE_WATCH, SOCKET),
    R(ALL_METHODS, "/api/", cf_api, ROLE_WATCH, ROUTE_PREFIX | ROUTE_ANY_QUERY),
    BOX_ROUTE(HTTP_POST_M, "", cf_bridge_create, ROLE_OWN),
    BOX_ROUTE(HTTP_DELETE_M, "/{id}", cf_bridge_delete, ROLE_OWN),
    BOX_ROUTE(HTTP_GET_M, "/{id}/running", cf_bridge_running, ROLE_WATCH),
    BOX_ROUTE(HTTP_POST_M, "/{id}/exec", cf_bridge_exec, ROLE_OWN),
    R(HTTP_GET_M, BOX "/{id}/pty", cf_bridge_pty, ROLE_WATCH, SOCKET),
    BOX_ROUTE(HTTP_POST_M, "/{id}/session", cf_bridge_session_create, ROLE_OWN),
    BOX_ROUTE(HTTP_DELETE_M, "/{id}/session/{session}", cf_bridge_session_delete, ROLE_OWN),
    R(HTTP_GET_M, BOX "/{id}/file/", cf_bridge_file_get, ROLE_OWN, ROUTE_PREFIX | ROUTE_ANY_QUERY),
    {HTTP_PUT_M, BOX "/{id}/file/", cf_bridge_file_put, ROLE_OWN, FILE_BODY, LIMIT_INPUT_BODY_BYTES,
     NULL},
};

/* The xterm addons cannot send headers. */
static const struct auth_ways ways = {.upgrade_query = "access_token token"};

static const struct route_group groups[] = {
    {"", routes + 1, sizeof routes / sizeof *routes - 1},
    {"/api", cf_api_rows, CF_API_ROWS},
    {NULL, NULL, 0},
};

/* The server needs only the plain routes: cf_dispatch() finds the rows behind "/api/". */
static void cf_init(struct dialect_base *b)
{
    struct cf *cf = (struct cf *)b;

    list_init(&cf->makings);
    list_init(&cf->starts);
    b->table.routes = routes;
    b->table.count = sizeof routes / sizeof *routes;
}

const struct dialect cloudflare_dialect = {
    .name = "cloudflare",
    .port = 3000,
    .prefix = PREFIX,
    .groups = groups,
    .ways = &ways,
    .error = cf_error_reply,
    .size = sizeof(struct cf),
    .init = cf_init,
};

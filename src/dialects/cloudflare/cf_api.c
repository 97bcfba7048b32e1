/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_api.c - the routing table of the route API, for HTTP and for the multiplex. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/cloudflare/cf_call_own.h"
#include "dialects/cloudflare/cf_exec.h"
#include "dialects/cloudflare/cf_session.h"

static void ping(struct cf_call *c)
{
    struct json_out o = cf_ok(c);

    json_kstr(&o, "status", "healthy");
    json_kstr(&o, "message", "pong");
    cf_send(c, 200, &o);
}

static void version(struct cf_call *c)
{
    struct json_out o = cf_ok(c);

    json_kstr(&o, "version", c->cf->base.host.version);
    cf_send(c, 200, &o);
}

/* Paths follow "/api". The handlers below are in the same order. */
const struct route cf_api_rows[CF_API_ROWS] = {
    {HTTP_GET_M, "/ping", NULL, ROLE_WATCH, 0, 0, NULL},
    {HTTP_GET_M, "/version", NULL, ROLE_WATCH, 0, 0, NULL},
    {HTTP_POST_M, "/session/create", NULL, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/session/list", NULL, ROLE_WATCH, 0, 0, NULL},
    {HTTP_POST_M, "/session/delete", NULL, ROLE_OWN, 0, 0, NULL},
    {HTTP_POST_M, "/execute", NULL, ROLE_OWN, 0, 0, NULL},
    {HTTP_POST_M, "/execute/stream", NULL, ROLE_OWN, 0, 0, NULL},
    {HTTP_POST_M, "/process/start", NULL, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/process/list", NULL, ROLE_WATCH, 0, 0, NULL},
    {HTTP_DELETE_M, "/process/kill-all", NULL, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/process/{id}", NULL, ROLE_WATCH, 0, 0, NULL},
    {HTTP_DELETE_M, "/process/{id}", NULL, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/process/{id}/logs", NULL, ROLE_WATCH, 0, 0, NULL},
    {HTTP_GET_M, "/process/{id}/stream", NULL, ROLE_WATCH, 0, 0, NULL},
    {HTTP_POST_M, "/terminal/create", NULL, ROLE_OWN, 0, 0, NULL},
    {HTTP_POST_M, "/port-watch", NULL, ROLE_WATCH, 0, 0, NULL},
};

static cf_handler *const handlers[] = {
    ping,           version,           cf_session_create, cf_session_list,   cf_session_delete,
    cf_execute,     cf_execute_stream, cf_process_start,  cf_process_list,   cf_process_kill_all,
    cf_process_get, cf_process_kill,   cf_process_logs,   cf_process_stream, cf_terminal_create,
    cf_port_watch,
};
_Static_assert(CF_API_ROWS == sizeof handlers / sizeof *handlers, "one handler for each route");

static const struct route_table table = {.prefix = "", .routes = cf_api_rows, .count = CF_API_ROWS};

unsigned cf_method(const char *name)
{
    static const struct {
        const char *name;
        unsigned method;
    } methods[] = {
        {"GET", HTTP_GET_M}, {"POST", HTTP_POST_M}, {"PUT", HTTP_PUT_M}, {"DELETE", HTTP_DELETE_M}};

    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(name, methods[i].name) == 0)
            return methods[i].method;
    return 0;
}

/* `raw` follows "/api" and may have a query. */
static bool find(struct cf_call *c, unsigned method, char *raw)
{
    const struct route_table *tables[] = {&table};
    char *query = strchr(raw, '?');
    struct hf_error err;

    if (query != NULL)
        *query++ = '\0';
    if (path_parse(&c->path, raw, &err) < 0 ||
        query_parse(&c->query, query != NULL ? query : "", &err) < 0) {
        cf_error(c, &err);
        return false;
    }
    router_find(tables, 1, true, raw, &c->path, method, &c->match);
    if (c->match.route != NULL)
        return true;
    if (c->match.allow != 0)
        cf_fail(c, 405, "UNKNOWN_ERROR", "The requested method is not allowed here");
    else
        cf_fail(c, 404, "UNKNOWN_ERROR", "The requested endpoint was not found");
    return false;
}

void cf_dispatch(struct cf_call *c, unsigned method, const char *raw_path)
{
    char *raw = hf_xstrdup(raw_path);
    const struct route *r;

    if (find(c, method, raw)) {
        r = c->match.route;
        if (c->role < r->role)
            cf_fail(c, 403, "PERMISSION_DENIED", "this token may not do that");
        else if (c->cf->base.draining)
            cf_fail(c, 503, "INTERNAL_ERROR", "the daemon is shutting down; try again");
        else
            handlers[r - cf_api_rows](c);
    }
    free(raw);
}

void cf_api(struct http_request *rq)
{
    cf_call_http(rq);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_api.c - the routes of the route API, by HTTP and through the multiplex. Layer: dialects.
 */
#include <string.h>

#include "base/mem.h"
#include "dialects/cloudflare/cf_request.h"
#include "dialects/cloudflare/cloudflare_limits.h"

static void ping(struct cf_request *q)
{
    struct json_out o = cf_ok(cf_call(q));

    json_kstr(&o, "status", "healthy");
    json_kstr(&o, "message", "pong");
    cf_send(q->call, 200, &o);
}

static void version(struct cf_request *q)
{
    struct json_out o = cf_ok(cf_call(q));

    json_kstr(&o, "version", q->cf->base.host.version);
    cf_send(q->call, 200, &o);
}

/* --- the table ------------------------------------------------------------------------------- */

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
    {HTTP_POST_M, "/read", NULL, ROLE_OWN, 0, 0, NULL},
    {HTTP_POST_M, "/read/stream", NULL, ROLE_OWN, 0, 0, NULL},
    {HTTP_POST_M, "/write", NULL, ROLE_OWN, 0, LIMIT_CF_WRITE_BYTES, NULL},
    {HTTP_POST_M, "/delete", NULL, ROLE_OWN, 0, 0, NULL},
    {HTTP_POST_M, "/rename", NULL, ROLE_OWN, 0, 0, NULL},
    {HTTP_POST_M, "/move", NULL, ROLE_OWN, 0, 0, NULL},
    {HTTP_POST_M, "/mkdir", NULL, ROLE_OWN, 0, 0, NULL},
    {HTTP_POST_M, "/list-files", NULL, ROLE_OWN, 0, 0, NULL},
    {HTTP_POST_M, "/exists", NULL, ROLE_OWN, 0, 0, NULL},
    {HTTP_POST_M, "/watch", NULL, ROLE_OWN, 0, 0, NULL},
};

static void (*const handlers[])(struct cf_request *q) = {
    ping,           version,           cf_session_create, cf_session_list,   cf_session_delete,
    cf_execute,     cf_execute_stream, cf_process_start,  cf_process_list,   cf_process_kill_all,
    cf_process_get, cf_process_kill,   cf_process_logs,   cf_process_stream, cf_terminal_create,
    cf_port_watch,  cf_file_read,      cf_file_stream,    cf_file_write,     cf_file_delete,
    cf_file_rename, cf_file_move,      cf_file_mkdir,     cf_file_list,      cf_file_exists,
    cf_watch_begin,
};
_Static_assert(CF_API_ROWS == CF_COUNT(handlers), "one handler for each route");

static const struct route_table table = {.prefix = "", .routes = cf_api_rows, .count = CF_API_ROWS};

/* `raw` follows "/api" and may have a query. */
static bool find(struct cf_request *q, unsigned method, char *raw)
{
    const struct route_table *tables[] = {&table};
    char *query = strchr(raw, '?');
    struct hf_error err;

    if (query != NULL)
        *query++ = '\0';
    if (path_parse(&q->path, raw, &err) < 0 ||
        query_parse(&q->query, query != NULL ? query : "", &err) < 0) {
        cf_error(cf_call(q), &err);
        return false;
    }
    router_find(tables, 1, true, raw, &q->path, method, &q->match);
    if (q->match.route != NULL)
        return true;
    if (q->match.allow != 0)
        cf_fail(cf_call(q), 405, "UNKNOWN_ERROR", "The requested method is not allowed here");
    else
        cf_fail(cf_call(q), 404, "UNKNOWN_ERROR", "The requested endpoint was not found");
    return false;
}

void cf_dispatch(struct cf_request *q, unsigned method, const char *raw_path)
{
    hf_autofree char *raw = hf_xstrdup(raw_path);

    if (find(q, method, raw)) {
        if (q->role < q->match.route->role)
            cf_fail(cf_call(q), 403, "PERMISSION_DENIED", "this token may not do that");
        else if (q->cf->base.draining)
            cf_fail(cf_call(q), 503, "INTERNAL_ERROR", "the daemon is shutting down; try again");
        else
            handlers[q->match.route - cf_api_rows](q);
    }
    path_fini(&q->path);
    query_fini(&q->query);
}

static void api_call(struct http_request *rq, const char *below)
{
    struct cf_request q = {
        .cf = cf_of(rq),
        .rq = rq,
        .role = http_role(rq),
        .session = http_header(rq, "X-Session-Id"),
    };
    struct buf path = {0};
    struct hf_error err;
    size_t len;
    const char *text = http_body(rq, &len);
    json_auto_t *body = len > 0 ? json_parse(text, len, &err) : NULL;

    if (len > 0 && body == NULL) {
        cf_fail(cf_call(&q), 400, "VALIDATION_FAILED", err.detail);
        return;
    }
    q.body = body;
    buf_printf(&path, "/%s?%s", below, http_query_raw(rq));
    cf_dispatch(&q, http_method(rq), buf_cstr(&path));
    buf_fini(&path);
}

void cf_api(struct http_request *rq)
{
    api_call(rq, http_param(rq, "*"));
}

void cf_api_write(struct http_request *rq)
{
    api_call(rq, "write");
}

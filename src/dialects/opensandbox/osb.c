/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb.c - creation and teardown of the dialect, and its routes
 *
 * Clients also reach execd through its own proxy and through that of the control plane; behind a
 * port mapping these are the only ways. Their paths lead to the same handlers: we strip the part
 * that would proxy a request to our own port. Layer: dialects.
 */
#include "dialects/opensandbox/osb.h"

#include "base/clock.h"
#include "base/limits.h"
#include "dialects/opensandbox/osb_terminal.h"

#define ALL_METHODS (HTTP_GET_M | HTTP_POST_M | HTTP_PUT_M | HTTP_PATCH_M | HTTP_DELETE_M)

static void ping(struct http_request *rq)
{
    http_reply_empty(rq, 200);
}

static void no_isolation(struct http_request *rq)
{
    struct json_out j = dialect_reply_open(dialect_base_of(rq));

    json_kbool(&j, "available", false);
    json_kbool(&j, "commit_supported", false);
    json_kbool(&j, "diff_supported", false);
    dialect_reply_send(rq, 200, &j);
}

static void not_supported(struct http_request *rq)
{
    osb_refuse(rq, 501, "NOT_SUPPORTED", "this call is not supported");
}

/* The worker may not open connections, so that an attacker who controls it cannot either. */
static void no_proxy(struct http_request *rq)
{
    osb_refuse(rq, 501, "NOT_SUPPORTED",
               "the daemon proxies only to itself (port 44772); other ports are reached "
               "directly, or through holdfast gateway");
}

/* Calls for files; also below /v1/filesystem/{uid}/{gid}, with the rights of that user. */
static const struct route files[] = {
    {HTTP_GET_M, "/files/info", osb_files_info, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, "/files/download", osb_files_download, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, "/files/upload", osb_files_upload, ROLE_OWN, ROUTE_ANY_QUERY | ROUTE_STREAM_BODY,
     LIMIT_FILE_BYTES, NULL},
    {HTTP_POST_M, "/files/mv", osb_files_move, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, "/files/permissions", osb_files_permissions, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, "/files/replace", osb_files_replace, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, "/files/search", osb_files_search, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_DELETE_M, "/files", osb_files_delete, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, "/directories/list", osb_directories_list, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, "/directories", osb_directories_post, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_DELETE_M, "/directories", osb_directories_delete, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
};
#define FILES (sizeof files / sizeof *files)

/* execd's routes; each is served below every prefix. */
static const struct route execd[] = {
    {HTTP_GET_M, "/ping", ping, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, "/command", osb_command_post, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, "/command", osb_command_get, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_DELETE_M, "/command", osb_command_delete, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, "/command/status/{id}", osb_command_status, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, "/command/{id}/logs", osb_command_logs, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, "/command/{id}/resume", osb_command_resume, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, "/session", osb_session_post, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, "/session/{id}/run", osb_session_run, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_DELETE_M, "/session/{id}", osb_session_delete, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, "/pty", osb_pty_post, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, "/pty/{id}", osb_pty_get, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_DELETE_M, "/pty/{id}", osb_pty_delete, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, "/pty/{id}/ws", osb_pty_ws, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, "/ws/session/{id}", osb_pty_ws, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, "/terminal", osb_terminal, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, "/metrics", osb_metrics, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, "/metrics/watch", osb_metrics_watch, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, "/v1/isolated/capabilities", no_isolation, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {ALL_METHODS, "/v1/isolated", not_supported, ROLE_WATCH, ROUTE_PREFIX | ROUTE_ANY_QUERY, 0,
     NULL},
    {ALL_METHODS, "/code", not_supported, ROLE_WATCH, ROUTE_PREFIX | ROUTE_ANY_QUERY, 0, NULL},
};
#define EXECD (sizeof execd / sizeof *execd)

/* The control plane's routes. */
static const struct route plane[] = {
    {HTTP_POST_M, "/v1/sandboxes", osb_sandbox_create, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, "/v1/sandboxes", osb_sandbox_list, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, "/v1/sandboxes/{sandbox}", osb_sandbox_get, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_DELETE_M, "/v1/sandboxes/{sandbox}", osb_sandbox_delete, ROLE_OWN, ROUTE_ANY_QUERY, 0,
     NULL},
    {HTTP_PATCH_M, "/v1/sandboxes/{sandbox}/metadata", osb_sandbox_patch, ROLE_OWN, ROUTE_ANY_QUERY,
     0, NULL},
    {HTTP_GET_M, "/v1/sandboxes/{sandbox}/endpoints/{port}", osb_sandbox_endpoint, ROLE_WATCH,
     ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, "/v1/metrics/events", osb_lifecycle_metrics, ROLE_WATCH, ROUTE_ANY_QUERY, 0,
     NULL},
    {ALL_METHODS, "/proxy/{port}", no_proxy, ROLE_WATCH, ROUTE_PREFIX | ROUTE_ANY_QUERY, 0, NULL},
    {ALL_METHODS, "/sandboxes/{sandbox}/proxy/{port}", no_proxy, ROLE_WATCH,
     ROUTE_PREFIX | ROUTE_ANY_QUERY, 0, NULL},
    {ALL_METHODS, "/v1/sandboxes/{sandbox}/proxy/{port}", no_proxy, ROLE_WATCH,
     ROUTE_PREFIX | ROUTE_ANY_QUERY, 0, NULL},
    {ALL_METHODS, "/v1/sandboxes/{sandbox}", not_supported, ROLE_WATCH,
     ROUTE_PREFIX | ROUTE_ANY_QUERY, 0, NULL},
};
#define PLANE (sizeof plane / sizeof *plane)

#define AS_USER "/v1/filesystem/{uid}/{gid}"

static const struct route_group groups[] = {
    {"", execd, EXECD},
    {"/proxy/44772", execd, EXECD},
    {"/sandboxes/{sandbox}/proxy/44772", execd, EXECD},
    {"/v1/sandboxes/{sandbox}/proxy/44772", execd, EXECD},
    {"", files, FILES},
    {"/proxy/44772", files, FILES},
    {"/sandboxes/{sandbox}/proxy/44772", files, FILES},
    {"/v1/sandboxes/{sandbox}/proxy/44772", files, FILES},
    {AS_USER, files, FILES},
    {"/proxy/44772" AS_USER, files, FILES},
    {"/sandboxes/{sandbox}/proxy/44772" AS_USER, files, FILES},
    {"/v1/sandboxes/{sandbox}/proxy/44772" AS_USER, files, FILES},
    {"", plane, PLANE},
    {NULL, NULL, 0},
};

/* Browsers cannot set headers of a WebSocket, so the token may be in the query, only here. */
static const struct auth_ways ways = {
    .headers = "X-EXECD-ACCESS-TOKEN OPEN-SANDBOX-API-KEY",
    .upgrade_query = "token",
};

static void osb_init(struct dialect_base *b)
{
    struct osb *o = (struct osb *)b;

    o->began_wall_ms = clock_wall_ms();
    list_init(&o->terminals);
}

static void osb_fini(struct dialect_base *b)
{
    struct osb *o = (struct osb *)b;

    buf_fini(&o->env);
    while (!list_is_empty(&o->terminals)) /* those that were still being opened */
        osb_terminal_free(list_entry(o->terminals.next, struct osb_terminal, link));
}

const struct dialect opensandbox_dialect = {
    .name = "opensandbox",
    .port = OSB_PORT,
    .prefix = OSB_PREFIX,
    .groups = groups,
    .ways = &ways,
    .error = osb_error,
    .json_type = OSB_JSON,
    .size = sizeof(struct osb),
    .init = osb_init,
    .fini = osb_fini,
};

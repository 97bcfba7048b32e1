/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b.c - setup and teardown of the dialect, its routes, plain replies and errors. Layer: dialects.
 */
#include "dialects/e2b/e2b.h"

#include <string.h>

#include "base/braces.h"
#include "base/limits.h"
#include "dialects/common/file_watch_poll.h"
#include "dialects/e2b/e2b_limits.h"
#include "dialects/e2b/e2b_rpc.h"

/* --- replies ------------------------------------------------------------------------- */

void e2b_plain_error(struct http_request *rq, int status, const char *message)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kint(&o, "code", status);
    json_kstr(&o, "message", message);
    dialect_reply_send(rq, status, &o);
}

bool e2b_is_there(struct http_request *rq)
{
    const struct e2b_sandbox *s = &e2b_of(rq)->sandbox;
    struct json_out o;

    if (!s->killed)
        return true;
    o = dialect_reply_open(dialect_base_of(rq));
    json_kstr(&o, "sandboxId", s->id);
    json_kstr(&o, "message", "The sandbox was not found"); /* clients search for the last words */
    json_kint(&o, "code", 502);
    dialect_reply_send(rq, 502, &o);
    return false;
}

static const char *const envd_paths[] = {"/files", "/files/compose", "/metrics",
                                         "/envs",  "/init",          "/health"};

static bool is_rpc(const struct http_request *rq)
{
    const char *path = http_path(rq);

    return strstr(path, "/process.Process/") != NULL ||
           strstr(path, "/filesystem.Filesystem/") != NULL;
}

/* Both headers work for both, but each client has only one of them. */
static const char *token_wanted(const struct http_request *rq)
{
    const char *path = http_path(rq), *prefix = e2b_dialect.prefix;
    bool envd = is_rpc(rq);

    if (strncmp(path, prefix, strlen(prefix)) == 0)
        path += strlen(prefix);
    for (size_t i = 0; i < sizeof envd_paths / sizeof *envd_paths; i++)
        envd = envd || strcmp(path, envd_paths[i]) == 0;
    return envd ? "Send a token of the daemon as X-Access-Token; an SDK gets it from create and "
                  "connect"
                : "Send a token of the daemon as X-API-KEY; an SDK takes it from E2B_API_KEY";
}

/*
 * A request that never reached a call gets a status alone, as in the original: the SDK detects a
 * wrong token by it. Errors of a call itself have Connect's form.
 */
void e2b_error(struct http_request *rq, const struct hf_error *err)
{
    int status = hf_code_status(err->code);

    if (err->code == HF_E_unauthorized)
        e2b_plain_error(rq, status, token_wanted(rq));
    else if (is_rpc(rq) && status != 401 && status != 404 && status != 405 && status != 505)
        e2b_rpc_error(rq, err);
    else
        e2b_plain_error(rq, status, err->detail);
}

/* --- routes ----------------------------------------------------------------------------- */

#define PROCESS "/process.Process/"
#define FILES "/filesystem.Filesystem/"
#define RPC(method, handler, role)                                                                 \
    BRACES(HTTP_POST_M, method, handler, role, ROUTE_ANY_QUERY, LIMIT_E2B_MESSAGE_BYTES, NULL)

#define R(method, path, handler, role) BRACES(method, path, handler, role, ROUTE_ANY_QUERY, 0, NULL)
#define ALL_METHODS (HTTP_GET_M | HTTP_POST_M | HTTP_PUT_M | HTTP_PATCH_M | HTTP_DELETE_M)
#define REST(path)                                                                                 \
    BRACES(ALL_METHODS, path, e2b_unsupported, ROLE_WATCH, ROUTE_PREFIX | ROUTE_ANY_QUERY, 0, NULL)

static const struct route routes[] = {
    RPC(PROCESS "Start", e2b_start, ROLE_OWN),
    RPC(PROCESS "Connect", e2b_connect, ROLE_WATCH),
    RPC(PROCESS "List", e2b_list, ROLE_WATCH),
    {HTTP_POST_M, PROCESS "SendInput", e2b_send_input, ROLE_TYPE,
     ROUTE_ANY_QUERY | ROUTE_STREAM_BODY, LIMIT_INPUT_BODY_BYTES, NULL},
    RPC(PROCESS "CloseStdin", e2b_close_stdin, ROLE_TYPE),
    RPC(PROCESS "Update", e2b_update, ROLE_TYPE),
    RPC(PROCESS "SendSignal", e2b_send_signal, ROLE_TYPE),
    {HTTP_POST_M, PROCESS "StreamInput", e2b_stream_input, ROLE_TYPE,
     ROUTE_ANY_QUERY | ROUTE_STREAM_BODY, LIMIT_INPUT_BODY_BYTES, NULL},

    RPC(FILES "Stat", e2b_fs_stat, ROLE_OWN),
    RPC(FILES "ListDir", e2b_fs_list, ROLE_OWN),
    RPC(FILES "MakeDir", e2b_fs_mkdir, ROLE_OWN),
    RPC(FILES "Move", e2b_fs_move, ROLE_OWN),
    RPC(FILES "Remove", e2b_fs_remove, ROLE_OWN),
    RPC(FILES "WatchDir", e2b_watch_dir, ROLE_OWN),
    RPC(FILES "CreateWatcher", e2b_create_watcher, ROLE_OWN),
    RPC(FILES "GetWatcherEvents", e2b_get_watcher_events, ROLE_OWN),
    RPC(FILES "RemoveWatcher", e2b_remove_watcher, ROLE_OWN),
    /* A signature grants access too, so these handlers check the caller themselves. */
    {HTTP_GET_M, "/files", e2b_files_get, ROLE_NONE, ROUTE_PUBLIC | ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, "/files", e2b_files_post, ROLE_NONE,
     ROUTE_PUBLIC | ROUTE_ANY_QUERY | ROUTE_STREAM_BODY, LIMIT_FILE_BYTES, NULL},
    R(HTTP_POST_M, "/files/compose", e2b_files_compose, ROLE_OWN),

    {HTTP_GET_M, "/health", e2b_health, ROLE_NONE, ROUTE_PUBLIC | ROUTE_PROBE | ROUTE_ANY_QUERY, 0,
     NULL},
    {HTTP_GET_M, "/metrics", e2b_metrics, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, "/envs", e2b_envs, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, "/init", e2b_init, ROLE_NONE, ROUTE_PUBLIC | ROUTE_ANY_QUERY, 0, NULL},

    {HTTP_POST_M, "/sandboxes", e2b_sandbox_create, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, "/v2/sandboxes", e2b_sandbox_create, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, "/sandboxes", e2b_sandbox_list_v1, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, "/v2/sandboxes", e2b_sandbox_list, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, "/sandboxes/{id}", e2b_sandbox_get, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_DELETE_M, "/sandboxes/{id}", e2b_sandbox_kill, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, "/sandboxes/{id}/timeout", e2b_sandbox_timeout, ROLE_OWN, ROUTE_ANY_QUERY, 0,
     NULL},
    {HTTP_POST_M, "/sandboxes/{id}/connect", e2b_sandbox_connect, ROLE_WATCH, ROUTE_ANY_QUERY, 0,
     NULL},
    {HTTP_POST_M, "/v2/sandboxes/{id}/connect", e2b_sandbox_connect, ROLE_WATCH, ROUTE_ANY_QUERY, 0,
     NULL},
    R(HTTP_GET_M, "/sandboxes/{id}/metrics", e2b_sandbox_metrics, ROLE_WATCH),
    R(HTTP_POST_M, "/sandboxes/{id}/refreshes", e2b_sandbox_timeout, ROLE_OWN),
    R(HTTP_POST_M, "/sandboxes/{id}/resume", e2b_sandbox_resume, ROLE_OWN),
    R(HTTP_POST_M, "/sandboxes/{id}/pause", e2b_sandbox_unsupported, ROLE_OWN),
    R(HTTP_POST_M, "/sandboxes/{id}/fork", e2b_sandbox_unsupported, ROLE_OWN),
    R(HTTP_POST_M, "/sandboxes/{id}/snapshots", e2b_sandbox_unsupported, ROLE_OWN),
    R(HTTP_PUT_M, "/sandboxes/{id}/network", e2b_sandbox_unsupported, ROLE_OWN),
    R(HTTP_GET_M, "/sandboxes/{id}/logs", e2b_sandbox_unsupported, ROLE_WATCH),
    R(HTTP_GET_M, "/v2/sandboxes/{id}/logs", e2b_sandbox_unsupported, ROLE_WATCH),
    R(HTTP_GET_M, "/snapshots", e2b_snapshot_list, ROLE_WATCH),
    REST("/templates"),
    REST("/v2/templates"),
    REST("/v3/templates"),
    REST("/volumes"),
    REST("/secrets"),
    REST("/teams"),
    REST("/api-keys"),
    REST("/access-tokens"),
};

/* Authorization names a user of the machine, so the token has its own headers. */
static const struct auth_ways ways = {.headers = "X-Access-Token X-API-KEY"};

static void e2b_setup(struct dialect_base *base)
{
    struct e2b *e = (struct e2b *)base;

    list_init(&e->notes);
    list_init(&e->watchers);
    e2b_sandbox_load(e);
}

static void e2b_fini(struct dialect_base *base)
{
    struct e2b *e = (struct e2b *)base;

    watch_poll_remove_all(&e->watchers);
    e2b_notes_free(e);
    e2b_sandbox_fini(&e->sandbox);
}

const struct dialect e2b_dialect = {
    .name = "e2b",
    .port = 49983,
    .prefix = "/dialects/e2b",
    .groups = ROUTE_GROUPS(routes),
    .ways = &ways,
    .error = e2b_error,
    .size = sizeof(struct e2b),
    .init = e2b_setup,
    .fini = e2b_fini,
};

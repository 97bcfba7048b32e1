/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencode.c - creation and teardown of the dialect, its routes, and simple read-only calls
 *
 * Layer: dialects.
 */
#include "dialects/opencode/opencode.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/braces.h"
#include "base/limits.h"
#include "base/mem.h"

/* --- simple calls ---------------------------------------------------------------------- */

#define PROJECT                                                                                    \
    "{\"id\":\"global\",\"worktree\":\"/\",\"time\":{\"created\":0,\"updated\":0},\"sandboxes\":[]}"
#define AGENT(name, mode)                                                                          \
    "{\"name\":\"" name "\",\"mode\":\"" mode "\",\"native\":true,\"permission\":[],"              \
    "\"options\":{}}"

#define FIXED(name, json)                                                                          \
    static void name(struct http_request *rq)                                                      \
    {                                                                                              \
        oc_send_json(rq, json);                                                                    \
    }

FIXED(health, "{\"healthy\":true,\"version\":\"" OC_VERSION "\"}")
/* A number as "pid" would make the web application use another protocol. */
FIXED(api_health, "{\"healthy\":true}")
FIXED(empty_object, "{}")
FIXED(empty_list, "[]")
FIXED(provider_list, "{\"all\":[],\"default\":{},\"connected\":[]}")
FIXED(capabilities, "{\"backgroundSubagents\":false}")
FIXED(console_state, "{\"consoleManagedProviders\":[],\"switchableOrgCount\":0}")
FIXED(project, PROJECT)
FIXED(projects, "[" PROJECT "]")
FIXED(providers, "{\"providers\":[],\"default\":{}}")
/* The names that /session/{id}/shell accepts; there is no model behind them. */
FIXED(agents, "[" AGENT("build", "primary") "," AGENT("plan", "primary") "," AGENT("general",
                                                                                   "subagent") "]")

static void paths(struct http_request *rq)
{
    struct json_out o = oc_reply_open(rq);
    const char *home = getenv("HOME");
    char directory[PATH_MAX], path[PATH_MAX];

    if (home == NULL)
        home = "/";
    json_open(&o, '{');
    json_kstr(&o, "home", home);
    snprintf(path, sizeof path, "%s/.local/state/opencode", home);
    json_kstr(&o, "state", path);
    snprintf(path, sizeof path, "%s/.config/opencode", home);
    json_kstr(&o, "config", path);
    json_kstr(&o, "worktree", "/");
    json_kstr(&o, "directory", oc_directory(rq, directory));
    json_close(&o, '}');
    oc_send(rq, &o);
}

/* --- routes ------------------------------------------------------------------------------- */

#define GET(path, handler) BRACES(HTTP_GET_M, path, handler, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL)
#define READ(path, handler, flags)                                                                 \
    BRACES(HTTP_GET_M, path, handler, ROLE_OWN, ROUTE_ANY_QUERY | (flags), 0, NULL)
#define ACT(method, path, handler, role)                                                           \
    BRACES(method, path, handler, role, ROUTE_ANY_QUERY, 0, NULL)

static const struct route routes[] = {
    GET("/global/health", health),
    GET("/global/health/", health),
    GET("/global/event", oc_events),
    GET("/global/config", empty_object),
    GET("/event", oc_events),
    GET("/path", paths),
    GET("/project", projects),
    GET("/project/current", project),
    GET("/config", empty_object),
    GET("/config/providers", providers),
    GET("/agent", agents),
    GET("/command", empty_list),
    GET("/vcs", empty_object),
    /* What its terminal application reads at the start; as where nothing is configured. */
    GET("/provider", provider_list),
    GET("/provider/auth", empty_object),
    GET("/experimental/capabilities", capabilities),
    GET("/experimental/console", console_state),
    GET("/experimental/resource", empty_object),
    GET("/experimental/workspace", empty_list),
    GET("/experimental/workspace/status", empty_list),
    GET("/lsp", empty_list),
    GET("/mcp", empty_object),
    GET("/formatter", empty_list),
    GET("/skill", empty_list),
    GET("/permission", empty_list),
    GET("/question", empty_list),
    GET("/session/{id}/diff", empty_list),
    ACT(HTTP_POST_M, "/instance/dispose", oc_dispose, ROLE_OWN),
    GET("/pty/shells", oc_shells),
    GET("/api/health", api_health),
    READ("/file", oc_file_list, 0),
    READ("/file/content", oc_file_content, 0),
    GET("/file/status", empty_list),
    READ("/find", oc_find_text, 0),
    READ("/find/file", oc_find_files, 0),
    GET("/find/symbol", oc_find_symbols),
    READ("/api/fs/list", oc_fs_list, 0),
    READ("/api/fs/read/", oc_fs_read, ROUTE_PREFIX),
    READ("/api/fs/find", oc_find_files, 0),
    GET("/session", oc_session_list),
    GET("/session/", oc_session_list),
    ACT(HTTP_POST_M, "/session", oc_session_create, ROLE_OWN),
    ACT(HTTP_POST_M, "/session/", oc_session_create, ROLE_OWN),
    GET("/session/status", oc_session_status),
    GET("/session/{id}", oc_session_get),
    ACT(HTTP_PATCH_M, "/session/{id}", oc_session_update, ROLE_OWN),
    ACT(HTTP_DELETE_M, "/session/{id}", oc_session_delete, ROLE_OWN),
    GET("/session/{id}/children", oc_session_children),
    GET("/session/{id}/todo", empty_list),
    GET("/session/{id}/message", oc_session_messages),
    GET("/session/{id}/message/{message}", oc_session_message),
    ACT(HTTP_POST_M, "/session/{id}/abort", oc_session_abort, ROLE_OWN),
    ACT(HTTP_POST_M, "/session/{id}/shell", oc_session_shell, ROLE_OWN),
    ACT(HTTP_POST_M, "/session/{id}/command", oc_session_command, ROLE_OWN),
};

/* The same on both surfaces. */
static const struct route pty_routes[] = {
    GET("/pty", oc_pty_list),
    GET("/pty/", oc_pty_list),
    ACT(HTTP_POST_M, "/pty", oc_pty_create, ROLE_OWN),
    ACT(HTTP_POST_M, "/pty/", oc_pty_create, ROLE_OWN),
    GET("/pty/{id}", oc_pty_get),
    ACT(HTTP_PUT_M, "/pty/{id}", oc_pty_update, ROLE_TYPE),
    ACT(HTTP_DELETE_M, "/pty/{id}", oc_pty_remove, ROLE_OWN),
    ACT(HTTP_POST_M, "/pty/{id}/connect-token", oc_pty_token, ROLE_WATCH),
    GET("/pty/{id}/connect", oc_pty_connect),
};

static const struct auth_ways ways = {
    .basic = true,
    .basic_query = "auth_token",
    .upgrade_own = oc_ticket_role,
};

/* --- creation and teardown ------------------------------------------------------------------ */

static void oc_init(struct dialect_base *b)
{
    struct oc *oc = (struct oc *)b;

    list_init(&oc->removals);
    list_init(&oc->runs);
    list_init(&oc->tickets);
    list_init(&oc->streams);
    list_init(&oc->entries);
    list_init(&oc->chatter);
    if (getcwd(oc->cwd, sizeof oc->cwd) == NULL)
        snprintf(oc->cwd, sizeof oc->cwd, "/");
}

static void oc_fini(struct dialect_base *b)
{
    oc_publish_stop((struct oc *)b);
    oc_tickets_free((struct oc *)b);
    buf_fini(&((struct oc *)b)->event);
}

static const struct route_group groups[] = {
    {"", routes, sizeof routes / sizeof *routes},
    {"", pty_routes, sizeof pty_routes / sizeof *pty_routes},
    {"/api", pty_routes, sizeof pty_routes / sizeof *pty_routes},
    {NULL, NULL, 0},
};

const struct dialect opencode_dialect = {
    .name = "opencode",
    .port = 4096,
    .announce = "opencode server",
    .prefix = "/dialects/opencode",
    .groups = groups,
    .ways = &ways,
    .error = oc_error,
    .size = sizeof(struct oc),
    .init = oc_init,
    .fini = oc_fini,
};

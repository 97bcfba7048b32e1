/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daytona.c - setup and teardown of the dialect, its routes, replies and small calls
 *
 * Clients choose the class of their error by `source` and `code`, else by the status.
 * Layer: dialects.
 */
#include "dialects/daytona/daytona.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/braces.h"
#include "base/clock.h"
#include "base/limits.h"
#include "engine/notes.h"
#include "transport/router.h"
#include "transport/ws.h"

/* --- errors ------------------------------------------------------------------------ */

void dt_put_error(struct json_out *o, const struct dt_error *e)
{
    json_kint(o, "statusCode", e->status);
    json_kstr(o, "message", e->message);
    json_kstr(o, "source", "DAYTONA_DAEMON");
    if (e->code != NULL)
        json_kstr(o, "code", e->code);
    json_ktime(o, "timestamp", clock_wall_ms());
    json_kstr(o, "path", e->path);
    json_kstr(o, "method", e->method);
}

static void envelope(struct http_request *rq, int status, const char *code, const char *message)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));
    char method[METHODS_TEXT_BYTES];

    router_methods_text(http_method(rq), method);
    dt_put_error(&o, &(struct dt_error){status, code, message, http_path(rq), method});
    dialect_reply_send(rq, status, &o);
}

void dt_fail(struct http_request *rq, int status, const char *code, const char *fmt, ...)
{
    char text[400];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    envelope(rq, status, code, text);
}

/* NULL where the platform's list of codes has none: its clients know no others. */
static const char *code_of_status(int status)
{
    switch (status) {
    case 400: return "BAD_REQUEST";
    case 401: return "UNAUTHORIZED";
    case 403: return "FORBIDDEN";
    case 404: return "NOT_FOUND";
    case 408: return "REQUEST_TIMEOUT";
    case 409: return "CONFLICT";
    case 410: return "GONE";
    case 422: return "UNPROCESSABLE_ENTITY";
    case 500: return "INTERNAL_SERVER_ERROR";
    default: return NULL;
    }
}

static const char *code_of(enum hf_code code)
{
    switch (code) {
    case HF_E_no_such_process:
    case HF_E_no_such_session: return "PROCESS_NOT_FOUND";
    case HF_E_bad_json:
    case HF_E_bad_type:
    case HF_E_missing_field: return "INVALID_REQUEST_BODY";
    default: return code_of_status(hf_code_status(code));
    }
}

static void dt_error(struct http_request *rq, const struct hf_error *err)
{
    const char *text = err->detail[0] != '\0' ? err->detail : hf_code_title(err->code);

    envelope(rq, hf_code_status(err->code), code_of(err->code), text);
}

/* --- decoding ----------------------------------------------------------------------- */

struct session *dt_session(struct http_request *rq)
{
    const char *id = http_param(rq, "session");
    struct session *s = session_find(dialect_base_of(rq)->engine, id, NULL);

    if (s == NULL)
        dt_fail(rq, 404, "PROCESS_NOT_FOUND", "session %.100s not found", id);
    return s;
}

bool dt_request(struct http_request *rq, enum dt_body kind, struct dt_request *a)
{
    struct hf_error err = {0};

    *a = (struct dt_request){.tree = dialect_object(rq)};
    if (a->tree == NULL)
        return false;
    if (dt_decode(a, kind, a->tree, &err) == 0)
        return true;
    http_reply_error(rq, &err);
    return false;
}

/* A route that is not for upgrades only has not been checked before. */
bool dt_upgrade_ok(struct http_request *rq)
{
    if (ws_version_is_ours(rq) && ws_key_is_valid(rq))
        return true;
    http_add_header(rq, "Sec-WebSocket-Version", "13");
    dt_fail(rq, 426, NULL, "use version 13 of the WebSocket protocol");
    return false;
}

/* Never the one that carries variables: many places log a response's head. */
const char *dt_protocol(const struct http_request *rq, char out[DT_PROTOCOL_BYTES])
{
    char version[DT_PROTOCOL_BYTES];

    if (ws_is_offered(rq, DT_EXIT_CONTROL))
        return DT_EXIT_CONTROL;
    if (dt_decode_offered_version(ws_offered(rq), version) == NULL)
        return NULL;
    snprintf(out, DT_PROTOCOL_BYTES, DT_VERSION_PROTOCOL "%.80s", version);
    return out;
}

enum dt_split dt_split_of(const struct http_request *rq)
{
    const char *version = http_header(rq, "X-Daytona-SDK-Version");
    char offered[DT_PROTOCOL_BYTES];

    if (version == NULL && http_is_websocket(rq))
        version = dt_decode_offered_version(ws_offered(rq), offered);
    return dt_split_for(version, http_header(rq, "X-Daytona-Split-Output"));
}

/* --- notes ------------------------------------------------------------------------------- */

int dt_note_set(struct engine *e, const char *name, const json_t *object, const char *what,
                struct hf_error *err)
{
    int rc = dialect_note_set(e, name, json_object_size(object) > 0 ? object : NULL);

    return rc == 0 ? 0 : hf_fail(err, HF_E_body_too_large, "the %s are too large to store", what);
}

/* --- small calls ------------------------------------------------------------------- */

static void reply_dir(struct http_request *rq, const char *dir)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "dir", dir);
    dialect_reply_send(rq, 200, &o);
}

static void work_dir(struct http_request *rq)
{
    reply_dir(rq, dt_of(rq)->cwd);
}

static void home_dir(struct http_request *rq)
{
    const char *home = getenv("HOME");

    reply_dir(rq, home != NULL && home[0] == '/' ? home : "/");
}

static void version(struct http_request *rq)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "version", dialect_base_of(rq)->host.version);
    dialect_reply_send(rq, 200, &o);
}

/* --- routes --------------------------------------------------------------------------- */

#define ROUTE(method, path, handler, role, flags)                                                  \
    BRACES(method, path, handler, role, (flags) | ROUTE_ANY_QUERY, 0, NULL)
#define SESSION "/process/session/{session}"
#define COMMAND SESSION "/command/{command}"

static const struct route control[] = {
    ROUTE(HTTP_POST_M, "/sandbox", dt_sandbox_create, ROLE_OWN, 0),
    ROUTE(HTTP_GET_M, "/sandbox", dt_sandbox_list, ROLE_WATCH, 0),
    ROUTE(HTTP_GET_M, "/sandbox/paginated", dt_sandbox_paginated, ROLE_WATCH, 0),
    ROUTE(HTTP_GET_M, "/sandbox/{sandbox}", dt_sandbox_get, ROLE_WATCH, 0),
    ROUTE(HTTP_GET_M, "/config", dt_refuse_config, ROLE_WATCH, 0),
    ROUTE(HTTP_GET_M, "/sandbox/{sandbox}/telemetry/metrics", dt_sandbox_refuse_history, ROLE_WATCH,
          0),
    ROUTE(HTTP_PUT_M, "/sandbox/{sandbox}/labels", dt_sandbox_labels, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M, "/sandbox/{sandbox}/start", dt_sandbox_running, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M, "/sandbox/{sandbox}/last-activity", dt_sandbox_activity, ROLE_TYPE, 0),
    ROUTE(HTTP_POST_M, "/sandbox/{sandbox}/{action}", dt_sandbox_refuse, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M, "/sandbox/{sandbox}/{action}/{value}", dt_sandbox_refuse, ROLE_OWN, 0),
    ROUTE(HTTP_PUT_M, "/sandbox/{sandbox}/{action}", dt_sandbox_refuse, ROLE_OWN, 0),
    ROUTE(HTTP_DELETE_M, "/sandbox/{sandbox}", dt_sandbox_delete, ROLE_OWN, 0),
    ROUTE(HTTP_GET_M, "/sandbox/{sandbox}/toolbox-proxy-url", dt_sandbox_proxy_url, ROLE_WATCH, 0),
    ROUTE(HTTP_GET_M, "/sandbox/{sandbox}/ports/1/preview-url", dt_sandbox_preview, ROLE_WATCH, 0),
    ROUTE(HTTP_GET_M, "/sandbox/{sandbox}/ports/{port}/preview-url", dt_sandbox_refuse_port,
          ROLE_WATCH, 0),
    /* Its token comes in the first message. */
    ROUTE(HTTP_GET_M, "/socket.io/", dt_socket, ROLE_NONE, ROUTE_UPGRADE | ROUTE_PUBLIC),
};

static const struct route toolbox[] = {
    ROUTE(HTTP_GET_M, "/work-dir", work_dir, ROLE_WATCH, 0),
    ROUTE(HTTP_GET_M, "/user-home-dir", home_dir, ROLE_WATCH, 0),
    ROUTE(HTTP_GET_M, "/version", version, ROLE_WATCH, 0),
    ROUTE(HTTP_GET_M, "/system/metrics", dt_metrics, ROLE_WATCH, 0),
    ROUTE(HTTP_POST_M, "/env", dt_env_update, ROLE_OWN, 0),

    ROUTE(HTTP_POST_M, "/process/execute", dt_execute, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M, "/process/code-run", dt_code_run, ROLE_OWN, 0),

    ROUTE(HTTP_POST_M, "/process/session", dt_session_create, ROLE_OWN, 0),
    ROUTE(HTTP_GET_M, "/process/session", dt_session_list, ROLE_WATCH, 0),
    ROUTE(HTTP_GET_M, "/process/session/entrypoint", dt_entrypoint, ROLE_WATCH, 0),
    ROUTE(HTTP_GET_M, "/process/session/entrypoint/logs", dt_entrypoint, ROLE_WATCH, 0),
    ROUTE(HTTP_GET_M, SESSION, dt_session_get, ROLE_WATCH, 0),
    ROUTE(HTTP_DELETE_M, SESSION, dt_session_delete, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M, SESSION "/exec", dt_run, ROLE_OWN, 0),
    ROUTE(HTTP_GET_M, COMMAND, dt_command_get, ROLE_WATCH, 0),
    ROUTE(HTTP_GET_M, COMMAND "/logs", dt_logs, ROLE_WATCH, 0),
    ROUTE(HTTP_POST_M, COMMAND "/input", dt_input, ROLE_TYPE, 0),

    ROUTE(HTTP_GET_M, "/process/pty/create-connect", dt_pty_create_connect, ROLE_OWN,
          ROUTE_UPGRADE),
    ROUTE(HTTP_POST_M, "/process/pty", dt_pty_create, ROLE_OWN, 0),
    ROUTE(HTTP_GET_M, "/process/pty", dt_pty_list, ROLE_WATCH, 0),
    ROUTE(HTTP_GET_M, "/process/pty/{id}", dt_pty_get, ROLE_WATCH, 0),
    ROUTE(HTTP_DELETE_M, "/process/pty/{id}", dt_pty_delete, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M, "/process/pty/{id}/resize", dt_pty_resize, ROLE_TYPE, 0),
    ROUTE(HTTP_GET_M, "/process/pty/{id}/connect", dt_pty_connect, ROLE_WATCH, ROUTE_UPGRADE),

    ROUTE(HTTP_GET_M, "/files", dt_file_list, ROLE_OWN, 0),
    ROUTE(HTTP_DELETE_M, "/files", dt_file_delete, ROLE_OWN, 0),
    ROUTE(HTTP_GET_M, "/files/info", dt_file_info, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M, "/files/folder", dt_file_folder, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M, "/files/move", dt_file_move, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M, "/files/permissions", dt_file_permissions, ROLE_OWN, 0),
    ROUTE(HTTP_GET_M, "/files/download", dt_file_download, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M, "/files/bulk-download", dt_file_bulk_download, ROLE_OWN, 0),
    BRACES(HTTP_POST_M, "/files/bulk-upload", dt_file_bulk_upload, ROLE_OWN,
           ROUTE_ANY_QUERY | ROUTE_STREAM_BODY, LIMIT_FILE_BYTES, NULL),
    ROUTE(HTTP_GET_M, "/files/find", dt_file_find, ROLE_OWN, 0),
    ROUTE(HTTP_GET_M, "/files/search", dt_file_search, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M, "/files/replace", dt_file_no_replace, ROLE_OWN, 0),
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

/*
 * The control plane's paths are below /api, or wherever the client was configured to find them. The
 * toolbox's paths are at the root, as in a sandbox, or below /toolbox/ID, as behind its proxy.
 */
static const struct route_group groups[] = {
    {"/api", control, COUNT(control)},
    {"", control, COUNT(control)},
    {"", toolbox, COUNT(toolbox)},
    {"/toolbox/{sandbox}", toolbox, COUNT(toolbox)},
    {NULL, NULL, 0},
};

/* --- life cycle ------------------------------------------------------------------------- */

static void on_events(void *arg)
{
    dt_follows_check(arg);
}

static void dt_init(struct dialect_base *base)
{
    struct dt *dt = (struct dt *)base;

    list_init(&dt->runs);
    list_init(&dt->follows);
    list_init(&dt->tickets);
    if (getcwd(dt->cwd, sizeof dt->cwd) == NULL)
        memcpy(dt->cwd, "/", 2);
    dt->events = (struct event_subscriber){.fn = on_events, .arg = dt};
    events_subscribe(engine_events(base->engine), &dt->events);
    dt_runs_recall(dt);
}

/* Events are reported at the end of a turn, so none came since the pending requests were freed. */
static void dt_fini(struct dialect_base *base)
{
    struct dt *dt = (struct dt *)base;

    events_unsubscribe(&dt->events);
    dt_tickets_free(dt);
}

/* A browser's WebSocket cannot send a header, so it shows a ticket that it got for its token. */
static const struct auth_ways ways = {.upgrade_own = dt_ticket_role};

const struct dialect daytona_dialect = {
    .name = "daytona",
    .port = 2280,
    .prefix = "/dialects/daytona",
    .groups = groups,
    .ways = &ways,
    .error = dt_error,
    .size = sizeof(struct dt),
    .init = dt_init,
    .fini = dt_fini,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_routes.c - every path of the native protocol, and the role that it requires
 *
 * Fixed words stand above {x} in the same place: the first matching row wins. Layer: dialects.
 */
#include "base/limits.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"
#include "dialects/native/process_filter.h"
#include "dialects/native/socket/connect.h"

#define P "/v1/processes"
#define S "/v1/sessions"
#define F "/v1/files"
#define ONE P "/{id}"
#define GET HTTP_GET_M
#define POST HTTP_POST_M
#define PUT HTTP_PUT_M
#define TERMINAL_QUERY CONNECT_QUERY " command args cwd user tag label session_id on_detach"

/* What a handler returns becomes the reply. */
static void serve(struct http_request *rq, native_handler *handle)
{
    struct hf_error err;

    if (handle(rq, &err) < 0)
        http_reply_error(rq, &err);
}

static void serve_process(struct http_request *rq, native_process_handler *handle)
{
    struct hf_error err;
    struct process *p = native_decode_find(rq, http_param(rq, "id"), &err);

    if (p == NULL || handle(rq, p, &err) < 0)
        http_reply_error(rq, &err);
}

#define SERVE(by, name)                                                                            \
    static void serve_##name(struct http_request *rq)                                              \
    {                                                                                              \
        by(rq, name##_handle);                                                                     \
    }
SERVE(serve, create)
SERVE(serve, run)
SERVE(serve, list)
SERVE(serve, readyz)
SERVE(serve, upgrade)
SERVE(serve, reload)
SERVE(serve, tickets)
SERVE(serve, session_create)
SERVE(serve, session_list)
SERVE(serve, session_get)
SERVE(serve, session_delete)
SERVE(serve, session_run)
SERVE(serve, session_transcript)
SERVE(serve, file_content_get)
SERVE(serve, file_content_put)
SERVE(serve, file_archive_get)
SERVE(serve, file_archive_put)
SERVE(serve, file_stat)
SERVE(serve, file_list)
SERVE(serve, file_mkdir)
SERVE(serve, file_move)
SERVE(serve, file_copy)
SERVE(serve, file_permissions)
SERVE(serve, file_delete)
SERVE(serve, file_search)
SERVE(serve, file_replace)
SERVE(serve_process, process_get)
SERVE(serve_process, patch)
SERVE(serve_process, remove)
SERVE(serve_process, signal)
SERVE(serve_process, resize)
SERVE(serve_process, input)
SERVE(serve_process, output)
SERVE(serve_process, recording)
SERVE(serve_process, screen)
SERVE(serve_process, wait_exit)
SERVE(serve_process, wait)
SERVE(serve_process, links_make)
SERVE(serve_process, links_list)
SERVE(serve_process, links_remove)

static const struct route routes[] = {
    {GET, "/healthz", healthz_handle, ROLE_NONE, ROUTE_PUBLIC | ROUTE_PROBE | ROUTE_NO_BODY, 0,
     NULL},
    {GET, "/readyz", serve_readyz, ROLE_NONE, ROUTE_PUBLIC | ROUTE_PROBE | ROUTE_NO_BODY, 0, NULL},
    {GET, "/metrics", metrics_handle, ROLE_WATCH, ROUTE_NO_BODY, 0, NULL},
    {GET, "/openapi.json", openapi_handle, ROLE_WATCH, ROUTE_NO_BODY, 0, NULL},
    {GET, "/v1/info", info_handle, ROLE_WATCH, ROUTE_NO_BODY, 0, NULL},
    {GET, "/v1/activity", activity_handle, ROLE_WATCH, ROUTE_NO_BODY, 0, NULL},
    {GET, "/", page_handle, ROLE_NONE, ROUTE_PUBLIC | ROUTE_NO_BODY, 0, "ticket link"},
    {POST, "/v1/tickets", serve_tickets, ROLE_OWN, 0, 0, NULL},
    {POST, "/v1/upgrade", serve_upgrade, ROLE_OWN, ROUTE_NO_BODY, 0, NULL},
    {GET, "/v1/token", token_handle, ROLE_OWN, ROUTE_NO_BODY, 0, NULL},
    {POST, "/v1/reload", serve_reload, ROLE_OWN, 0, 0, NULL},
    {GET, "/v1/events", events_handle, ROLE_WATCH, ROUTE_NO_BODY, 0, FILTER_QUERY " since all"},
    {GET, "/v1/files/watch", files_watch_handle, ROLE_OWN, ROUTE_NO_BODY, 0, "path recursive user"},

    {POST, P, serve_create, ROLE_OWN, 0, 0, NULL},
    {GET, P, serve_list, ROLE_WATCH, ROUTE_NO_BODY, 0, FILTER_QUERY " limit after usage"},
    {POST, P "/run", serve_run, ROLE_OWN, 0, 0, NULL},
    {GET, ONE, serve_process_get, ROLE_WATCH, ROUTE_SCOPED | ROUTE_NO_BODY, 0, "include usage"},
    {HTTP_PATCH_M, ONE, serve_patch, ROLE_OWN, 0, 0, NULL},
    {HTTP_DELETE_M, ONE, serve_remove, ROLE_OWN, ROUTE_NO_BODY, 0, "grace_ms"},
    {POST, ONE "/signal", serve_signal, ROLE_TYPE, ROUTE_SCOPED, 0, NULL},
    {POST, ONE "/resize", serve_resize, ROLE_TYPE, ROUTE_SCOPED, 0, NULL},
    {POST, ONE "/input", serve_input, ROLE_TYPE, ROUTE_SCOPED | ROUTE_STREAM_BODY,
     LIMIT_INPUT_BODY_BYTES, "eof"},
    {GET, ONE "/output", serve_output, ROLE_WATCH, ROUTE_SCOPED | ROUTE_NO_BODY, 0,
     "since until tail_lines tail_bytes stream follow"},
    {GET, ONE "/screen", serve_screen, ROLE_WATCH, ROUTE_SCOPED | ROUTE_NO_BODY, 0,
     "format scrollback"},
    {GET, ONE "/recording", serve_recording, ROLE_WATCH, ROUTE_SCOPED | ROUTE_NO_BODY, 0,
     "since until follow"},
    {GET, ONE "/wait", serve_wait_exit, ROLE_WATCH, ROUTE_SCOPED | ROUTE_NO_BODY, 0, "timeout_ms"},
    {POST, ONE "/wait", serve_wait, ROLE_WATCH, ROUTE_SCOPED, 0, NULL},
    {GET, ONE "/connect", connect_handle, ROLE_WATCH, ROUTE_SCOPED | ROUTE_UPGRADE | ROUTE_NO_BODY,
     0, CONNECT_QUERY},
    {POST, ONE "/links", serve_links_make, ROLE_OWN, 0, 0, NULL},
    {GET, ONE "/links", serve_links_list, ROLE_OWN, ROUTE_NO_BODY, 0, NULL},
    {HTTP_DELETE_M, ONE "/links/{lid}", serve_links_remove, ROLE_OWN, ROUTE_NO_BODY, 0, NULL},
    {GET, "/v1/terminal", terminal_handle, ROLE_OWN, ROUTE_UPGRADE | ROUTE_NO_BODY, 0,
     TERMINAL_QUERY},
    {GET, "/terminal", terminal_handle, ROLE_OWN, ROUTE_UPGRADE | ROUTE_NO_BODY, 0, TERMINAL_QUERY},

    {POST, S, serve_session_create, ROLE_OWN, 0, 0, NULL},
    {GET, S, serve_session_list, ROLE_WATCH, ROUTE_NO_BODY, 0, "limit after"},
    {GET, S "/{id}", serve_session_get, ROLE_WATCH, ROUTE_NO_BODY, 0, NULL},
    {HTTP_DELETE_M, S "/{id}", serve_session_delete, ROLE_OWN, ROUTE_NO_BODY, 0, "grace_ms"},
    {POST, S "/{id}/run", serve_session_run, ROLE_OWN, 0, 0, "output"},
    {GET, S "/{id}/transcript", serve_session_transcript, ROLE_WATCH, ROUTE_NO_BODY, 0,
     "limit format"},

    {GET, F "/content", serve_file_content_get, ROLE_OWN, ROUTE_NO_BODY, 0, "path user"},
    {PUT, F "/content", serve_file_content_put, ROLE_OWN, ROUTE_STREAM_BODY, LIMIT_FILE_BYTES,
     "path user mode parents append exclusive"},
    {GET, F "/archive", serve_file_archive_get, ROLE_OWN, ROUTE_NO_BODY, 0, "path user format"},
    {PUT, F "/archive", serve_file_archive_put, ROLE_OWN, ROUTE_STREAM_BODY, LIMIT_FILE_BYTES,
     "path user format"},
    {GET, F "/stat", serve_file_stat, ROLE_OWN, ROUTE_NO_BODY, 0, "path user"},
    {GET, F "/list", serve_file_list, ROLE_OWN, ROUTE_NO_BODY, 0, "path user depth limit"},
    {POST, F "/mkdir", serve_file_mkdir, ROLE_OWN, 0, 0, NULL},
    {POST, F "/move", serve_file_move, ROLE_OWN, 0, 0, NULL},
    {POST, F "/copy", serve_file_copy, ROLE_OWN, 0, 0, NULL},
    {POST, F "/permissions", serve_file_permissions, ROLE_OWN, 0, 0, NULL},
    {GET, F "/search", serve_file_search, ROLE_OWN, ROUTE_NO_BODY, 0,
     "path user name text regex case depth limit"},
    {POST, F "/replace", serve_file_replace, ROLE_OWN, 0, 0, NULL},
    {HTTP_DELETE_M, F, serve_file_delete, ROLE_OWN, ROUTE_NO_BODY, 0, "path user recursive"},
};

const struct route_group native_route_groups[] = {
    {"", routes, sizeof routes / sizeof *routes},
    {NULL, NULL, 0},
};

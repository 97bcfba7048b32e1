/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_routes.c - every path of the native protocol, and the role that it requires
 *
 * Fixed words stand above {x} in the same place: the first matching row wins. Layer: dialects.
 */
#include "base/limits.h"
#include "dialects/native/native_handlers.h"
#include "dialects/native/process_filter.h"
#include "dialects/native/socket/connect.h"

#define P "/v1/processes"
#define S "/v1/sessions"
#define ONE P "/{id}"
#define GET HTTP_GET_M
#define POST HTTP_POST_M
#define TERMINAL_QUERY CONNECT_QUERY " command args cwd user tag label session_id on_detach"

const struct route native_route_list[] = {
    {GET, "/healthz", healthz_handle, ROLE_NONE, ROUTE_PUBLIC | ROUTE_PROBE | ROUTE_NO_BODY, 0,
     NULL},
    {GET, "/readyz", readyz_handle, ROLE_NONE, ROUTE_PUBLIC | ROUTE_PROBE | ROUTE_NO_BODY, 0, NULL},
    {GET, "/metrics", metrics_handle, ROLE_WATCH, ROUTE_NO_BODY, 0, NULL},
    {GET, "/openapi.json", openapi_handle, ROLE_WATCH, ROUTE_NO_BODY, 0, NULL},
    {GET, "/v1/info", info_handle, ROLE_WATCH, ROUTE_NO_BODY, 0, NULL},
    {GET, "/v1/activity", activity_handle, ROLE_WATCH, ROUTE_NO_BODY, 0, NULL},
    {GET, "/", page_handle, ROLE_NONE, ROUTE_PUBLIC | ROUTE_NO_BODY, 0, "ticket link"},
    {POST, "/v1/tickets", tickets_handle, ROLE_OWN, 0, 0, NULL},
    {POST, "/v1/upgrade", upgrade_handle, ROLE_OWN, ROUTE_NO_BODY, 0, NULL},
    {GET, "/v1/token", token_handle, ROLE_OWN, ROUTE_NO_BODY, 0, NULL},
    {POST, "/v1/reload", reload_handle, ROLE_OWN, 0, 0, NULL},
    {GET, "/v1/events", events_handle, ROLE_WATCH, ROUTE_NO_BODY, 0, FILTER_QUERY " since all"},

    {POST, P, create_handle, ROLE_OWN, 0, 0, NULL},
    {GET, P, list_handle, ROLE_WATCH, ROUTE_NO_BODY, 0, FILTER_QUERY " limit after"},
    {POST, P "/run", run_handle, ROLE_OWN, 0, 0, NULL},
    {GET, ONE, process_get_handle, ROLE_WATCH, ROUTE_SCOPED | ROUTE_NO_BODY, 0, "include"},
    {HTTP_PATCH_M, ONE, patch_handle, ROLE_OWN, 0, 0, NULL},
    {HTTP_DELETE_M, ONE, remove_handle, ROLE_OWN, ROUTE_NO_BODY, 0, "grace_ms"},
    {POST, ONE "/signal", signal_handle, ROLE_TYPE, ROUTE_SCOPED, 0, NULL},
    {POST, ONE "/resize", resize_handle, ROLE_TYPE, ROUTE_SCOPED, 0, NULL},
    {POST, ONE "/input", input_handle, ROLE_TYPE, ROUTE_SCOPED | ROUTE_STREAM_BODY,
     LIMIT_INPUT_BODY_BYTES, "eof"},
    {GET, ONE "/output", output_handle, ROLE_WATCH, ROUTE_SCOPED | ROUTE_NO_BODY, 0,
     "since until tail_lines tail_bytes stream follow"},
    {GET, ONE "/screen", screen_handle, ROLE_WATCH, ROUTE_SCOPED | ROUTE_NO_BODY, 0,
     "format scrollback"},
    {GET, ONE "/recording", recording_handle, ROLE_WATCH, ROUTE_SCOPED | ROUTE_NO_BODY, 0,
     "since until follow"},
    {GET, ONE "/wait", wait_exit_handle, ROLE_WATCH, ROUTE_SCOPED | ROUTE_NO_BODY, 0, "timeout_ms"},
    {POST, ONE "/wait", wait_handle, ROLE_WATCH, ROUTE_SCOPED, 0, NULL},
    {GET, ONE "/connect", connect_handle, ROLE_WATCH, ROUTE_SCOPED | ROUTE_UPGRADE | ROUTE_NO_BODY,
     0, CONNECT_QUERY},
    {POST, ONE "/links", links_make_handle, ROLE_OWN, 0, 0, NULL},
    {GET, ONE "/links", links_list_handle, ROLE_OWN, ROUTE_NO_BODY, 0, NULL},
    {HTTP_DELETE_M, ONE "/links/{lid}", links_remove_handle, ROLE_OWN, ROUTE_NO_BODY, 0, NULL},
    {GET, "/v1/terminal", terminal_handle, ROLE_OWN, ROUTE_UPGRADE | ROUTE_NO_BODY, 0,
     TERMINAL_QUERY},
    {GET, "/terminal", terminal_handle, ROLE_OWN, ROUTE_UPGRADE | ROUTE_NO_BODY, 0, TERMINAL_QUERY},

    {POST, S, session_create_handle, ROLE_OWN, 0, 0, NULL},
    {GET, S, session_list_handle, ROLE_WATCH, ROUTE_NO_BODY, 0, "limit after"},
    {GET, S "/{id}", session_get_handle, ROLE_WATCH, ROUTE_NO_BODY, 0, NULL},
    {HTTP_DELETE_M, S "/{id}", session_delete_handle, ROLE_OWN, ROUTE_NO_BODY, 0, "grace_ms"},
    {POST, S "/{id}/run", session_run_handle, ROLE_OWN, 0, 0, "output"},
    {GET, S "/{id}/transcript", session_transcript_handle, ROLE_WATCH, ROUTE_NO_BODY, 0,
     "limit format"},
};

const size_t native_route_count = sizeof native_route_list / sizeof *native_route_list;

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper.c - setup and teardown of the dialect, its routes, replies and errors. Layer: dialects.
 */
#include "dialects/hyperbrowser/hyper.h"

#include <stdio.h>

#include "base/braces.h"
#include "base/limits.h"
#include "base/text.h"
#include "dialects/common/error_row.h"
#include "dialects/hyperbrowser/hyperbrowser_limits.h"

/* --- replies ------------------------------------------------------------------------ */

/* The codes that clients know by the original's names. */
static const struct error_row errors[] = {
    {HF_E_no_such_process, .word = "not_found"},
    {HF_E_no_such_sandbox, .word = "not_found"},
    {HF_E_no_such_file, .word = "not_found"},
    {HF_E_file_access_denied, .status = 400},
    {HF_E_read_only_file_system, .status = 400},
    {HF_E_not_a_directory, .status = 400},
    {HF_E_is_a_directory, .status = 400},
    {HF_E_directory_not_empty, .status = 400},
    {HF_E_not_a_file, .status = 400},
    {HF_E_offset_gone, .word = "replay_window_expired"},
    {HF_E_request_timeout, .word = "timeout"},
};

void hyper_error(struct http_request *rq, const struct hf_error *err)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "error", err->detail[0] != '\0' ? err->detail : hf_code_title(err->code));
    json_kstr(&o, "code", ERROR_ROW(errors, err->code).word);
    if (err->field[0] != '\0')
        json_kstr(&o, "field", err->field);
    dialect_reply_send(rq, ERROR_ROW(errors, err->code).status, &o);
}

/* --- decoding ----------------------------------------------------------------------- */

struct process *hyper_process(struct http_request *rq)
{
    const char *id = http_param(rq, "id");
    struct process *p = engine_find(dialect_base_of(rq)->engine, id, NULL);
    struct hf_error err = {0};

    if (p == NULL) {
        hf_fail(&err, HF_E_no_such_process, "%.100s not found: there is no such process", id);
        hyper_error(rq, &err);
    }
    return p;
}

bool hyper_number(struct http_request *rq, const char *name, uint64_t *out)
{
    const char *text = http_query(rq, name);
    struct hf_error err = {0};

    if (text == NULL || text_to_u64(text, INT64_MAX, out))
        return true;
    hf_fail_field(&err, HF_E_bad_query, name, "%s must be a whole number", name);
    hyper_error(rq, &err);
    return false;
}

/* --- routes --------------------------------------------------------------------------------- */

/* A body is JSON that is held in memory. */
#define HELD(method, path, handler, max)                                                           \
    BRACES(method, "/sandbox" path, handler, ROLE_OWN, ROUTE_ANY_QUERY, max, NULL),                \
        BRACES(method, "/sandbox/{sandbox}" path, handler, ROLE_OWN, ROUTE_ANY_QUERY, max, NULL)
#define STREAMED(method, path, handler)                                                            \
    BRACES(method, "/sandbox" path, handler, ROLE_OWN, ROUTE_ANY_QUERY | ROUTE_STREAM_BODY,        \
           LIMIT_FILE_BYTES, NULL),                                                                \
        BRACES(method, "/sandbox/{sandbox}" path, handler, ROLE_OWN,                               \
               ROUTE_ANY_QUERY | ROUTE_STREAM_BODY, LIMIT_FILE_BYTES, NULL)

/* The runtime's paths are below /sandbox, or below /sandbox/ID if one address serves many. */
#define BOTH(method, path, handler, role, flags)                                                   \
    BRACES(method, "/sandbox" path, handler, role, (flags) | ROUTE_ANY_QUERY, 0, NULL),            \
        BRACES(method, "/sandbox/{sandbox}" path, handler, role, (flags) | ROUTE_ANY_QUERY, 0,     \
               NULL)
#define CONTROL(method, path, handler, role)                                                       \
    BRACES(method, "/api" path, handler, role, ROUTE_ANY_QUERY, 0, NULL)

#define FILES "/files"

static const struct route routes[] = {
    CONTROL(HTTP_POST_M, "/sandbox", hyper_sandbox_create, ROLE_OWN),
    CONTROL(HTTP_GET_M, "/sandbox/{sandbox}", hyper_sandbox_get, ROLE_WATCH),
    CONTROL(HTTP_PUT_M, "/sandbox/{sandbox}/stop", hyper_sandbox_stop, ROLE_OWN),
    CONTROL(HTTP_GET_M, "/sandboxes", hyper_sandbox_list, ROLE_WATCH),

    BOTH(HTTP_POST_M, "/exec", hyper_exec, ROLE_OWN, 0),
    BOTH(HTTP_POST_M, "/processes", hyper_start, ROLE_OWN, 0),
    BOTH(HTTP_GET_M, "/processes", hyper_list, ROLE_WATCH, 0),
    BOTH(HTTP_GET_M, "/processes/{id}", hyper_get, ROLE_WATCH, 0),
    BOTH(HTTP_DELETE_M, "/processes/{id}", hyper_kill, ROLE_OWN, 0),
    BOTH(HTTP_POST_M, "/processes/{id}/wait", hyper_wait_result, ROLE_WATCH, 0),
    BOTH(HTTP_POST_M, "/processes/{id}/signal", hyper_signal, ROLE_TYPE, 0),
    BOTH(HTTP_POST_M, "/processes/{id}/stdin", hyper_stdin, ROLE_TYPE, 0),
    BOTH(HTTP_GET_M, "/processes/{id}/stream", hyper_stream, ROLE_WATCH, 0),

    BOTH(HTTP_POST_M, "/pty", hyper_terminal_create, ROLE_OWN, 0),
    BOTH(HTTP_GET_M, "/pty/{id}", hyper_terminal_get, ROLE_WATCH, 0),
    BOTH(HTTP_POST_M, "/pty/{id}/wait", hyper_terminal_wait, ROLE_WATCH, 0),
    BOTH(HTTP_POST_M, "/pty/{id}/kill", hyper_terminal_kill, ROLE_TYPE, 0),
    BOTH(HTTP_POST_M, "/pty/{id}/resize", hyper_terminal_resize, ROLE_TYPE, 0),
    BOTH(HTTP_GET_M, "/pty/{id}/ws", hyper_terminal_connect, ROLE_WATCH, ROUTE_UPGRADE),

    BOTH(HTTP_GET_M, FILES, hyper_file_list, ROLE_OWN, 0),
    BOTH(HTTP_GET_M, FILES "/stat", hyper_file_stat, ROLE_OWN, 0),
    BOTH(HTTP_POST_M, FILES "/read", hyper_file_read, ROLE_OWN, 0),
    HELD(HTTP_POST_M, FILES "/write", hyper_file_write, LIMIT_HYPER_WRITE_BYTES),
    STREAMED(HTTP_PUT_M, FILES "/upload", hyper_file_upload),
    BOTH(HTTP_GET_M, FILES "/download", hyper_file_download, ROLE_OWN, 0),
    BOTH(HTTP_POST_M, FILES "/mkdir", hyper_file_mkdir, ROLE_OWN, 0),
    BOTH(HTTP_POST_M, FILES "/move", hyper_file_move, ROLE_OWN, 0),
    BOTH(HTTP_POST_M, FILES "/copy", hyper_file_copy, ROLE_OWN, 0),
    BOTH(HTTP_POST_M, FILES "/delete", hyper_file_delete, ROLE_OWN, 0),
    BOTH(HTTP_POST_M, FILES "/chmod", hyper_file_chmod, ROLE_OWN, 0),
    BOTH(HTTP_POST_M, FILES "/chown", hyper_file_chown, ROLE_OWN, 0),
    BOTH(HTTP_POST_M, FILES "/watch", hyper_file_no_watch, ROLE_OWN, 0),
    BOTH(HTTP_POST_M, FILES "/presign-upload", hyper_file_no_url, ROLE_OWN, 0),
    BOTH(HTTP_POST_M, FILES "/presign-download", hyper_file_no_url, ROLE_OWN, 0),
};

/* The control plane's API key is accepted by the runtime as well. */
static const struct auth_ways ways = {.headers = "x-api-key"};

const struct dialect hyperbrowser_dialect = {
    .name = "hyperbrowser",
    .port = 8090, /* the original has no port: it is a service */
    .prefix = "/dialects/hyperbrowser",
    .groups = ROUTE_GROUPS(routes),
    .ways = &ways,
    .error = hyper_error,
    .size = sizeof(struct hyper),
};

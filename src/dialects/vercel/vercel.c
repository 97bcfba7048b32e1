/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vercel.c - creation and teardown of the dialect, its routes, replies and errors. Layer: dialects.
 */
#include "dialects/vercel/vercel.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/braces.h"
#include "base/limits.h"
#include "dialects/common/error_row.h"

/* --- replies --------------------------------------------------------------------- */

static void refuse(struct http_request *rq, int status, const char *code, const char *message,
                   const char *field)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_key(&o, "error");
    json_open(&o, '{');
    json_kstr(&o, "code", code);
    json_kstr(&o, "message", message);
    if (field[0] != '\0')
        json_kstr(&o, "field", field);
    json_close(&o, '}');
    dialect_reply_send(rq, status, &o);
}

void vc_refuse(struct http_request *rq, int status, const char *code, const char *message)
{
    refuse(rq, status, code, message, "");
}

void vc_reply_nothing(struct http_request *rq)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    dialect_reply_send(rq, 200, &o);
}

/* The codes that clients may know by their original names. */
static const struct error_row errors[] = {
    {HF_E_no_such_process, .word = "not_found"},
    {HF_E_no_such_sandbox, .word = "not_found"},
    {HF_E_too_many_processes, .word = "rate_limited"},
    {HF_E_too_many_waits, .word = "rate_limited"},
};

void vc_error(struct http_request *rq, const struct hf_error *err)
{
    refuse(rq, hf_code_status(err->code), ERROR_ROW(errors, err->code).word,
           err->detail[0] != '\0' ? err->detail : hf_code_title(err->code), err->field);
}

/* --- decoding requests ------------------------------------------------------------- */

/*
 * 410 makes clients request the sandbox's current session and retry once. So it is also the reply
 * for ids that only resemble ours: another daemon may have issued them.
 */
static void refuse_session(struct http_request *rq, const char *id)
{
    char message[200];

    snprintf(message, sizeof message, "no session %.60s%s", id,
             vc_sandbox_is_session_id(id) ? ": it was stopped, or belongs to another daemon" : "");
    if (vc_sandbox_is_session_id(id))
        vc_refuse(rq, 410, "sandbox_stopped", message);
    else
        vc_refuse(rq, 404, "not_found", message);
}

struct vc_sandbox *vc_session(struct http_request *rq)
{
    const char *id = http_param(rq, "session");
    struct vc_sandbox *b = vc_sandbox_of_session(&vc_of(rq)->boxes, id);

    if (b != NULL && !b->stopped)
        return b;
    refuse_session(rq, id);
    return NULL;
}

/* Past commands remain readable when their session has ended. */
struct process *vc_command(struct http_request *rq)
{
    const char *id = http_param(rq, "id"), *session = http_param(rq, "session");
    struct process *p = engine_find(dialect_base_of(rq)->engine, id, NULL);
    struct vc_sandbox *b = vc_sandbox_of_session(&vc_of(rq)->boxes, session);
    char message[200];

    if (p != NULL)
        return p;
    if (b == NULL || b->stopped) {
        refuse_session(rq, session);
        return NULL;
    }
    snprintf(message, sizeof message, "there is no command %.100s", id);
    vc_refuse(rq, 404, "not_found", message);
    return NULL;
}

bool vc_is_v1(const struct http_request *rq)
{
    return strstr(http_path(rq), "/api/v1/sandboxes") != NULL;
}

static void health(struct http_request *rq)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "status", "ok");
    dialect_reply_send(rq, 200, &o);
}

/* --- routes --------------------------------------------------------------------------------- */

#define ROUTE(method, path, fn, least, ...)                                                        \
    BRACES(.methods = (method), .pattern = (path), .handler = (fn), .role = (least), __VA_ARGS__)
#define ANY .flags = ROUTE_ANY_QUERY
#define UPLOAD .flags = ROUTE_ANY_QUERY | ROUTE_STREAM_BODY, .body_max = LIMIT_FILE_BYTES

/* Routes below a session; in version 1, below a sandbox. */
#define OF_SESSION(base)                                                                           \
    ROUTE(HTTP_GET_M, base, vc_session_get, ROLE_WATCH, ANY),                                      \
        ROUTE(HTTP_POST_M, base "/stop", vc_session_stop, ROLE_OWN, ANY),                          \
        ROUTE(HTTP_POST_M, base "/extend-timeout", vc_session_extend, ROLE_OWN, ANY),              \
        ROUTE(HTTP_GET_M, base "/cmd", vc_list_commands, ROLE_WATCH, ANY),                         \
        ROUTE(HTTP_POST_M, base "/cmd", vc_run, ROLE_OWN, ANY),                                    \
        ROUTE(HTTP_GET_M, base "/cmd/{id}", vc_get, ROLE_WATCH, ANY),                              \
        ROUTE(HTTP_GET_M, base "/cmd/{id}/logs", vc_logs, ROLE_WATCH, ANY),                        \
        ROUTE(HTTP_POST_M, base "/fs/mkdir", vc_mkdir, ROLE_OWN, ANY),                             \
        ROUTE(HTTP_POST_M, base "/fs/read", vc_read, ROLE_OWN, ANY),                               \
        ROUTE(HTTP_POST_M, base "/fs/write", vc_write, ROLE_OWN, UPLOAD)

#define V1 "/api/v1/sandboxes"
#define V2 "/api/v2/sandboxes"
#define V3 "/api/v3/sandboxes"

static const struct route routes[] = {
    ROUTE(HTTP_GET_M, "/health", health, ROLE_NONE,
          .flags = ROUTE_PUBLIC | ROUTE_PROBE | ROUTE_ANY_QUERY),
    ROUTE(HTTP_POST_M, V3, vc_sandbox_create, ROLE_OWN, ANY),
    ROUTE(HTTP_POST_M, V2, vc_sandbox_create, ROLE_OWN, ANY),
    ROUTE(HTTP_GET_M, V2, vc_sandbox_list, ROLE_WATCH, ANY),
    ROUTE(HTTP_GET_M, V2 "/sessions", vc_session_list, ROLE_WATCH, ANY),
    OF_SESSION(V2 "/sessions/{session}"),
    ROUTE(HTTP_POST_M, V2 "/sessions/{session}/cmd/{id}/kill", vc_kill, ROLE_TYPE, ANY),
    ROUTE(HTTP_POST_M, V2 "/sessions/{session}/cmd/{id}/stdin", vc_stdin, ROLE_TYPE, ANY),
    ROUTE(HTTP_POST_M, V2 "/sessions/{session}/network-policy", vc_session_policy, ROLE_OWN, ANY),
    ROUTE(HTTP_POST_M, V2 "/sessions/{session}/interactive", vc_interactive, ROLE_OWN, ANY),
    ROUTE(HTTP_GET_M, V2 "/{name}", vc_sandbox_get, ROLE_WATCH, ANY),
    ROUTE(HTTP_PATCH_M, V2 "/{name}", vc_sandbox_update, ROLE_OWN, ANY),
    ROUTE(HTTP_DELETE_M, V2 "/{name}", vc_sandbox_delete, ROLE_OWN, ANY),

    ROUTE(HTTP_POST_M, V1, vc_sandbox_create, ROLE_OWN, ANY),
    ROUTE(HTTP_GET_M, V1, vc_sandbox_list, ROLE_WATCH, ANY),
    OF_SESSION(V1 "/{session}"),
    ROUTE(HTTP_POST_M, V1 "/{session}/{id}/kill", vc_kill, ROLE_TYPE, ANY),

    ROUTE(HTTP_GET_M, "/interactive/{session}", vc_terminal, ROLE_OWN,
          .flags = ROUTE_UPGRADE | ROUTE_ANY_QUERY),
};

/* The token of a terminal is in the query, because clients send no header there. */
static const struct auth_ways ways = {.upgrade_own = vc_token_role};

static void vc_init(struct dialect_base *base)
{
    struct vercel *v = (struct vercel *)base;

    vc_sandboxes_init(&v->boxes, base->engine);
    if (getcwd(v->cwd, sizeof v->cwd) == NULL)
        snprintf(v->cwd, sizeof v->cwd, "/");
}

static void vc_fini(struct dialect_base *base)
{
    vc_sandboxes_fini(&((struct vercel *)base)->boxes);
}

const struct dialect vercel_dialect = {
    .name = "vercel",
    .port = VC_PORT,
    .prefix = "/dialects/vercel",
    .groups = ROUTE_GROUPS(routes),
    .ways = &ways,
    .error = vc_error,
    .size = sizeof(struct vercel),
    .init = vc_init,
    .fini = vc_fini,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gitpod.c - routes of the dialect, and the terminal that a request names. Layer: dialects.
 */
#include "dialects/gitpod/gitpod.h"

#include <stdio.h>
#include <string.h>

#include "base/braces.h"
#include "dialects/common/own_meta.h"
#include "dialects/gitpod/gitpod_limits.h"

#define SERVICE "/supervisor.TerminalService/"

/* --- requests ------------------------------------------------------------------------------- */

bool gitpod_is_terminal(struct process *p, bool living)
{
    struct process_view v;

    process_view(p, &v);
    return v.pty && (v.running || !living);
}

json_t *gitpod_message(struct http_request *rq, const struct pb_message *m)
{
    bool service = strstr(http_path(rq), SERVICE) != NULL;

    return service ? grpc_request(rq, m) : grpc_gateway_request(rq, m);
}

struct process *gitpod_find(struct http_request *rq, const struct pb_message *m, bool living,
                            const char *why, json_t **message)
{
    struct process *p = NULL;
    const char *alias;

    *message = gitpod_message(rq, m);
    if (*message == NULL)
        return NULL;
    alias = json_string_value(json_object_get(*message, "alias"));
    if (alias != NULL)
        p = engine_find(dialect_base_of(rq)->engine, alias, NULL);
    if (p != NULL && gitpod_is_terminal(p, living))
        return p;
    grpc_fail(rq, GRPC_NOT_FOUND, why);
    return NULL;
}

/* --- what a terminal has in addition to a process ------------------------------------------- */

json_t *gitpod_meta(struct process *p)
{
    struct process_view v;
    json_t *own;

    process_view(p, &v);
    own = own_meta(v.metadata_json, "gitpod");
    return own != NULL ? own : json_object();
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

void gitpod_title(struct process *p, struct gitpod_title *out)
{
    json_auto_t *meta = gitpod_meta(p);
    const char *title = json_string_value(json_object_get(meta, "title"));
    struct process_view v;

    process_view(p, &v);
    out->api = title != NULL && title[0] != '\0';
    out->text[0] = '\0';
    if (out->api)
        snprintf(out->text, sizeof out->text, "%s", title);
    else if (v.running)
        process_foreground(p, out->text, sizeof out->text);
    if (out->text[0] == '\0')
        snprintf(out->text, sizeof out->text, "%s", base_name(v.command));
}

/* --- routes --------------------------------------------------------------------------------- */

#define RPC(method, handler, role)                                                                 \
    BRACES(HTTP_POST_M, SERVICE method, handler, role, ROUTE_ANY_QUERY,                            \
           LIMIT_GITPOD_MESSAGE_BYTES, NULL)
/* The gateway, with the prefix that is visible from outside and without it. */
#define REST(methods, path, handler, role, flags)                                                  \
    BRACES(methods, "/_supervisor/v1/terminal/" path, handler, role, (flags) | ROUTE_ANY_QUERY, 0, \
           NULL),                                                                                  \
        BRACES(methods, "/v1/terminal/" path, handler, role, (flags) | ROUTE_ANY_QUERY, 0, NULL)

static const struct route routes[] = {
    RPC("Open", gitpod_open, ROLE_OWN),
    RPC("Shutdown", gitpod_shutdown, ROLE_OWN),
    RPC("Get", gitpod_get, ROLE_WATCH),
    RPC("List", gitpod_list, ROLE_WATCH),
    RPC("Listen", gitpod_listen, ROLE_WATCH),
    RPC("Write", gitpod_write, ROLE_TYPE),
    RPC("SetSize", gitpod_set_size, ROLE_TYPE),
    RPC("SetTitle", gitpod_set_title, ROLE_OWN),
    RPC("UpdateAnnotations", gitpod_annotate, ROLE_OWN),

    REST(HTTP_GET_M, "list", gitpod_list, ROLE_WATCH, 0),
    REST(HTTP_GET_M, "get/{alias}", gitpod_get, ROLE_WATCH, 0),
    REST(HTTP_GET_M, "listen/{alias}", gitpod_listen, ROLE_WATCH, 0),
    REST(HTTP_POST_M, "write/{alias}", gitpod_write, ROLE_TYPE, 0),
    REST(HTTP_GET_M, "shutdown/{alias}", gitpod_shutdown, ROLE_OWN, ROUTE_CHANGES),
};

static const struct auth_ways ways = {.headers = "x-gitpod-owner-token"};

const struct dialect gitpod_dialect = {
    .name = "gitpod",
    .port = 22999,
    .prefix = "/dialects/gitpod",
    .groups = ROUTE_GROUPS(routes),
    .ways = &ways,
    .error = grpc_error,
    .size = sizeof(struct dialect_base),
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gitpod.c - setup and teardown of the dialect, and its routes. Layer: dialects.
 */
#include "dialects/gitpod/gitpod.h"

#include <stdlib.h>

#include "base/braces.h"
#include "base/limits.h"
#include "base/mem.h"

#define RPC(method, handler, role)                                                                 \
    BRACES(HTTP_POST_M, "/supervisor.TerminalService/" method, handler, role, ROUTE_ANY_QUERY,     \
           LIMIT_GITPOD_MESSAGE_BYTES, NULL)
/* The gateway, with the prefix that is visible from outside and without it. */
#define REST(methods, path, handler, role, flags)                                                  \
    {                                                                                              \
        methods, "/_supervisor/v1/terminal/" path, handler, role, (flags) | ROUTE_ANY_QUERY, 0,    \
        NULL},                                                                                     \
    {                                                                                              \
        methods, "/v1/terminal/" path, handler, role, (flags) | ROUTE_ANY_QUERY, 0, NULL           \
    }

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

static void *gitpod_make(const struct dialect_host *host)
{
    struct gitpod *g = hf_xalloc(sizeof *g);

    g->engine = host->engine;
    g->loop = host->loop;
    list_init(&g->pending);
    input_call_queue_init(&g->typing, &g->pending);
    g->table = (struct route_table){
        .prefix = "/dialects/gitpod",
        .routes = routes,
        .count = sizeof routes / sizeof *routes,
        .error = gitpod_error,
        .context = g,
        .ways = &ways,
    };
    return g;
}

static const struct route_table *gitpod_routes(void *self)
{
    return &((struct gitpod *)self)->table;
}

static void gitpod_drain(void *self)
{
    pending_drain(&((struct gitpod *)self)->pending);
}

static void gitpod_free(void *self)
{
    struct gitpod *g = self;

    pending_free(&g->pending);
    free(g);
}

static const struct route_group groups[] = {
    {"", routes, sizeof routes / sizeof *routes},
    {NULL, NULL, 0},
};

const struct dialect gitpod_dialect = {
    .name = "gitpod",
    .port = 22999,
    .prefix = "/dialects/gitpod",
    .groups = groups,
    .ways = &ways,
    .make = gitpod_make,
    .routes = gitpod_routes,
    .drain = gitpod_drain,
    .free = gitpod_free,
};

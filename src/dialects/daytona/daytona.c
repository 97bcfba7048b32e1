/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daytona.c - setup and teardown of the dialect, its routes, and the small calls. Layer: dialects.
 */
#include "dialects/daytona/daytona.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"

/* --- small calls ------------------------------------------------------------------- */

static void reply_dir(struct http_request *rq, const char *dir)
{
    struct json_out o = dt_reply(dt_of(rq));

    json_kstr(&o, "dir", dir);
    dt_send(rq, 200, &o);
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
    struct json_out o = dt_reply(dt_of(rq));

    json_kstr(&o, "version", dt_of(rq)->version);
    dt_send(rq, 200, &o);
}

/* --- routes --------------------------------------------------------------------------- */

/*
 * The toolbox's paths are at the root, as in a sandbox, or below /toolbox/ID, as behind its proxy.
 */
#define BOTH(method, path, handler, role, flags)                                                   \
    {method, path, handler, role, (flags) | ROUTE_ANY_QUERY, 0, NULL},                             \
    {                                                                                              \
        method, "/toolbox/{sandbox}" path, handler, role, (flags) | ROUTE_ANY_QUERY, 0, NULL       \
    }
/* The control plane's paths are below /api, or wherever the client was configured to find them. */
#define CONTROL(method, path, handler, role, flags)                                                \
    {method, "/api" path, handler, role, (flags) | ROUTE_ANY_QUERY, 0, NULL},                      \
    {                                                                                              \
        method, path, handler, role, (flags) | ROUTE_ANY_QUERY, 0, NULL                            \
    }
#define SESSION "/process/session/{session}"
#define COMMAND SESSION "/command/{command}"

static const struct route routes[] = {
    CONTROL(HTTP_POST_M, "/sandbox", dt_sandbox_create, ROLE_OWN, 0),
    CONTROL(HTTP_GET_M, "/sandbox", dt_sandbox_list, ROLE_WATCH, 0),
    CONTROL(HTTP_GET_M, "/sandbox/{sandbox}", dt_sandbox_get, ROLE_WATCH, 0),
    CONTROL(HTTP_DELETE_M, "/sandbox/{sandbox}", dt_sandbox_delete, ROLE_OWN, 0),
    CONTROL(HTTP_GET_M, "/sandbox/{sandbox}/toolbox-proxy-url", dt_sandbox_proxy_url, ROLE_WATCH,
            0),
    CONTROL(HTTP_GET_M, "/sandbox/{sandbox}/ports/1/preview-url", dt_sandbox_preview, ROLE_WATCH,
            0),
    /* Its token comes in the first message. */
    CONTROL(HTTP_GET_M, "/socket.io/", dt_socket, ROLE_NONE, ROUTE_UPGRADE | ROUTE_PUBLIC),

    BOTH(HTTP_GET_M, "/work-dir", work_dir, ROLE_WATCH, 0),
    BOTH(HTTP_GET_M, "/user-home-dir", home_dir, ROLE_WATCH, 0),
    BOTH(HTTP_GET_M, "/version", version, ROLE_WATCH, 0),
    BOTH(HTTP_POST_M, "/env", dt_env_update, ROLE_OWN, 0),

    BOTH(HTTP_POST_M, "/process/execute", dt_execute, ROLE_OWN, 0),
    BOTH(HTTP_POST_M, "/process/code-run", dt_code_run, ROLE_OWN, 0),

    BOTH(HTTP_POST_M, "/process/session", dt_session_create, ROLE_OWN, 0),
    BOTH(HTTP_GET_M, "/process/session", dt_session_list, ROLE_WATCH, 0),
    BOTH(HTTP_GET_M, "/process/session/entrypoint", dt_entrypoint, ROLE_WATCH, 0),
    BOTH(HTTP_GET_M, "/process/session/entrypoint/logs", dt_entrypoint, ROLE_WATCH, 0),
    BOTH(HTTP_GET_M, SESSION, dt_session_get, ROLE_WATCH, 0),
    BOTH(HTTP_DELETE_M, SESSION, dt_session_delete, ROLE_OWN, 0),
    BOTH(HTTP_POST_M, SESSION "/exec", dt_run, ROLE_OWN, 0),
    BOTH(HTTP_GET_M, COMMAND, dt_command_get, ROLE_WATCH, 0),
    BOTH(HTTP_GET_M, COMMAND "/logs", dt_logs, ROLE_WATCH, 0),
    BOTH(HTTP_POST_M, COMMAND "/input", dt_input, ROLE_TYPE, 0),

    BOTH(HTTP_GET_M, "/process/pty/create-connect", dt_pty_create_connect, ROLE_OWN, ROUTE_UPGRADE),
    BOTH(HTTP_POST_M, "/process/pty", dt_pty_create, ROLE_OWN, 0),
    BOTH(HTTP_GET_M, "/process/pty", dt_pty_list, ROLE_WATCH, 0),
    BOTH(HTTP_GET_M, "/process/pty/{id}", dt_pty_get, ROLE_WATCH, 0),
    BOTH(HTTP_DELETE_M, "/process/pty/{id}", dt_pty_delete, ROLE_OWN, 0),
    BOTH(HTTP_POST_M, "/process/pty/{id}/resize", dt_pty_resize, ROLE_TYPE, 0),
    BOTH(HTTP_GET_M, "/process/pty/{id}/connect", dt_pty_connect, ROLE_WATCH, ROUTE_UPGRADE),
};

/* --- life cycle ------------------------------------------------------------------------- */

static void on_events(void *arg)
{
    dt_follows_check(arg);
}

/* A browser's WebSocket cannot send a header, so it shows a ticket that it got for its token. */
static const struct auth_ways ways = {.upgrade_own = dt_ticket_role};

static void *dt_make(const struct dialect_host *host)
{
    struct dt *dt = hf_xalloc(sizeof *dt);

    dt->engine = host->engine;
    dt->loop = host->loop;
    dt->auth = host->auth;
    dt->version = host->version;
    list_init(&dt->pending);
    list_init(&dt->runs);
    list_init(&dt->follows);
    input_call_queue_init(&dt->typing, &dt->pending);
    list_init(&dt->tickets);
    if (getcwd(dt->cwd, sizeof dt->cwd) == NULL)
        memcpy(dt->cwd, "/", 2);
    dt->events = (struct event_subscriber){.fn = on_events, .arg = dt};
    events_subscribe(engine_events(dt->engine), &dt->events);
    dt->table = (struct route_table){
        .prefix = "/dialects/daytona",
        .routes = routes,
        .count = sizeof routes / sizeof *routes,
        .error = dt_error,
        .context = dt,
        .ways = &ways,
    };
    dt_runs_recall(dt);
    return dt;
}

static const struct route_table *dt_routes(void *self)
{
    return &((struct dt *)self)->table;
}

static void dt_drain(void *self)
{
    struct dt *dt = self;

    dt->draining = true;
    pending_drain(&dt->pending);
}

static void dt_free(void *self)
{
    struct dt *dt = self;

    events_unsubscribe(&dt->events);
    pending_free(&dt->pending);
    dt_tickets_free(dt);
    buf_fini(&dt->scratch);
    free(dt);
}

static const struct route_group groups[] = {
    {"", routes, sizeof routes / sizeof *routes},
    {NULL, NULL, 0},
};

const struct dialect daytona_dialect = {
    .name = "daytona",
    .port = 2280,
    .prefix = "/dialects/daytona",
    .groups = groups,
    .ways = &ways,
    .make = dt_make,
    .routes = dt_routes,
    .drain = dt_drain,
    .free = dt_free,
};

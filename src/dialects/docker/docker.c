/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker.c - setup and teardown of the dialect, its routes. Layer: dialects.
 */
#include "dialects/docker/docker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/braces.h"
#include "base/clock.h"
#include "base/crypto.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/docker/docker_launch.h"
#include "dialects/docker/docker_not_started.h"
#include "engine/notes.h"

#define BEGAN_NOTE "docker.began"

/* --- routes -------------------------------------------------------------------------- */

#define ROW(method, pattern, handler, role)                                                        \
    BRACES(HTTP_##method##_M, pattern, handler, ROLE_##role, ROUTE_ANY_QUERY, 0, NULL)

static const struct route rows[] = {
    ROW(GET, "/_ping", docker_ping, WATCH),
    ROW(GET, "/version", docker_get_version, WATCH),
    ROW(GET, "/info", docker_info, WATCH),
    ROW(GET, "/containers/json", docker_list, WATCH),
    ROW(POST, "/containers/create", docker_create, OWN),
    ROW(POST, "/containers/prune", docker_unserved, OWN),
    ROW(GET, "/containers/{id}/json", docker_inspect, WATCH),
    ROW(GET, "/containers/{id}/top", docker_top, WATCH),
    ROW(GET, "/containers/{id}/logs", docker_logs, WATCH),
    ROW(POST, "/containers/{id}/start", docker_start, OWN),
    ROW(POST, "/containers/{id}/stop", docker_stop, OWN),
    ROW(POST, "/containers/{id}/kill", docker_kill, TYPE),
    ROW(POST, "/containers/{id}/wait", docker_wait, WATCH),
    ROW(POST, "/containers/{id}/resize", docker_resize, TYPE),
    ROW(POST, "/containers/{id}/exec", docker_exec_create, OWN),
    ROW(POST, "/containers/{id}/attach", docker_attach, WATCH),
    {HTTP_GET_M, "/containers/{id}/attach/ws", docker_attach_ws, ROLE_WATCH,
     ROUTE_ANY_QUERY | ROUTE_UPGRADE, 0, NULL},
    ROW(POST, "/containers/{id}/restart", docker_unserved, OWN),
    ROW(POST, "/containers/{id}/pause", docker_unserved, OWN),
    ROW(POST, "/containers/{id}/unpause", docker_unserved, OWN),
    ROW(POST, "/containers/{id}/rename", docker_unserved, OWN),
    ROW(POST, "/containers/{id}/update", docker_unserved, OWN),
    ROW(GET, "/containers/{id}/stats", docker_unserved, WATCH),
    ROW(GET, "/containers/{id}/changes", docker_unserved, WATCH),
    ROW(GET, "/containers/{id}/export", docker_unserved, WATCH),
    ROW(GET, "/containers/{id}/archive", docker_unserved, WATCH),
    ROW(PUT, "/containers/{id}/archive", docker_unserved, OWN),
    ROW(DELETE, "/containers/{id}", docker_remove, OWN),
    ROW(POST, "/exec/{id}/start", docker_exec_start, OWN),
    ROW(POST, "/exec/{id}/resize", docker_exec_resize, TYPE),
    ROW(GET, "/exec/{id}/json", docker_exec_inspect, WATCH),
    ROW(GET, "/events", docker_unserved, WATCH),
};
#define ROW_COUNT (sizeof rows / sizeof *rows)

/*
 * Every path may have the version in front; any other first segment is accepted and ignored. The
 * paths without one come first, because a container may be named "containers".
 */
static const struct route_group groups[] = {
    {"", rows, ROW_COUNT},
    {"/{version}", rows, ROW_COUNT},
    {NULL, NULL, 0},
};

static void make_table(struct docker *dk)
{
    route_rows_make(&dk->rows, groups);
    dk->table = (struct route_table){
        .prefix = "/dialects/docker",
        .routes = dk->rows.rows,
        .count = dk->rows.count,
        .error = docker_error,
        .context = dk,
    };
}

/* --- setup and teardown ------------------------------------------------------------------- */

/* The same for every worker of this sandbox, and after a restart. */
static void name_sandbox(struct docker *dk)
{
    char text[sizeof dk->hostname + 32];
    uint8_t digest[32];
    struct utsname u;

    uname(&u);
    snprintf(dk->hostname, sizeof dk->hostname, "%s", u.nodename);
    snprintf(text, sizeof text, "holdfast sandbox %s", dk->hostname);
    sha256(text, strlen(text), digest);
    hex_encode(dk->sandbox_id, digest, sizeof digest);
}

/* When the sandbox was first served, whichever worker replies. */
static void recall_began(struct docker *dk)
{
    size_t len = 0;
    const char *note = engine_note(dk->engine, BEGAN_NOTE, &len);
    char text[24];

    snprintf(text, sizeof text, "%.*s", (int)(len < 20 ? len : 20), note != NULL ? note : "");
    if (text_to_i64(text, 1, INT64_MAX, &dk->began_ms))
        return;
    dk->began_ms = clock_wall_ms();
    snprintf(text, sizeof text, "%lld", (long long)dk->began_ms);
    (void)engine_note_set(dk->engine, BEGAN_NOTE, text, strlen(text));
}

static void *docker_make(const struct dialect_host *host)
{
    struct docker *dk = hf_xalloc(sizeof *dk);

    dk->engine = host->engine;
    dk->loop = host->loop;
    dk->version = host->version;
    dk->own_uid = host->own_uid;
    list_init(&dk->pending);
    list_init(&dk->created);
    name_sandbox(dk);
    make_table(dk);
    recall_began(dk);
    docker_created_recall(dk);
    auto_remove_all(dk);
    return dk;
}

static const struct route_table *docker_routes(void *self)
{
    return &((struct docker *)self)->table;
}

static void docker_drain(void *self)
{
    pending_drain(&((struct docker *)self)->pending);
}

static void docker_free(void *self)
{
    struct docker *dk = self;

    pending_free(&dk->pending);
    docker_created_free_all(dk);
    route_rows_fini(&dk->rows);
    buf_fini(&dk->scratch);
    free(dk);
}

const struct dialect docker_dialect = {
    .name = "docker",
    .port = 2375,
    .prefix = "/dialects/docker",
    .groups = groups,
    .make = docker_make,
    .routes = docker_routes,
    .drain = docker_drain,
    .free = docker_free,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker.c - setup and teardown of the dialect, its routes. Layer: dialects.
 */
#include "dialects/docker/docker.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/braces.h"
#include "base/clock.h"
#include "base/crypto.h"
#include "base/limits.h"
#include "base/text.h"
#include "dialects/docker/docker_env.h"
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
    ROW(POST, "/containers/{id}/restart", docker_restart, OWN),
    ROW(POST, "/containers/{id}/pause", docker_unserved, OWN),
    ROW(POST, "/containers/{id}/unpause", docker_unserved, OWN),
    ROW(POST, "/containers/{id}/rename", docker_unserved, OWN),
    ROW(POST, "/containers/{id}/update", docker_unserved, OWN),
    ROW(GET, "/containers/{id}/stats", docker_stats, WATCH),
    ROW(GET, "/containers/{id}/changes", docker_unserved, WATCH),
    ROW(GET, "/containers/{id}/export", docker_unserved, WATCH),
    ROW(GET, "/containers/{id}/archive", docker_archive_get, OWN),
    {HTTP_PUT_M, "/containers/{id}/archive", docker_archive_put, ROLE_OWN,
     ROUTE_ANY_QUERY | ROUTE_STREAM_BODY, LIMIT_FILE_BYTES, NULL},
    ROW(DELETE, "/containers/{id}", docker_remove, OWN),
    ROW(POST, "/exec/{id}/start", docker_exec_start, OWN),
    ROW(POST, "/exec/{id}/resize", docker_exec_resize, TYPE),
    ROW(GET, "/exec/{id}/json", docker_exec_inspect, WATCH),
    ROW(GET, "/events", docker_get_events, WATCH),
    ROW(GET, "/images/json", docker_list_images, WATCH),
    ROW(POST, "/images/create", docker_pull, OWN),
    {HTTP_GET_M, "/images/", docker_get_image, ROLE_WATCH, ROUTE_ANY_QUERY | ROUTE_PREFIX, 0, NULL},
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
    const char *note = engine_note(dk->base.engine, BEGAN_NOTE, &len);
    char text[24];

    snprintf(text, sizeof text, "%.*s", (int)(len < 20 ? len : 20), note != NULL ? note : "");
    if (text_to_i64(text, 1, INT64_MAX, &dk->began_ms))
        return;
    dk->began_ms = clock_wall_ms();
    snprintf(text, sizeof text, "%lld", (long long)dk->began_ms);
    (void)engine_note_set(dk->base.engine, BEGAN_NOTE, text, strlen(text));
}

static void docker_init(struct dialect_base *base)
{
    struct docker *dk = (struct docker *)base;

    list_init(&dk->created);
    name_sandbox(dk);
    recall_began(dk);
    docker_created_recall(dk);
    docker_env_recall(dk);
    launch_remove_all(dk);
}

static void docker_fini(struct dialect_base *base)
{
    struct docker *dk = (struct docker *)base;

    docker_created_free_all(dk);
    json_decref(dk->env);
}

const struct dialect docker_dialect = {
    .name = "docker",
    .port = 2375,
    .prefix = "/dialects/docker",
    .groups = groups,
    .error = docker_error,
    .size = sizeof(struct docker),
    .init = docker_init,
    .fini = docker_fini,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly.c - setup and teardown of the dialect, its routes, replies and errors. Layer: dialects.
 */
#include "dialects/fly/fly.h"

#include <stdio.h>
#include <string.h>

#include "base/braces.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/text.h"
#include "engine/notes.h"

#define CREATED_NOTE "fly.created"

/* --- replies ------------------------------------------------------------------------ */

/* Clients include it in their errors, so that users know which process to inspect. */
void fly_add_process_header(struct http_request *rq, struct process *p)
{
    struct process_view v;

    process_view(p, &v);
    http_add_header(rq, "fly-request-id", v.id);
}

/* The prefix of a machine's errors. */
static const struct {
    int status;
    const char *word;
} words[] = {
    {400, "invalid_argument: "}, {401, "unauthenticated: "},    {403, "permission_denied: "},
    {404, "not_found: "},        {408, "deadline_exceeded: "},  {409, "failed_precondition: "},
    {413, "out_of_range: "},     {429, "resource_exhausted: "}, {500, "internal: "},
    {501, "unimplemented: "},    {503, "unavailable: "},
};

static const char *word_of(int status)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].status == status)
            return words[i].word;
    return "";
}

/* /v1/sprites/{sprite}/fs/… */
static bool is_for_files(const char *path)
{
    const char *at = strstr(path, "/v1/sprites/");

    at = at != NULL ? strchr(at + strlen("/v1/sprites/"), '/') : NULL;
    return at != NULL && strncmp(at, "/fs/", 4) == 0;
}

/* The system's name of an error that is not a file operation's. */
static const char *errno_name_of(int status)
{
    switch (status) {
    case 401:
    case 403: return "EACCES";
    case 404: return "ENOENT";
    case 408: return "ETIMEDOUT";
    case 413: return "EFBIG";
    case 429: return "EAGAIN";
    default: return status >= 500 ? "EIO" : "EINVAL";
    }
}

/* Calls for files have the system's names of errors, all others the daemon's. */
static void put_file_error(struct json_out *o, const struct hf_error *err, const char *detail)
{
    json_kstr(o, "error", detail);
    json_kstr(o, "code",
              err->errno_name != NULL ? err->errno_name : errno_name_of(hf_code_status(err->code)));
    if (err->path[0] != '\0')
        json_kstr(o, "path", err->path);
}

/* Sprites have a code next to the message, machines have one text. */
static void fly_error(struct http_request *rq, const struct hf_error *err)
{
    const char *detail = err->detail[0] != '\0' ? err->detail : hf_code_title(err->code);
    struct json_out o = dialect_reply_open(dialect_base_of(rq));
    int status = hf_code_status(err->code);
    char text[400];

    if (is_for_files(http_path(rq))) {
        put_file_error(&o, err, detail);
    } else if (strstr(http_path(rq), "/v1/sprites") != NULL) {
        json_kstr(&o, "error", hf_code_name(err->code));
        json_kstr(&o, "message", detail);
    } else {
        snprintf(text, sizeof text, "%s%s", word_of(status), detail);
        json_kstr(&o, "error", text);
    }
    dialect_reply_send(rq, status, &o);
}

void fly_error_draining(struct http_request *rq, struct process *p)
{
    struct process_view v;

    process_view(p, &v);
    fly_add_process_header(rq, p);
    dialect_fail(rq, HF_E_internal,
                 "the daemon is shutting down; the command keeps running; see process %s", v.id);
}

/* --- decoding ----------------------------------------------------------------------- */

/* Clients search for "machine not found". */
bool fly_machine(struct http_request *rq)
{
    const char *id = http_param(rq, "machine");

    if (strcmp(id, FLY_MACHINE) == 0)
        return true;
    dialect_fail(rq, HF_E_no_such_sandbox,
                 "machine not found: %.100s; this machine is named " FLY_MACHINE, id);
    return false;
}

struct process *fly_session(struct http_request *rq, const char *id)
{
    struct process *p = engine_find(dialect_base_of(rq)->engine, id, NULL);

    if (p == NULL)
        dialect_fail(rq, HF_E_no_such_process, "session not found: %.100s", id);
    return p;
}

bool fly_admit(struct http_request *rq)
{
    if (fly_of(rq)->waits < LIMIT_WAITS)
        return true;
    dialect_fail(rq, HF_E_too_many_waits, "%d requests are already waiting", LIMIT_WAITS);
    return false;
}

/* --- routes --------------------------------------------------------------------------------- */

#define ROUTE(method, path, handler, role, flags)                                                  \
    BRACES(method, path, handler, role, (flags) | ROUTE_ANY_QUERY, 0, NULL)
#define MACHINE "/v1/apps/{app}/machines/{machine}"
#define SPRITE "/v1/sprites/{sprite}"
#define ALL_METHODS (HTTP_GET_M | HTTP_POST_M | HTTP_PUT_M | HTTP_PATCH_M | HTTP_DELETE_M)
#define FILE_BODY (ROUTE_ANY_QUERY | ROUTE_STREAM_BODY)

static const struct route routes[] = {
    ROUTE(HTTP_GET_M, "/v1/apps/{app}", fly_app_get, ROLE_WATCH, 0),
    ROUTE(HTTP_GET_M, "/v1/apps/{app}/machines", fly_machine_list, ROLE_WATCH, 0),
    ROUTE(HTTP_GET_M, MACHINE, fly_machine_get, ROLE_WATCH, 0),
    ROUTE(HTTP_POST_M, MACHINE "/exec", fly_machine_exec, ROLE_OWN, 0),
    ROUTE(HTTP_GET_M, MACHINE "/ps", fly_machine_ps, ROLE_WATCH, 0),
    ROUTE(HTTP_POST_M, MACHINE "/signal", fly_machine_signal, ROLE_TYPE, 0),
    ROUTE(HTTP_GET_M, MACHINE "/wait", fly_machine_wait, ROLE_WATCH, 0),
    ROUTE(HTTP_POST_M, MACHINE "/start", fly_machine_start, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M | HTTP_DELETE_M, MACHINE, fly_machine_unsupported, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M, MACHINE "/stop", fly_machine_unsupported, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M, MACHINE "/suspend", fly_machine_unsupported, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M, MACHINE "/restart", fly_machine_unsupported, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M, MACHINE "/cordon", fly_machine_unsupported, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M, MACHINE "/uncordon", fly_machine_unsupported, ROLE_OWN, 0),
    ROUTE(ALL_METHODS, MACHINE "/lease", fly_machine_unsupported, ROLE_WATCH, 0),
    ROUTE(ALL_METHODS, MACHINE "/metadata", fly_machine_unsupported, ROLE_WATCH, 0),
    ROUTE(ALL_METHODS, MACHINE "/metadata/{key}", fly_machine_unsupported, ROLE_WATCH, 0),
    ROUTE(HTTP_GET_M, MACHINE "/events", fly_machine_unsupported, ROLE_WATCH, 0),
    ROUTE(HTTP_GET_M, MACHINE "/versions", fly_machine_unsupported, ROLE_WATCH, 0),
    ROUTE(HTTP_POST_M, "/v1/apps/{app}/machines", fly_app_unsupported, ROLE_OWN, 0),
    ROUTE(HTTP_DELETE_M, "/v1/apps/{app}", fly_app_unsupported, ROLE_OWN, 0),
    ROUTE(HTTP_GET_M | HTTP_POST_M, "/v1/apps", fly_app_unsupported, ROLE_WATCH, 0),
    ROUTE(ALL_METHODS, "/v1/apps/{app}/volumes", fly_app_unsupported, ROLE_WATCH, 0),
    ROUTE(ALL_METHODS, "/v1/apps/{app}/volumes/", fly_app_unsupported, ROLE_WATCH, ROUTE_PREFIX),
    ROUTE(ALL_METHODS, "/v1/apps/{app}/secrets", fly_app_unsupported, ROLE_WATCH, 0),
    ROUTE(ALL_METHODS, "/v1/apps/{app}/secrets/", fly_app_unsupported, ROLE_WATCH, ROUTE_PREFIX),

    ROUTE(HTTP_GET_M, "/v1/sprites", fly_sprite_list, ROLE_WATCH, 0),
    ROUTE(HTTP_POST_M, "/v1/sprites", fly_sprite_create, ROLE_OWN, 0),
    ROUTE(HTTP_GET_M, SPRITE, fly_sprite_get, ROLE_WATCH, 0),
    ROUTE(HTTP_DELETE_M, SPRITE, fly_sprite_delete, ROLE_OWN, 0),
    ROUTE(HTTP_GET_M, SPRITE "/exec", fly_sprite_exec, ROLE_WATCH, 0),
    ROUTE(HTTP_POST_M, SPRITE "/exec", fly_sprite_run, ROLE_OWN, 0),
    ROUTE(HTTP_GET_M, SPRITE "/exec/{id}", fly_sprite_attach, ROLE_WATCH, ROUTE_UPGRADE),
    ROUTE(HTTP_POST_M, SPRITE "/exec/{id}/kill", fly_sprite_kill, ROLE_TYPE, 0),

    ROUTE(HTTP_GET_M, SPRITE "/fs/read", fly_fs_read, ROLE_OWN, 0),
    {HTTP_PUT_M, SPRITE "/fs/write", fly_fs_write, ROLE_OWN, FILE_BODY, LIMIT_FILE_BYTES, NULL},
    ROUTE(HTTP_GET_M, SPRITE "/fs/list", fly_fs_list, ROLE_OWN, 0),
    ROUTE(HTTP_DELETE_M, SPRITE "/fs/delete", fly_fs_delete, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M, SPRITE "/fs/rename", fly_fs_rename, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M, SPRITE "/fs/copy", fly_fs_copy, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M, SPRITE "/fs/chmod", fly_fs_chmod, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M, SPRITE "/fs/chown", fly_fs_chown, ROLE_OWN, 0),
    ROUTE(HTTP_GET_M, SPRITE "/fs/watch", fly_fs_watch, ROLE_OWN, ROUTE_UPGRADE),

    ROUTE(HTTP_PUT_M, SPRITE, fly_sprite_unsupported, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M, SPRITE "/upgrade", fly_sprite_unsupported, ROLE_OWN, 0),
    ROUTE(HTTP_POST_M, SPRITE "/restart", fly_sprite_unsupported, ROLE_OWN, 0),
    ROUTE(ALL_METHODS, SPRITE "/check", fly_sprite_unsupported, ROLE_WATCH, 0),
    ROUTE(HTTP_POST_M, SPRITE "/checkpoint", fly_sprite_unsupported, ROLE_OWN, 0),
    ROUTE(ALL_METHODS, SPRITE "/checkpoints", fly_sprite_unsupported, ROLE_WATCH, 0),
    ROUTE(ALL_METHODS, SPRITE "/checkpoints/", fly_sprite_unsupported, ROLE_WATCH, ROUTE_PREFIX),
    ROUTE(ALL_METHODS, SPRITE "/services", fly_sprite_unsupported, ROLE_WATCH, 0),
    ROUTE(ALL_METHODS, SPRITE "/services/", fly_sprite_unsupported, ROLE_WATCH, ROUTE_PREFIX),
    ROUTE(ALL_METHODS, SPRITE "/policy/", fly_sprite_unsupported, ROLE_WATCH, ROUTE_PREFIX),
    ROUTE(HTTP_GET_M, SPRITE "/proxy", fly_sprite_unsupported, ROLE_WATCH, 0),
    ROUTE(HTTP_GET_M, SPRITE "/ports/watch", fly_sprite_unsupported, ROLE_WATCH, 0),
};

/* The scheme of a token that was not issued by Fly. */
static const struct auth_ways ways = {.scheme = "FlyV1"};

/*
 * A machine is as old as the daemon, not as its worker. If the note cannot be stored, the worker's
 * age is used.
 */
static int64_t created(struct engine *e)
{
    size_t len = 0;
    const char *kept = engine_note(e, CREATED_NOTE, &len);
    int64_t ms = clock_wall_ms();
    char text[24] = "";

    if (kept != NULL && len < sizeof text) {
        memcpy(text, kept, len);
        if (text_to_i64(text, 0, INT64_MAX, &ms))
            return ms;
    }
    snprintf(text, sizeof text, "%lld", (long long)ms);
    (void)engine_note_set(e, CREATED_NOTE, text, strlen(text));
    return ms;
}

static void fly_init(struct dialect_base *b)
{
    ((struct fly *)b)->created_ms = created(b->engine);
}

const struct dialect fly_dialect = {
    .name = "fly",
    .port = 4280, /* the port of _api.internal, as machines see it */
    .prefix = "/dialects/fly",
    .groups = ROUTE_GROUPS(routes),
    .ways = &ways,
    .error = fly_error,
    .size = sizeof(struct fly),
    .init = fly_init,
};

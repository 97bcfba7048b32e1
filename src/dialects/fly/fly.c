/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly.c - setup and teardown of the dialect, its routes, replies and errors. Layer: dialects.
 */
#include "dialects/fly/fly.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/braces.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/notes.h"

#define CREATED_NOTE "fly.created"

/* --- replies ------------------------------------------------------------------------ */

struct json_out fly_reply(struct fly *f)
{
    struct json_out o;

    buf_clear(&f->scratch);
    json_out_init(&o, &f->scratch);
    json_open(&o, '{');
    return o;
}

void fly_send(struct http_request *rq, int status, struct json_out *o)
{
    json_close(o, '}');
    http_reply_json(rq, status, o->buf);
    buf_clear(o->buf); /* an exec's reply is large: do not keep it */
}

/* Clients include it in their errors, so that users know which process to inspect. */
void fly_add_process_header(struct http_request *rq, struct process *p)
{
    struct process_view v;

    process_view(p, &v);
    http_add_header(rq, "fly-request-id", v.id);
}

/* The prefix of a machine's errors. */
static const char *word_of(int status)
{
    switch (status) {
    case 400: return "invalid_argument: ";
    case 401: return "unauthenticated: ";
    case 403: return "permission_denied: ";
    case 404: return "not_found: ";
    case 408: return "deadline_exceeded: ";
    case 409: return "failed_precondition: ";
    case 413: return "out_of_range: ";
    case 429: return "resource_exhausted: ";
    case 500: return "internal: ";
    case 503: return "unavailable: ";
    default: return "";
    }
}

/* Sprites have a code next to the message, machines have one text. */
void fly_error(struct http_request *rq, const struct hf_error *err)
{
    const char *detail = err->detail[0] != '\0' ? err->detail : hf_code_title(err->code);
    struct json_out o = fly_reply(fly_of(rq));
    int status = hf_code_status(err->code);
    char text[400];

    if (strstr(http_path(rq), "/v1/sprites") != NULL) {
        json_kstr(&o, "error", hf_code_name(err->code));
        json_kstr(&o, "message", detail);
    } else {
        snprintf(text, sizeof text, "%s%s", word_of(status), detail);
        json_kstr(&o, "error", text);
    }
    fly_send(rq, status, &o);
}

void fly_error_draining(struct http_request *rq, struct process *p)
{
    struct hf_error err = {0};
    struct process_view v;

    process_view(p, &v);
    hf_fail(&err, HF_E_internal,
            "the daemon is shutting down; the command keeps running; see process %s", v.id);
    fly_add_process_header(rq, p);
    fly_error(rq, &err);
}

/* --- decoding ----------------------------------------------------------------------- */

json_t *fly_body(struct http_request *rq)
{
    struct hf_error err = {0};
    size_t len;
    const char *text = http_body(rq, &len);
    json_t *body = json_parse(text, len, &err);

    if (body != NULL && json_is_object(body))
        return body;
    if (body != NULL) {
        json_decref(body);
        hf_fail(&err, HF_E_bad_type, "the body must be a JSON object");
    }
    fly_error(rq, &err);
    return NULL;
}

/* Clients search for "machine not found". */
bool fly_machine(struct http_request *rq)
{
    const char *id = http_param(rq, "machine");
    struct hf_error err = {0};

    if (strcmp(id, FLY_MACHINE) == 0)
        return true;
    hf_fail(&err, HF_E_no_such_sandbox,
            "machine not found: %.100s; this machine is named " FLY_MACHINE, id);
    fly_error(rq, &err);
    return false;
}

struct process *fly_session(struct http_request *rq)
{
    const char *id = http_param(rq, "id");
    struct process *p = engine_find(fly_of(rq)->engine, id, NULL);
    struct hf_error err = {0};

    if (p == NULL) {
        hf_fail(&err, HF_E_no_such_process, "session not found: %.100s", id);
        fly_error(rq, &err);
    }
    return p;
}

bool fly_admit(struct http_request *rq)
{
    struct hf_error err = {0};

    if (fly_of(rq)->waits < LIMIT_WAITS)
        return true;
    hf_fail(&err, HF_E_too_many_waits, "%d requests are already waiting", LIMIT_WAITS);
    fly_error(rq, &err);
    return false;
}

/* --- routes --------------------------------------------------------------------------------- */

#define ROUTE(method, path, handler, role, flags)                                                  \
    BRACES(method, path, handler, role, (flags) | ROUTE_ANY_QUERY, 0, NULL)
#define MACHINE "/v1/apps/{app}/machines/{machine}"
#define SPRITE "/v1/sprites/{sprite}"

static const struct route routes[] = {
    ROUTE(HTTP_GET_M, "/v1/apps/{app}", fly_app_get, ROLE_WATCH, 0),
    ROUTE(HTTP_GET_M, "/v1/apps/{app}/machines", fly_machine_list, ROLE_WATCH, 0),
    ROUTE(HTTP_GET_M, MACHINE, fly_machine_get, ROLE_WATCH, 0),
    ROUTE(HTTP_POST_M, MACHINE "/exec", fly_machine_exec, ROLE_OWN, 0),
    ROUTE(HTTP_GET_M, MACHINE "/ps", fly_machine_ps, ROLE_WATCH, 0),
    ROUTE(HTTP_POST_M, MACHINE "/signal", fly_machine_signal, ROLE_TYPE, 0),
    ROUTE(HTTP_GET_M, MACHINE "/wait", fly_machine_wait, ROLE_WATCH, 0),

    ROUTE(HTTP_GET_M, "/v1/sprites", fly_sprite_list, ROLE_WATCH, 0),
    ROUTE(HTTP_POST_M, "/v1/sprites", fly_sprite_create, ROLE_OWN, 0),
    ROUTE(HTTP_GET_M, SPRITE, fly_sprite_get, ROLE_WATCH, 0),
    ROUTE(HTTP_GET_M, SPRITE "/exec", fly_sprite_exec, ROLE_WATCH, 0),
    ROUTE(HTTP_POST_M, SPRITE "/exec", fly_sprite_run, ROLE_OWN, 0),
    ROUTE(HTTP_GET_M, SPRITE "/exec/{id}", fly_sprite_attach, ROLE_WATCH, ROUTE_UPGRADE),
    ROUTE(HTTP_POST_M, SPRITE "/exec/{id}/kill", fly_sprite_kill, ROLE_TYPE, 0),
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

static void *fly_make(const struct dialect_host *host)
{
    struct fly *f = hf_xalloc(sizeof *f);

    f->engine = host->engine;
    f->loop = host->loop;
    f->created_ms = created(host->engine);
    list_init(&f->pending);
    f->table = (struct route_table){
        .prefix = "/dialects/fly",
        .routes = routes,
        .count = sizeof routes / sizeof *routes,
        .error = fly_error,
        .context = f,
        .ways = &ways,
    };
    return f;
}

static const struct route_table *fly_routes(void *self)
{
    return &((struct fly *)self)->table;
}

static void fly_drain(void *self)
{
    struct fly *f = self;

    f->draining = true;
    pending_drain(&f->pending);
}

static void fly_free(void *self)
{
    struct fly *f = self;

    pending_free(&f->pending);
    buf_fini(&f->scratch);
    free(f);
}

static const struct route_group groups[] = {
    {"", routes, sizeof routes / sizeof *routes},
    {NULL, NULL, 0},
};

const struct dialect fly_dialect = {
    .name = "fly",
    .port = 4280, /* the port of _api.internal, as machines see it */
    .prefix = "/dialects/fly",
    .groups = groups,
    .ways = &ways,
    .make = fly_make,
    .routes = fly_routes,
    .drain = fly_drain,
    .free = fly_free,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper.c - setup and teardown of the dialect, its routes, replies and errors. Layer: dialects.
 */
#include "dialects/hyperbrowser/hyper.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/braces.h"
#include "base/mem.h"
#include "base/text.h"

/* --- replies ------------------------------------------------------------------------ */

struct json_out hyper_reply(struct hyper *h)
{
    struct json_out o;

    buf_clear(&h->scratch);
    json_out_init(&o, &h->scratch);
    json_open(&o, '{');
    return o;
}

void hyper_send(struct http_request *rq, int status, struct json_out *o)
{
    json_close(o, '}');
    http_reply_json(rq, status, o->buf);
}

/* The codes that clients know by the original's names. */
static const char *code_of(enum hf_code code)
{
    switch (code) {
    case HF_E_no_such_process:
    case HF_E_no_such_sandbox: return "not_found";
    case HF_E_offset_gone: return "replay_window_expired";
    case HF_E_request_timeout: return "timeout";
    default: return hf_code_name(code);
    }
}

void hyper_error(struct http_request *rq, const struct hf_error *err)
{
    struct json_out o = hyper_reply(hyper_of(rq));

    json_kstr(&o, "error", err->detail[0] != '\0' ? err->detail : hf_code_title(err->code));
    json_kstr(&o, "code", code_of(err->code));
    if (err->field[0] != '\0')
        json_kstr(&o, "field", err->field);
    hyper_send(rq, hf_code_status(err->code), &o);
}

/* --- decoding ----------------------------------------------------------------------- */

json_t *hyper_body(struct http_request *rq)
{
    struct hf_error err = {0};
    size_t len;
    const char *text = http_body(rq, &len);
    json_t *body = len == 0 ? json_object() : json_parse(text, len, &err);

    if (body != NULL && json_is_object(body))
        return body;
    if (body != NULL) {
        json_decref(body);
        hf_fail(&err, HF_E_bad_type, "the body must be a JSON object");
    }
    hyper_error(rq, &err);
    return NULL;
}

struct process *hyper_process(struct http_request *rq)
{
    const char *id = http_param(rq, "id");
    struct process *p = engine_find(hyper_of(rq)->engine, id, NULL);
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

/* The runtime's paths are below /sandbox, or below /sandbox/ID if one address serves many. */
#define BOTH(method, path, handler, role, flags)                                                   \
    BRACES(method, "/sandbox" path, handler, role, (flags) | ROUTE_ANY_QUERY, 0, NULL),            \
        BRACES(method, "/sandbox/{sandbox}" path, handler, role, (flags) | ROUTE_ANY_QUERY, 0,     \
               NULL)
#define CONTROL(method, path, handler, role)                                                       \
    BRACES(method, "/api" path, handler, role, ROUTE_ANY_QUERY, 0, NULL)

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
};

/* The control plane's API key is accepted by the runtime as well. */
static const struct auth_ways ways = {.headers = "x-api-key"};

static void *hyper_make(const struct dialect_host *host)
{
    struct hyper *h = hf_xalloc(sizeof *h);

    h->engine = host->engine;
    h->loop = host->loop;
    list_init(&h->pending);
    input_call_queue_init(&h->typing, &h->pending);
    h->table = (struct route_table){
        .prefix = "/dialects/hyperbrowser",
        .routes = routes,
        .count = sizeof routes / sizeof *routes,
        .error = hyper_error,
        .context = h,
        .ways = &ways,
    };
    return h;
}

static const struct route_table *hyper_routes(void *self)
{
    return &((struct hyper *)self)->table;
}

static void hyper_drain(void *self)
{
    struct hyper *h = self;

    h->draining = true;
    pending_drain(&h->pending);
}

static void hyper_free(void *self)
{
    struct hyper *h = self;

    pending_free(&h->pending);
    buf_fini(&h->scratch);
    free(h);
}

static const struct route_group groups[] = {
    {"", routes, sizeof routes / sizeof *routes},
    {NULL, NULL, 0},
};

const struct dialect hyperbrowser_dialect = {
    .name = "hyperbrowser",
    .port = 8090, /* the original has no port: it is a service */
    .prefix = "/dialects/hyperbrowser",
    .groups = groups,
    .ways = &ways,
    .make = hyper_make,
    .routes = hyper_routes,
    .drain = hyper_drain,
    .free = hyper_free,
};

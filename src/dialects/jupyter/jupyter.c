/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jupyter.c - /api/terminals: create, list, get, delete. Layer: dialects.
 */
#include "dialects/jupyter/jupyter.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "dialects/common/dialect_base.h"
#include "dialects/common/end_call.h"
#include "dialects/common/error_row.h"
#include "dialects/common/spec_decode.h"
#include "dialects/common/start_call.h"

#define ID_PREFIX "proc_"
#define NAME_BYTES 100 /* of a name; Jupyter's own are numbers */
#define HANGUP_WAIT_MS 1000
#define KILL_WAIT_MS 2000

/* --- errors ------------------------------------------------------------------ */

static const struct error_row errors[] = {
    {HF_E_spawn_failed, 400, .word = "Bad Request"},
};

static void jupyter_error(struct http_request *rq, const struct hf_error *err)
{
    const struct error_row row = ERROR_ROW(errors, err->code);
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "message", err->detail);
    json_knull(&o, "reason");
    dialect_reply_send(rq, row.status, &o);
}

/* --- names ------------------------------------------------------------------------------- */

/* As in the original's routes: a word. */
bool jupyter_name_is_valid(const char *name)
{
    size_t len = 0;

    while (isalnum((unsigned char)name[len]) || name[len] == '_')
        len++;
    return name[len] == '\0' && len > 0 && len <= NAME_BYTES;
}

static bool is_id(const char *name)
{
    return strncmp(name, ID_PREFIX, sizeof ID_PREFIX - 1) == 0;
}

static const char *name_of(const struct process_view *v)
{
    return v->tag != NULL && jupyter_name_is_valid(v->tag) && !is_id(v->tag) ? v->tag : v->id;
}

/* NULL: there is no such process with a terminal. */
static struct process *find_name(struct engine *e, const char *name)
{
    char ref[NAME_BYTES + 8];
    struct process *p;

    if (!jupyter_name_is_valid(name))
        return NULL;
    snprintf(ref, sizeof ref, "%s%s", is_id(name) ? "" : "tag:", name);
    p = engine_find(e, ref, NULL);
    return p != NULL && process_has_terminal(p) ? p : NULL;
}

struct process *jupyter_find(struct http_request *rq, bool exited)
{
    const char *name = http_param(rq, "name");
    struct process *p = find_name(dialect_base_of(rq)->engine, name);

    if (p != NULL && (exited || process_is_running(p)))
        return p;
    dialect_fail(rq, HF_E_no_such_process, "Terminal not found: %.100s", name);
    return NULL;
}

/* --- handlers -------------------------------------------------------------------------------- */

static void write_terminal(struct json_out *o, const struct process_view *v)
{
    int64_t last = v->last_output_ms > v->last_input_ms ? v->last_output_ms : v->last_input_ms;

    json_kstr(o, "name", name_of(v));
    json_ktime(o, "last_activity", last > v->created_ms ? last : v->created_ms);
}

static void reply_terminal(struct http_request *rq, struct process *p)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));
    struct process_view v;

    process_view(p, &v);
    write_terminal(&o, &v);
    dialect_reply_send(rq, 200, &o);
}

static void terminals_list(struct http_request *rq)
{
    struct dialect_base *b = dialect_base_of(rq);
    struct json_out o = dialect_array_open(b);
    struct process *p = NULL;
    struct process_view v;

    while ((p = engine_next_oldest(b->engine, p)) != NULL) {
        process_view(p, &v);
        if (!v.pty || !v.running)
            continue;
        json_open(&o, '{');
        write_terminal(&o, &v);
        json_close(&o, '}');
    }
    json_close(&o, ']');
    http_reply_json(rq, 200, o.buf);
}

static void terminal_start(struct http_request *rq, struct spawn_spec *s)
{
    if (s->tag != NULL && (!jupyter_name_is_valid(s->tag) || is_id(s->tag))) {
        dialect_fail(rq, HF_E_bad_value,
                     "a terminal's name must be a word that is not a process id");
        return;
    }
    s->command = spec_default_shell();
    s->pty = true;
    s->size_policy = SIZE_SMALLEST;
    start_call_reply(rq, s, reply_terminal);
}

static void terminal_create(struct http_request *rq)
{
    static const struct json_field fields[] = {
        SPEC_FIELD("name", STR, spec.tag),
        SPEC_FIELD("cwd", STR, spec.cwd),
    };
    json_auto_t *body = dialect_object(rq);
    struct spec_body terminal;
    struct hf_error err = {0};

    if (body == NULL)
        return;
    spec_body_init(&terminal);
    if (!dialect_failed(rq, spec_body_decode(&terminal, body, fields, 2, &err), &err))
        terminal_start(rq, &terminal.spec);
    spec_body_fini(&terminal);
}

static void terminal_get(struct http_request *rq)
{
    struct process *p = jupyter_find(rq, false);

    if (p != NULL)
        reply_terminal(rq, p);
}

static void killed(struct http_request *rq, struct process *p)
{
    (void)p;
    http_reply_empty(rq, 204);
}

static void hung_up(struct http_request *rq, struct process *p)
{
    if (process_is_running(p))
        end_call_signal(rq, p, SIGKILL, KILL_WAIT_MS, killed);
    else
        killed(rq, p);
}

/* A shell saves its history at a hangup. */
static void terminal_delete(struct http_request *rq)
{
    struct process *p = jupyter_find(rq, false);

    if (p != NULL)
        end_call_signal(rq, p, SIGHUP, HANGUP_WAIT_MS, hung_up);
}

/* --- routes --------------------------------------------------------------------------------- */

#define ALL "/api/terminals"
#define ONE "/api/terminals/{name}"

/* Clients add a timestamp to the query, against caches. */
static const struct route routes[] = {
    {HTTP_GET_M, ALL, terminals_list, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_POST_M, ALL, terminal_create, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, ONE, terminal_get, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_DELETE_M, ONE, terminal_delete, ROLE_OWN, ROUTE_ANY_QUERY, 0, NULL},
    {HTTP_GET_M, "/terminals/websocket/{name}", jupyter_socket, ROLE_WATCH,
     ROUTE_UPGRADE | ROUTE_ANY_QUERY, 0, NULL},
};

const struct dialect jupyter_dialect = {
    .name = "jupyter",
    .port = 8888,
    .prefix = "/dialects/jupyter",
    .groups = ROUTE_GROUPS(routes),
    .ways = &(const struct auth_ways){.scheme = "token", .query = "token"},
    .error = jupyter_error,
    .size = sizeof(struct dialect_base),
};

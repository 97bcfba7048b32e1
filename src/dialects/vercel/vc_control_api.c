/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_control_api.c - creates, finds, lists and stops sandboxes and sessions
 *
 * We do not provide images, sizes, networks or ports: the machine already exists, and we report
 * what it has. In version 1 a sandbox was what a session is now, under the session's id. Layer:
 * dialects.
 */
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "dialects/common/end_call.h"
#include "dialects/vercel/vercel.h"

#define REGION "local"

/* --- objects ---------------------------------------------------------------------------- */

static const char *status_of(const struct vc_sandbox *b)
{
    return b->stopped ? "stopped" : "running";
}

static int64_t memory_mb(void)
{
    struct sysinfo s;

    return sysinfo(&s) < 0 ? 0 : (int64_t)((uint64_t)s.totalram * s.mem_unit >> 20);
}

static void write_machine(struct json_out *o)
{
    json_kint(o, "memory", memory_mb());
    json_kint(o, "vcpus", get_nprocs());
    json_kstr(o, "region", REGION);
    json_kstr(o, "runtime", REGION);
}

/* The port has no meaning, but the platform's command line refuses a session without one. */
static void write_session(struct json_out *o, const struct vc_sandbox *b, const char *cwd)
{
    json_open(o, '{');
    json_kstr(o, "id", b->session);
    write_machine(o);
    json_kint(o, "timeout", vc_sandbox_timeout_ms(b));
    json_kstr(o, "status", status_of(b));
    json_kint(o, "requestedAt", b->began_ms);
    json_kint(o, "startedAt", b->began_ms);
    json_kint(o, "createdAt", b->began_ms);
    json_kint(o, "updatedAt", b->changed_ms);
    if (b->stopped)
        json_kint(o, "stoppedAt", b->changed_ms);
    json_kstr(o, "cwd", cwd);
    json_kint(o, "interactivePort", VC_PORT);
    json_close(o, '}');
}

static void write_sandbox(struct json_out *o, const struct vc_sandbox *b, const char *cwd)
{
    json_open(o, '{');
    json_kstr(o, "name", b->name);
    json_kbool(o, "persistent", true);
    write_machine(o);
    json_kint(o, "timeout", b->usual_ms);
    json_kint(o, "createdAt", b->created_ms);
    json_kint(o, "updatedAt", b->changed_ms);
    json_kstr(o, "currentSessionId", b->session);
    json_kstr(o, "status", status_of(b));
    json_kstr(o, "cwd", cwd);
    if (b->tags != NULL) {
        json_key(o, "tags");
        json_value(o, b->tags);
    }
    json_close(o, '}');
}

static void write_routes(struct json_out *o)
{
    json_key(o, "routes");
    json_raw(o, "[]", 2);
}

/* {sandbox, session, routes}, or the version 1 equivalent. */
static void reply_sandbox(struct http_request *rq, const struct vc_sandbox *b, bool resumed)
{
    struct vercel *v = vc_of(rq);
    struct json_out o = dialect_reply_open(&v->base);

    json_key(&o, "sandbox");
    if (vc_is_v1(rq)) {
        write_session(&o, b, v->cwd);
    } else {
        write_sandbox(&o, b, v->cwd);
        json_key(&o, "session");
        write_session(&o, b, v->cwd);
        json_kbool(&o, "resumed", resumed);
    }
    write_routes(&o);
    dialect_reply_send(rq, 200, &o);
}

static void reply_removed(struct http_request *rq, const struct vc_sandbox *b)
{
    struct vercel *v = vc_of(rq);
    struct json_out o = dialect_reply_open(&v->base);

    json_key(&o, "sandbox");
    write_sandbox(&o, b, v->cwd);
    dialect_reply_send(rq, 200, &o);
}

/* {session}, or {sandbox}. */
static struct json_out session_open(struct http_request *rq, const struct vc_sandbox *b)
{
    struct vercel *v = vc_of(rq);
    struct json_out o = dialect_reply_open(&v->base);

    json_key(&o, vc_is_v1(rq) ? "sandbox" : "session");
    write_session(&o, b, v->cwd);
    return o;
}

static void reply_session(struct http_request *rq, const struct vc_sandbox *b)
{
    struct json_out o = session_open(rq, b);

    dialect_reply_send(rq, 200, &o);
}

/* --- sandboxes ----------------------------------------------------------------------------- */

void vc_sandbox_create(struct http_request *rq)
{
    struct boxes *all = &vc_of(rq)->boxes;
    json_auto_t *body = dialect_object(rq);
    struct hf_error err = {0};
    struct vc_create request;
    struct vc_sandbox *b;

    if (body == NULL)
        return;
    if (vc_decode_create(&request, body, &err) < 0) {
        vc_error(rq, &err);
    } else if (request.name != NULL && vc_sandbox_named(all, request.name) != NULL) {
        vc_refuse(rq, 409, "conflict", "a sandbox of this name already exists");
    } else if ((b = vc_sandbox_new(all, &request, &err)) == NULL) {
        vc_error(rq, &err);
    } else {
        reply_sandbox(rq, b, false);
    }
}

/* NULL: replied. */
static struct vc_sandbox *named(struct http_request *rq)
{
    const char *name = http_param(rq, "name");
    struct vc_sandbox *b = vc_sandbox_named(&vc_of(rq)->boxes, name);
    char message[200];

    if (b == NULL) {
        snprintf(message, sizeof message,
                 "no sandbox %.100s; the one that always exists is called " BOX_LOCAL, name);
        vc_refuse(rq, 404, "not_found", message);
    }
    return b;
}

void vc_sandbox_get(struct http_request *rq)
{
    struct vc_sandbox *b = named(rq);
    bool again;

    if (b == NULL)
        return;
    again = b->stopped && dialect_query_flag(rq, "resume");
    if (again && http_role(rq) < ROLE_OWN) {
        vc_refuse(rq, 403, "forbidden", "this token may not resume a sandbox");
        return;
    }
    if (again)
        vc_sandbox_resume(&vc_of(rq)->boxes, b);
    reply_sandbox(rq, b, again);
}

/* The reply says what now holds. Sizes, ports and similar settings are passed over as in create. */
void vc_sandbox_update(struct http_request *rq)
{
    struct vercel *v = vc_of(rq);
    struct vc_sandbox *b = named(rq);
    json_auto_t *body = b == NULL ? NULL : dialect_object(rq);
    struct hf_error err = {0};
    struct vc_create request;
    struct json_out o;

    if (body == NULL)
        return;
    if (vc_decode_update(&request, body, &err) < 0 ||
        vc_sandbox_change(&v->boxes, b, &request, &err) < 0) {
        vc_error(rq, &err);
        return;
    }
    o = dialect_reply_open(&v->base);
    json_key(&o, "sandbox");
    write_sandbox(&o, b, v->cwd);
    write_routes(&o);
    dialect_reply_send(rq, 200, &o);
}

/* Filters are NAME:VALUE, as clients of the platform send them. */
static bool has_tag(const struct vc_sandbox *b, const char *filter)
{
    const char *name;
    json_t *value;

    json_object_foreach (b->tags, name, value) {
        size_t len = strlen(name);

        if (strncmp(filter, name, len) == 0 && filter[len] == ':' &&
            strcmp(filter + len + 1, json_string_value(value)) == 0)
            return true;
    }
    return false;
}

static bool is_wanted(const struct http_request *rq, const struct vc_sandbox *b)
{
    const char *prefix = http_query(rq, "namePrefix"), *name = http_query(rq, "name");
    const char *tag = http_query(rq, "tags");

    if (tag != NULL && !has_tag(b, tag))
        return false;
    return (prefix == NULL || strncmp(b->name, prefix, strlen(prefix)) == 0) &&
           (name == NULL || strcmp(b->name, name) == 0);
}

typedef void write_fn(struct json_out *o, const struct vc_sandbox *b, const char *cwd);

/* All on one page: there are few. */
static void reply_list(struct http_request *rq, const char *key, write_fn *write)
{
    struct vercel *v = vc_of(rq);
    struct json_out o;
    size_t count = 0;

    (void)vc_sandbox_named(&v->boxes, BOX_LOCAL);
    o = dialect_reply_open(&v->base);
    json_key(&o, key);
    json_open(&o, '[');
    for (size_t i = v->boxes.count; i-- > 0;)
        if (is_wanted(rq, &v->boxes.list[i])) {
            write(&o, &v->boxes.list[i], v->cwd);
            count++;
        }
    json_close(&o, ']');
    json_key(&o, "pagination");
    json_open(&o, '{');
    json_ku64(&o, "count", count);
    json_knull(&o, "next");
    if (vc_is_v1(rq)) /* later ones have a cursor, which only moves on */
        json_knull(&o, "prev");
    json_close(&o, '}');
    dialect_reply_send(rq, 200, &o);
}

void vc_sandbox_list(struct http_request *rq)
{
    reply_list(rq, "sandboxes", vc_is_v1(rq) ? write_session : write_sandbox);
}

void vc_session_list(struct http_request *rq)
{
    reply_list(rq, "sessions", write_session);
}

/* --- sessions --------------------------------------------------------------------------------- */

/* A session that was stopped is known until the next one is. False: replied. */
static bool session(struct http_request *rq, struct vc_sandbox *out)
{
    return vc_sandbox_at_session(&vc_of(rq)->boxes, http_param(rq, "session"), out) ||
           vc_session(rq) != NULL;
}

void vc_session_get(struct http_request *rq)
{
    struct vc_sandbox b;
    struct json_out o;

    if (!session(rq, &b))
        return;
    o = session_open(rq, &b);
    write_routes(&o);
    dialect_reply_send(rq, 200, &o);
}

void vc_session_policy(struct http_request *rq)
{
    struct vc_sandbox *b = vc_session(rq);
    json_auto_t *body = b == NULL ? NULL : dialect_object(rq);
    struct hf_error err = {0};

    if (body == NULL)
        return;
    if (vc_check_policy(body, &err) < 0)
        vc_error(rq, &err);
    else
        reply_session(rq, b);
}

/* The newest LIMIT_VERCEL_COMMANDS that were started in a session. */
void vc_list_commands(struct http_request *rq)
{
    const char *id = http_param(rq, "session");
    struct engine *e = dialect_base_of(rq)->engine;
    struct process *p = NULL;
    struct json_out o;
    int left = LIMIT_VERCEL_COMMANDS;

    if (!session(rq, &(struct vc_sandbox){0}))
        return;
    o = dialect_reply_open(dialect_base_of(rq));
    json_kopen(&o, "commands", '[');
    while (left > 0 && (p = engine_next(e, p)) != NULL) {
        struct process_view v;

        process_view(p, &v);
        if (v.session_id == NULL || strcmp(v.session_id, id) != 0)
            continue;
        vc_write_command(&o, p, id, vc_is_v1(rq));
        left--;
    }
    json_close(&o, ']');
    dialect_reply_send(rq, 200, &o);
}

void vc_session_extend(struct http_request *rq)
{
    struct vc_sandbox *b = vc_session(rq);
    json_auto_t *body = b == NULL ? NULL : dialect_object(rq);
    struct hf_error err = {0};
    int64_t ms;

    if (body == NULL)
        return;
    if (vc_decode_duration(body, &ms, &err) < 0) {
        vc_error(rq, &err);
        return;
    }
    vc_sandbox_extend(&vc_of(rq)->boxes, b, ms);
    reply_session(rq, b);
}

/* --- stopping ------------------------------------------------------------------------------- */

struct vc_stop {
    struct end_call end;
    struct vc_sandbox at_stop; /* a sandbox that is resumed meanwhile has another session */
    bool removed;              /* remove the sandbox with its commands */
};

static void stop_done(struct end_call *e, struct http_request *rq, const struct hf_error *err)
{
    const struct vc_stop *s = list_entry(e, struct vc_stop, end);
    struct vercel *v = (struct vercel *)e->call.base;
    struct vc_sandbox *b = vc_sandbox_of_session(&v->boxes, s->at_stop.session);

    (void)err;
    if (rq != NULL && !s->removed)
        reply_session(rq, &s->at_stop);
    else if (rq != NULL)
        reply_removed(rq, &s->at_stop);
    /* One that was resumed meanwhile is another's. The permanent sandbox is only stopped. */
    if (s->removed && b != NULL && strcmp(b->name, BOX_LOCAL) != 0)
        vc_sandbox_remove(&v->boxes, b);
}

/* Terminates what was started in this session. Others may share the daemon, so it keeps running. */
static void stop(struct http_request *rq, struct vc_sandbox *b, bool removed)
{
    struct vercel *v = vc_of(rq);
    struct vc_stop *s = end_call_begin(rq, stop_done, sizeof *s);
    struct process *p = NULL;

    s->removed = removed;
    if (!b->stopped)
        vc_sandbox_stop(&v->boxes, b);
    s->at_stop = *b;
    s->at_stop.env = s->at_stop.tags = NULL;
    while ((p = engine_next_all(v->base.engine, p)) != NULL) {
        struct process_view view;

        process_view(p, &view);
        if (view.running && view.session_id != NULL &&
            strcmp(view.session_id, s->at_stop.session) == 0)
            end_call_terminate(&s->end, p, -1);
    }
    end_call_wait(&s->end);
}

void vc_session_stop(struct http_request *rq)
{
    const char *id = http_param(rq, "session");
    struct vc_sandbox *b = vc_sandbox_of_session(&vc_of(rq)->boxes, id), last;

    if (b != NULL)
        stop(rq, b, false);
    else if (session(rq, &last))
        reply_session(rq, &last);
}

void vc_sandbox_delete(struct http_request *rq)
{
    struct vc_sandbox *b = named(rq);

    if (b != NULL)
        stop(rq, b, true);
}

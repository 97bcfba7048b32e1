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

/* {session, routes}, or {sandbox, routes}. */
static void reply_session(struct http_request *rq, const struct vc_sandbox *b)
{
    struct vercel *v = vc_of(rq);
    struct json_out o = dialect_reply_open(&v->base);

    json_key(&o, vc_is_v1(rq) ? "sandbox" : "session");
    write_session(&o, b, v->cwd);
    write_routes(&o);
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
    const char *resume = http_query(rq, "resume");
    struct vc_sandbox *b = named(rq);
    bool again;

    if (b == NULL)
        return;
    again = b->stopped && resume != NULL && strcmp(resume, "true") == 0;
    if (again && http_role(rq) < ROLE_OWN) {
        vc_refuse(rq, 403, "forbidden", "this token may not resume a sandbox");
        return;
    }
    if (again)
        vc_sandbox_resume(&vc_of(rq)->boxes, b);
    reply_sandbox(rq, b, again);
}

static bool is_wanted(const struct http_request *rq, const struct vc_sandbox *b)
{
    const char *prefix = http_query(rq, "namePrefix"), *name = http_query(rq, "name");

    if (http_query(rq, "tags") != NULL) /* none of ours has any */
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

/* Also for a stopped session, as long as it is the last. */
static struct vc_sandbox *session(struct http_request *rq)
{
    struct vc_sandbox *b = vc_sandbox_of_session(&vc_of(rq)->boxes, http_param(rq, "session"));

    return b != NULL ? b : vc_session(rq);
}

void vc_session_get(struct http_request *rq)
{
    struct vc_sandbox *b = session(rq);

    if (b != NULL)
        reply_session(rq, b);
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
    struct call call;
    char session[BOX_SESSION_BYTES + 1];
    size_t left;  /* commands that are being terminated, plus one for the loop that counts them */
    bool removed; /* remove the sandbox with them */
};

/* The grace period ends soon. */
static const struct call_kind stop_kind = {.stays = true};

static void on_ended(void *arg, struct process *p, const struct survivors *survivors)
{
    struct vc_stop *s = arg;
    struct vercel *v = (struct vercel *)s->call.base;
    struct vc_sandbox *b;
    struct http_request *rq;
    bool removed = s->removed;

    (void)p, (void)survivors;
    if (--s->left > 0)
        return;
    b = vc_sandbox_of_session(&v->boxes, s->session);
    rq = call_end(&s->call);
    if (rq != NULL && b == NULL)
        vc_refuse(rq, 410, "sandbox_stopped", "it has been removed in the meantime");
    else if (rq != NULL && !removed)
        reply_session(rq, b);
    else if (rq != NULL)
        reply_removed(rq, b);
    /* The permanent sandbox is only stopped. */
    if (removed && b != NULL && strcmp(b->name, BOX_LOCAL) != 0)
        vc_sandbox_remove(&v->boxes, b);
}

/* Terminates what was started in this session. Others may share the daemon, so it keeps running. */
static void stop(struct http_request *rq, struct vc_sandbox *b, bool removed)
{
    struct vercel *v = vc_of(rq);
    struct vc_stop *s = call_begin(rq, &stop_kind, sizeof *s);
    struct process *p = NULL;

    s->left = 1;
    s->removed = removed;
    memcpy(s->session, b->session, sizeof s->session);
    if (!b->stopped)
        vc_sandbox_stop(&v->boxes, b);
    while ((p = engine_next_all(v->base.engine, p)) != NULL) {
        struct process_view view;

        process_view(p, &view);
        if (view.running && view.session_id != NULL && strcmp(view.session_id, s->session) == 0) {
            s->left++;
            process_terminate(p, -1, "api", on_ended, s);
        }
    }
    on_ended(s, NULL, NULL);
}

void vc_session_stop(struct http_request *rq)
{
    struct vc_sandbox *b = session(rq);

    if (b != NULL)
        stop(rq, b, false);
}

void vc_sandbox_delete(struct http_request *rq)
{
    struct vc_sandbox *b = named(rq);

    if (b != NULL)
        stop(rq, b, true);
}

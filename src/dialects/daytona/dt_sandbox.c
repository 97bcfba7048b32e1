/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_sandbox.c - the control plane of one sandbox that always exists
 *
 * A client creates or finds its sandbox through the control plane, which returns the toolbox's
 * address. Here both are this daemon: the address is the one that the client used. What a client
 * sets on its sandbox (labels, the language of its code) is kept in a note, for later requests.
 * Layer: dialects.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dialects/common/end_call.h"
#include "dialects/common/machine.h"
#include "dialects/common/own_url.h"
#include "dialects/daytona/daytona.h"
#include "engine/users.h"

#define NOTE "daytona.labels"
#define LANGUAGE "code-toolbox-language"

/* --- address and state ----------------------------------------------------------------------- */

/* The control plane's paths may or may not begin with /api. */
static void write_url(struct json_out *o, const char *key, const struct http_request *rq)
{
    size_t mount = own_url_mount(rq, "/sandbox");
    struct buf url = {0};

    if (mount >= 4 && strncmp(http_path(rq) + mount - 4, "/api", 4) == 0)
        mount -= 4;
    own_url_put(&url, rq, "http", mount);
    buf_puts(&url, "/toolbox");
    json_kstr(o, key, buf_cstr(&url));
    buf_fini(&url);
}

/* Whole units, as the platform counts quotas. What is there is at least one. */
static int64_t gib(uint64_t bytes)
{
    uint64_t whole = (bytes + (1ULL << 29)) >> 30;

    return whole > 0 || bytes == 0 ? (int64_t)whole : 1;
}

static void write_machine(struct json_out *o)
{
    struct machine m;

    machine_read(&m);
    json_kint(o, "cpu", m.cpus);
    json_kint(o, "gpu", 0);
    json_kint(o, "memory", gib(m.memory_bytes));
    json_kint(o, "disk", gib(m.disk_bytes));
    json_ktime(o, "createdAt", m.started_ms);
    json_ktime(o, "updatedAt", m.started_ms);
}

/* The user of processes that name none. */
static void write_user(struct json_out *o, const struct dialect_base *b)
{
    struct hf_error err = {0};
    struct user u;
    char uid[16];

    snprintf(uid, sizeof uid, "%u", (unsigned)b->host.own_uid);
    json_kstr(o, "user", user_find(uid, &u, &err) == 0 && u.name[0] != '\0' ? u.name : uid);
}

/* Values may be secret, and the platform does not report them to every reader either. */
static void write_env(struct json_out *o, const struct http_request *rq)
{
    json_auto_t *env = http_role(rq) == ROLE_OWN ? dt_env_set(dt_of(rq)) : json_object();

    json_key(o, "env");
    json_value(o, env);
}

/* What a list says of a sandbox. */
static void write_item(struct json_out *o, const struct http_request *rq, const char *state)
{
    json_auto_t *labels = dialect_note(dialect_base_of(rq)->engine, NOTE);

    json_kstr(o, "id", DT_SANDBOX);
    json_kstr(o, "name", DT_SANDBOX);
    json_kstr(o, "organizationId", DT_SANDBOX);
    json_kstr(o, "target", DT_SANDBOX);
    json_kstr(o, "state", state);
    json_kstr(o, "desiredState", state);
    json_kstr(o, "sandboxClass", "container");
    write_user(o, dialect_base_of(rq));
    json_kbool(o, "public", false);
    json_kbool(o, "networkBlockAll", false);
    write_machine(o);
    json_key(o, "labels");
    if (labels == NULL)
        labels = json_pack("{s:s}", LANGUAGE, "python");
    json_value(o, labels);
    write_url(o, "toolboxProxyUrl", rq);
}

/* What older clients have in their lists, too. */
static void write_item_env(struct json_out *o, const struct http_request *rq, const char *state)
{
    write_item(o, rq, state);
    write_env(o, rq);
}

/* What the sandbox says of itself: the same, and what the platform leaves out of all lists. */
static void write_sandbox(struct json_out *o, const struct http_request *rq, const char *state)
{
    write_item_env(o, rq, state);
    json_kbool(o, "kvm", access("/dev/kvm", F_OK) == 0);
}

static void reply_sandbox(struct http_request *rq, const char *state)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    write_sandbox(&o, rq, state);
    dialect_reply_send(rq, 200, &o);
}

/* False: the request has been replied to. */
static bool is_ours(struct http_request *rq)
{
    const char *id = http_param(rq, "sandbox");

    if (strcmp(id, DT_SANDBOX) == 0)
        return true;
    dt_fail(rq, 404, "NOT_FOUND", "Sandbox %.100s not found: this sandbox is named " DT_SANDBOX,
            id);
    return false;
}

/* --- create, get, list ------------------------------------------------------------------------ */

static int labels_keep(struct engine *e, const json_t *labels, struct hf_error *err)
{
    const char *name;
    json_t *v;

    if (labels == NULL || json_is_null(labels))
        return 0;
    if (!json_is_object(labels))
        return hf_fail(err, HF_E_bad_type, "labels must be an object of strings");
    json_object_foreach ((json_t *)(uintptr_t)labels, name, v)
        if (!json_is_string(v))
            return hf_fail(err, HF_E_bad_type, "label %.60s must be a string", name);
    return dt_note_set(e, NOTE, labels, "labels", err);
}

/* Images and sizes do not apply: the sandbox already exists. Variables are for what is started from
 * now on. */
void dt_sandbox_create(struct http_request *rq)
{
    json_auto_t *body = dialect_object(rq);
    struct hf_error err = {0};

    if (body == NULL)
        return;
    if (labels_keep(dialect_base_of(rq)->engine, json_object_get(body, "labels"), &err) < 0 ||
        dt_env_keep(dt_of(rq), json_object_get(body, "env"), &err) < 0)
        http_reply_error(rq, &err);
    else
        reply_sandbox(rq, "started");
}

void dt_sandbox_get(struct http_request *rq)
{
    if (is_ours(rq))
        reply_sandbox(rq, "started");
}

/* A filter by name or labels may exclude the only sandbox. */
static bool is_listed(const struct http_request *rq)
{
    const char *name = http_query(rq, "name"), *id = http_query(rq, "id");
    const char *filter = http_query(rq, "labels");
    json_auto_t *want = filter != NULL ? json_loads(filter, 0, NULL) : NULL;
    json_auto_t *labels = dialect_note(dialect_base_of(rq)->engine, NOTE);
    const char *key;
    json_t *value;

    if ((name != NULL && strncmp(DT_SANDBOX, name, strlen(name)) != 0) ||
        (id != NULL && strncmp(DT_SANDBOX, id, strlen(id)) != 0))
        return false;
    json_object_foreach (want, key, value) {
        if (!json_equal(json_object_get(labels, key), value))
            return false;
    }
    return true;
}

typedef void item_fn(struct json_out *o, const struct http_request *rq, const char *state);

static bool write_items(struct json_out *o, const struct http_request *rq, item_fn *write)
{
    bool listed = is_listed(rq);

    json_key(o, "items");
    json_open(o, '[');
    if (listed) {
        json_open(o, '{');
        write(o, rq, "started");
        json_close(o, '}');
    }
    json_close(o, ']');
    return listed;
}

void dt_sandbox_list(struct http_request *rq)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    write_items(&o, rq, write_item);
    json_knull(&o, "nextCursor");
    dialect_reply_send(rq, 200, &o);
}

/* Older clients count pages. */
void dt_sandbox_paginated(struct http_request *rq)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));
    bool listed = write_items(&o, rq, write_item_env);

    json_kint(&o, "total", listed);
    json_kint(&o, "page", 1);
    json_kint(&o, "totalPages", listed);
    dialect_reply_send(rq, 200, &o);
}

void dt_sandbox_labels(struct http_request *rq)
{
    json_auto_t *body = dialect_object(rq);
    const json_t *labels = json_object_get(body, "labels");
    struct hf_error err = {0};
    struct json_out o;

    if (body == NULL)
        return;
    if (!is_ours(rq))
        return;
    if (labels == NULL)
        hf_fail_field(&err, HF_E_missing_field, "labels", "labels is missing");
    if (labels == NULL || labels_keep(dialect_base_of(rq)->engine, labels, &err) < 0) {
        http_reply_error(rq, &err);
        return;
    }
    o = dialect_reply_open(dialect_base_of(rq));
    json_key(&o, "labels");
    json_value(&o, labels);
    dialect_reply_send(rq, 200, &o);
}

/* It is running, and has no timer that activity would set back. */
void dt_sandbox_running(struct http_request *rq)
{
    if (is_ours(rq))
        reply_sandbox(rq, "started");
}

void dt_sandbox_activity(struct http_request *rq)
{
    if (is_ours(rq))
        http_reply_empty(rq, 201);
}

/* What the operator of the machine decides. */
void dt_sandbox_refuse(struct http_request *rq)
{
    if (is_ours(rq))
        dt_fail(rq, 501, NULL,
                "this daemon runs inside the sandbox and cannot stop, resize, archive, publish or "
                "copy it; use the platform that started the sandbox");
}

void dt_sandbox_proxy_url(struct http_request *rq)
{
    struct json_out o;

    if (!is_ours(rq))
        return;
    o = dialect_reply_open(dialect_base_of(rq));
    write_url(&o, "url", rq);
    dialect_reply_send(rq, 200, &o);
}

void dt_sandbox_refuse_port(struct http_request *rq)
{
    if (is_ours(rq))
        dt_fail(rq, 501, NULL,
                "this daemon does not publish ports; holdfast gateway does, as "
                "/v1/sandboxes/ID/proxy/PORT/");
}

#define NO_HISTORY                                                                                 \
    "this daemon keeps no history of metrics; the current ones are in the toolbox's "              \
    "/system/metrics, which getMetricsLatest() reads"

void dt_sandbox_refuse_history(struct http_request *rq)
{
    if (is_ours(rq))
        dt_fail(rq, 501, NULL, NO_HISTORY);
}

/* The SDK requests the platform's settings in order to find where that history is. */
void dt_refuse_config(struct http_request *rq)
{
    dt_fail(rq, 501, NULL, "this daemon is one sandbox and has no platform settings; " NO_HISTORY);
}

/* No process uses port 1: clients request it only to get a ticket for their WebSockets. */
void dt_sandbox_preview(struct http_request *rq)
{
    char ticket[DT_TICKET_BYTES];
    struct json_out o;

    if (!is_ours(rq))
        return;
    dt_ticket_new(rq, ticket);
    o = dialect_reply_open(dialect_base_of(rq));
    json_kstr(&o, "sandboxId", DT_SANDBOX);
    write_url(&o, "url", rq);
    json_kstr(&o, "token", ticket);
    http_add_header(rq, "Cache-Control", "no-store");
    dialect_reply_send(rq, 200, &o);
}

/* --- delete ----------------------------------------------------------------------------------- */

static void delete_done(struct end_call *e, struct http_request *rq, const struct hf_error *err)
{
    (void)e, (void)err;
    if (rq != NULL)
        reply_sandbox(rq, "destroyed");
}

static bool is_mine(const char *metadata)
{
    json_auto_t *meta = json_loads(metadata, 0, NULL);
    const char *via = json_string_value(json_object_get(meta, "via"));

    return via != NULL && strcmp(via, "daytona") == 0;
}

static void end_sessions(struct engine *engine, struct end_call *e)
{
    struct session *s, *next = session_next(engine, NULL);

    while ((s = next) != NULL) {
        next = session_next(engine, s);
        if (is_mine(session_metadata(s)))
            end_call_delete_session(e, s);
    }
}

static void end_processes(struct engine *engine, struct end_call *e)
{
    struct process *p = NULL;
    struct process_view v;

    while ((p = engine_next(engine, p)) != NULL) {
        process_view(p, &v);
        if (v.running && is_mine(v.metadata_json))
            end_call_terminate(e, p, 0);
    }
}

/* Terminates what this dialect has started. The daemon may be shared, and it stays. */
void dt_sandbox_delete(struct http_request *rq)
{
    struct engine *engine = dialect_base_of(rq)->engine;
    struct end_call *e;

    if (!is_ours(rq))
        return;
    e = end_call_begin(rq, delete_done, sizeof *e);
    end_sessions(engine, e);
    end_processes(engine, e);
    end_call_wait(e);
}

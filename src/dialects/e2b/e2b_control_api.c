/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_control_api.c - the control API, as far as the SDK needs it for the one sandbox
 *
 * Its API key is a token of the daemon, and so is the access token that it returns: the same token,
 * so the caller's role stays the same. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/end_call.h"
#include "dialects/e2b/e2b.h"

/* --- decoding ---------------------------------------------------------------------------- */

bool e2b_sandbox_is_ours(struct http_request *rq)
{
    const struct e2b_sandbox *s = &e2b_of(rq)->sandbox;
    const char *id = http_param(rq, "id");
    char why[E2B_ID_BYTES + 80];

    if (id != NULL && strcmp(id, s->id) == 0 && !s->killed)
        return true;
    snprintf(why, sizeof why, "Sandbox \"%.64s\" not found", id != NULL ? id : "");
    e2b_plain_error(rq, 404, why);
    return false;
}

/* Decodes a create; false: the request has been replied to. */
static bool env_of(struct http_request *rq, const json_t *body, json_t **out)
{
    const json_t *v = json_object_get(body, "envVars");

    *out = v == NULL || json_is_null(v) ? json_object() : e2b_variables(v);
    if (*out == NULL)
        e2b_plain_error(rq, 400, E2B_VARIABLES_REFUSED);
    return *out != NULL;
}

static bool metadata_of(struct http_request *rq, const json_t *body, json_t **out)
{
    const json_t *v = json_object_get(body, "metadata");

    *out = v == NULL || json_is_null(v) ? json_object() : e2b_strings(v);
    if (*out == NULL)
        e2b_plain_error(rq, 400, "metadata must be an object of strings");
    return *out != NULL;
}

/* --- replies ------------------------------------------------------------------------------- */

static void write_sandbox(struct json_out *o, const struct e2b_sandbox *s)
{
    json_kstr(o, "sandboxID", s->id);
    json_kstr(o, "templateID", s->template);
    json_kstr(o, "clientID", "holdfast");
    json_kstr(o, "envdVersion", E2B_ENVD_VERSION);
}

static void write_token(struct json_out *o, const struct http_request *rq)
{
    const char *key = http_header(rq, "X-API-KEY");

    if (key != NULL)
        json_kstr(o, "envdAccessToken", key);
}

/*
 * It does not end by itself, but the field is required. The same time in each reply: the first
 * that is a whole number of the longest durations after the start, and not past.
 */
static int64_t end_ms(const struct e2b_sandbox *s)
{
    int64_t age = clock_wall_ms() - s->started_ms;

    return s->started_ms + (age < 0 ? 1 : age / LIMIT_DURATION_MS + 1) * LIMIT_DURATION_MS;
}

void e2b_write_detail(struct json_out *o, const struct e2b_sandbox *s)
{
    struct sysinfo si = {0};
    struct statvfs disk = {0};

    sysinfo(&si);
    (void)statvfs("/", &disk);
    write_sandbox(o, s);
    json_ktime(o, "startedAt", s->started_ms);
    json_ktime(o, "endAt", end_ms(s));
    json_kstr(o, "state", "running");
    json_kint(o, "cpuCount", e2b_cpu_count());
    json_kint(o, "memoryMB", (int64_t)(si.totalram / 1048576 * si.mem_unit));
    json_kint(o, "diskSizeMB", (int64_t)(disk.f_blocks * (disk.f_frsize / 512) / 2048));
    json_key(o, "metadata");
    json_value(o, s->metadata);
    json_key(o, "volumeMounts");
    json_raw(o, "[]", 2);
}

static void reply_sandbox(struct http_request *rq, int status)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    write_sandbox(&o, &e2b_of(rq)->sandbox);
    write_token(&o, rq);
    dialect_reply_send(rq, status, &o);
}

/* --- calls ------------------------------------------------------------------------------------ */

static bool create_apply(struct http_request *rq, const json_t *body)
{
    struct e2b_sandbox *s = &e2b_of(rq)->sandbox;
    const char *template = json_string_value(json_object_get(body, "templateID"));
    json_t *env, *metadata;

    if (!env_of(rq, body, &env))
        return false;
    if (!metadata_of(rq, body, &metadata)) {
        json_decref(env);
        return false;
    }
    json_decref(s->metadata);
    s->metadata = metadata;
    if (template != NULL && template[0] != '\0') {
        free(s->template);
        s->template = hf_xstrdup(template);
    }
    e2b_sandbox_set_env(s, env); /* which include the template */
    if (s->killed)
        s->started_ms = clock_wall_ms();
    s->killed = false;
    if (e2b_sandbox_save(e2b_of(rq)) == 0)
        return true;
    e2b_plain_error(rq, 400, "envVars and metadata are too large to store");
    return false;
}

void e2b_sandbox_create(struct http_request *rq)
{
    json_auto_t *body = dialect_object(rq);

    if (body != NULL && create_apply(rq, body))
        reply_sandbox(rq, 201);
}

void e2b_sandbox_connect(struct http_request *rq)
{
    json_auto_t *body = e2b_sandbox_is_ours(rq) ? dialect_object(rq) : NULL;

    if (body != NULL)
        reply_sandbox(rq, 200);
}

void e2b_sandbox_get(struct http_request *rq)
{
    struct json_out o;

    if (!e2b_sandbox_is_ours(rq))
        return;
    o = dialect_reply_open(dialect_base_of(rq));
    e2b_write_detail(&o, &e2b_of(rq)->sandbox);
    write_token(&o, rq);
    dialect_reply_send(rq, 200, &o);
}

/* Nothing expires here, so there is nothing to postpone. */
void e2b_sandbox_timeout(struct http_request *rq)
{
    json_auto_t *body = e2b_sandbox_is_ours(rq) ? dialect_object(rq) : NULL;

    if (body != NULL)
        http_reply_empty(rq, 204);
}

/* --- kill: terminates everything in the sandbox; the daemon stays ----------------------------- */

static void kill_done(struct end_call *e, struct http_request *rq, const struct hf_error *err)
{
    (void)e, (void)err;
    if (rq != NULL)
        http_reply_empty(rq, 204);
}

/* The defaults of /init describe the machine, as a template does, so the next sandbox has them. */
static void sandbox_forget(struct e2b *e)
{
    struct e2b_sandbox *s = &e->sandbox;
    char *user = s->user, *workdir = s->workdir;

    s->user = s->workdir = NULL;
    e2b_sandbox_fini(s);
    e2b_sandbox_init(s);
    s->user = user;
    s->workdir = workdir;
    s->killed = true;
    (void)e2b_sandbox_save(e); /* smaller than before */
}

void e2b_sandbox_kill(struct http_request *rq)
{
    struct e2b *e = e2b_of(rq);
    struct process *p = NULL;
    struct end_call *k;

    if (!e2b_sandbox_is_ours(rq))
        return;
    k = end_call_begin(rq, kill_done, sizeof *k);
    sandbox_forget(e); /* first: streams use it to report why their processes end */
    while ((p = engine_next_all(e->base.engine, p)) != NULL)
        if (process_is_running(p))
            end_call_terminate(k, p, 0);
    end_call_wait(k);
}

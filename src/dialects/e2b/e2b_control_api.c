/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_control_api.c - the control API, as far as the SDK needs it for the one sandbox
 *
 * Its API key is a token of the daemon, and so is the access token that it returns: the same token,
 * so the caller's role stays the same. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "dialects/e2b/e2b.h"
#include "transport/url_query.h"

/* --- decoding ---------------------------------------------------------------------------- */

static bool is_ours(struct http_request *rq)
{
    const struct e2b_sandbox *s = &e2b_of(rq)->sandbox;
    const char *id = http_param(rq, "id");

    if (id != NULL && strcmp(id, s->id) == 0 && !s->killed)
        return true;
    e2b_plain_error(rq, 404, "no such sandbox");
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

static void write_sandbox(struct json_out *o, struct http_request *rq)
{
    const struct e2b_sandbox *s = &e2b_of(rq)->sandbox;
    const char *key = http_header(rq, "X-API-KEY");

    json_kstr(o, "sandboxID", s->id);
    json_kstr(o, "templateID", s->template);
    json_kstr(o, "clientID", "holdfast");
    json_kstr(o, "envdVersion", E2B_ENVD_VERSION);
    if (key != NULL)
        json_kstr(o, "envdAccessToken", key);
}

static void write_detail(struct json_out *o, struct http_request *rq)
{
    const struct e2b_sandbox *s = &e2b_of(rq)->sandbox;
    struct sysinfo si = {0};

    sysinfo(&si);
    write_sandbox(o, rq);
    json_ktime(o, "startedAt", s->started_ms);
    /*
     * It does not end by itself, but the field is required: the latest time that can be expressed.
     */
    json_ktime(o, "endAt", clock_wall_ms() + LIMIT_DURATION_MS);
    json_kstr(o, "state", "running");
    json_kint(o, "cpuCount", e2b_cpu_count());
    json_kint(o, "memoryMB", (int64_t)(si.totalram / 1048576 * si.mem_unit));
    json_kint(o, "diskSizeMB", 0);
    json_key(o, "metadata");
    json_value(o, s->metadata);
}

static void reply_sandbox(struct http_request *rq, int status)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    write_sandbox(&o, rq);
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
    json_auto_t *body = is_ours(rq) ? dialect_object(rq) : NULL;

    if (body != NULL)
        reply_sandbox(rq, 200);
}

void e2b_sandbox_get(struct http_request *rq)
{
    struct json_out o;

    if (!is_ours(rq))
        return;
    o = dialect_reply_open(dialect_base_of(rq));
    write_detail(&o, rq);
    dialect_reply_send(rq, 200, &o);
}

/* The filter is a query within the query: metadata=user%3Dme%26app%3Dx. */
static bool list_fits(struct http_request *rq)
{
    const json_t *have = e2b_of(rq)->sandbox.metadata;
    const char *state = http_query(rq, "state"), *wanted = http_query(rq, "metadata");
    struct url_query q = {0};
    bool fits = true;

    if (state != NULL && strstr(state, "running") == NULL)
        return false;
    if (wanted == NULL)
        return true;
    if (query_parse(&q, wanted, NULL) < 0)
        return false;
    for (size_t i = 0; fits && i < q.count; i++) {
        const char *is = json_string_value(json_object_get(have, q.list[i].name));

        fits = is != NULL && strcmp(is, q.list[i].value) == 0;
    }
    query_fini(&q);
    return fits;
}

void e2b_sandbox_list(struct http_request *rq)
{
    struct e2b *e = e2b_of(rq);
    struct json_out o;

    buf_clear(&e->base.scratch);
    json_out_init(&o, &e->base.scratch);
    json_open(&o, '[');
    if (!e->sandbox.killed && list_fits(rq)) {
        json_open(&o, '{');
        write_detail(&o, rq);
        json_close(&o, '}');
    }
    json_close(&o, ']');
    http_reply_json(rq, 200, &e->base.scratch);
}

/* Nothing expires here, so there is nothing to postpone. */
void e2b_sandbox_timeout(struct http_request *rq)
{
    json_auto_t *body = is_ours(rq) ? dialect_object(rq) : NULL;

    if (body != NULL)
        http_reply_empty(rq, 204);
}

/* --- kill: terminates everything in the sandbox; the daemon stays ----------------------------- */

struct e2b_control_api_killing {
    struct call call;
    size_t left; /* processes being terminated, plus one while the search continues */
};

static const struct call_kind killing_kind = {.stays = true};

static void killing_one_less(struct e2b_control_api_killing *k)
{
    if (--k->left == 0)
        call_send_empty(&k->call, 204);
}

static void killing_on_end(void *arg, struct process *p, const struct survivors *s)
{
    (void)p, (void)s;
    killing_one_less(arg);
}

static void sandbox_forget(struct e2b *e)
{
    e2b_sandbox_fini(&e->sandbox);
    e2b_sandbox_init(&e->sandbox);
    e->sandbox.killed = true;
    (void)e2b_sandbox_save(e); /* smaller than before */
}

void e2b_sandbox_kill(struct http_request *rq)
{
    struct e2b *e = e2b_of(rq);
    struct process *p = NULL;
    struct e2b_control_api_killing *k;

    if (!is_ours(rq))
        return;
    k = call_begin(rq, &killing_kind, sizeof *k);
    k->left = 1;
    sandbox_forget(e); /* first: streams use it to report why their processes end */
    while ((p = engine_next_all(e->base.engine, p)) != NULL)
        if (process_is_running(p)) {
            k->left++;
            process_terminate(p, 0, "api", killing_on_end, k);
        }
    killing_one_less(k);
}

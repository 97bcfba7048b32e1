/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_envd_routes.c - envd's plain routes: health, variables, init. Layer: dialects.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/braces.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "dialects/e2b/e2b.h"
#include "transport/auth.h"

void e2b_health(struct http_request *rq)
{
    if (e2b_is_there(rq))
        http_reply_empty(rq, 204);
}

/* Not by the C library, which reads a file that base/io.h would not know of. */
int e2b_cpu_count(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* --- variables and init ---------------------------------------------------------------------- */

void e2b_envs(struct http_request *rq)
{
    struct e2b *e = e2b_of(rq);
    struct json_out o;
    const char *name;
    json_t *value;

    if (!e2b_is_there(rq))
        return;
    o = dialect_reply_open(&e->base);
    json_object_foreach (e->sandbox.env, name, value) {
        json_kstr(&o, name, json_string_value(value));
    }
    dialect_reply_send(rq, 200, &o);
}

struct init_request {
    json_t *env; /* borrowed; NULL: absent */
    const char *token, *user, *workdir, *timestamp;
};

/* The rest is for E2B's own machines. */
#define INIT(text, k, member)                                                                      \
    BRACES(.name = text, .kind = JSON_F_##k, .offset = offsetof(struct init_request, member),      \
           .nullable = true)
static const struct json_field init_fields[] = {
    INIT("envVars", OBJECT, env),      INIT("accessToken", STR, token),
    INIT("defaultUser", STR, user),    INIT("defaultWorkdir", STR, workdir),
    INIT("timestamp", STR, timestamp),
};
#undef INIT

/* A caller authenticates by its header or by the token in the body. */
static bool init_allowed(struct http_request *rq, const struct init_request *request)
{
    enum role role = http_role(rq);

    if (role < ROLE_OWN && request->token != NULL)
        role = auth_token_role(dialect_base_of(rq)->host.auth, request->token,
                               strlen(request->token), NULL);
    return role >= ROLE_OWN;
}

static void replace(char **at, const char *with)
{
    if (with == NULL)
        return;
    free(*at);
    *at = with[0] == '\0' ? NULL : hf_xstrdup(with);
}

/* False: it is older than the current settings. */
static bool init_is_newer(struct e2b_sandbox *s, const struct init_request *request)
{
    int64_t at;

    if (request->timestamp == NULL || !rfc3339_parse(request->timestamp, &at) || at < 0)
        return true; /* Go encodes "none" as the year 1 */
    if (at < s->init_ms)
        return false;
    s->init_ms = at;
    return true;
}

static void init_apply(struct http_request *rq, const struct init_request *request)
{
    struct e2b_sandbox *s = &e2b_of(rq)->sandbox;
    json_t *env = NULL;

    if (request->env != NULL && (env = e2b_variables(request->env)) == NULL) {
        e2b_plain_error(rq, 400, E2B_VARIABLES_REFUSED);
        return;
    }
    if (init_is_newer(s, request)) {
        if (env != NULL)
            e2b_sandbox_set_env(s, json_incref(env));
        replace(&s->user, request->user);
        replace(&s->workdir, request->workdir);
    }
    json_decref(env);
    if (e2b_sandbox_save(e2b_of(rq)) < 0) {
        e2b_plain_error(rq, 400, "envVars are too large to store");
        return;
    }
    http_add_header(rq, "X-Envd-Version", E2B_ENVD_VERSION);
    http_reply_empty(rq, 204);
}

void e2b_init(struct http_request *rq)
{
    struct init_request request = {0};
    struct hf_error err = {0};
    json_auto_t *body = dialect_object(rq);

    if (body == NULL)
        return;
    if (json_decode_known(body, init_fields, sizeof init_fields / sizeof *init_fields, &request,
                          &err) < 0)
        e2b_plain_error(rq, 400, err.detail);
    else if (!init_allowed(rq, &request))
        e2b_plain_error(rq, 401,
                        "access token required: send one of the daemon's tokens with the role own");
    else if (e2b_is_there(rq))
        init_apply(rq, &request);
}

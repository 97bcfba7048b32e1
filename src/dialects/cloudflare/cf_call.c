/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_call.c - a request of the route API, by HTTP or through the multiplex. Layer: dialects.
 */
#include "dialects/cloudflare/cf_call_own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* --- life cycle -------------------------------------------------------------------------- */

void cf_call_free(struct cf_call *c)
{
    if (c->mux != NULL)
        cf_mux_done(c->mux, c);
    timer_close(c->keepalive);
    path_fini(&c->path);
    query_fini(&c->query);
    json_decref(c->body);
    free(c->id);
    free(c->header_session);
    pending_fini(&c->pending);
    free(c);
}

static void call_notify(struct cf_call *c, enum cf_close_reason why)
{
    const struct cf_wait_ops *ops = c->ops;

    c->ops = NULL;
    if (ops != NULL)
        ops->closed(c->arg, why);
}

void cf_call_cancel(struct cf_call *c, enum cf_close_reason why)
{
    call_notify(c, why);
    cf_call_free(c);
}

static void call_on_free(struct pending *p)
{
    cf_call_cancel(list_entry(p, struct cf_call, pending), CF_FREED);
}

/*
 * What was started keeps running under the next worker, so this is neither success nor failure. A
 * 503 would make the client retry, and a command would run twice.
 */
static void call_on_drain(struct pending *p)
{
    struct cf_call *c = list_entry(p, struct cf_call, pending);

    call_notify(c, CF_DAEMON_DRAINING);
    if (c->stream != NULL || c->streams)
        cf_stream_end(c);
    else
        cf_fail(c, 500, "INTERNAL_ERROR",
                "the daemon is shutting down; what was started keeps running");
}

static const struct pending_kind call_kind = {.drain = call_on_drain, .free = call_on_free};

static struct cf_call *call_new(struct cf *cf, enum role role)
{
    struct cf_call *c = hf_xalloc(sizeof *c);

    c->cf = cf;
    c->role = role;
    list_init(&c->link);
    pending_init(&c->pending, &cf->base.pending, &call_kind);
    return c;
}

static void call_on_disconnect(void *arg)
{
    cf_call_cancel(arg, CF_CLIENT_CLOSED);
}

void cf_call_http(struct http_request *rq)
{
    struct cf_call *c = call_new(cf_of(rq), http_role(rq));
    const char *session = http_header(rq, "X-Session-Id"), *text;
    struct buf path = {0};
    struct hf_error err;
    size_t len;

    c->rq = rq;
    c->header_session = hf_xstrdup(session);
    http_set_user(rq, c, call_on_disconnect);
    text = http_body(rq, &len);
    if (len > 0 && (c->body = json_parse(text, len, &err)) == NULL) {
        cf_fail(c, 400, "VALIDATION_FAILED", err.detail);
        return;
    }
    buf_printf(&path, "/%s?%s", http_param(rq, "*"), http_query_raw(rq));
    cf_dispatch(c, http_method(rq), buf_cstr(&path));
    buf_fini(&path);
}

void cf_call_mux(struct cf *cf, struct cf_mux *m, enum role role, const struct cf_call_request *a)
{
    struct cf_call *c = call_new(cf, role);

    c->mux = m;
    c->id = hf_xstrdup(a->id);
    c->header_session = hf_xstrdup(a->session);
    c->body = a->body;
    cf_mux_add(m, c);
    if (strncmp(a->path, "/api/", 5) == 0)
        cf_dispatch(c, cf_method(a->method), a->path + 4);
    else
        cf_fail(c, 404, "UNKNOWN_ERROR", "The requested endpoint was not found");
}

void cf_call_drained(struct cf_call *c)
{
    if (c->ops != NULL && c->ops->drain != NULL)
        c->ops->drain(c->arg);
}

/* --- decoding ------------------------------------------------------------------------------ */

struct cf *cf_call_cf(const struct cf_call *c)
{
    return c->cf;
}

enum role cf_call_role(const struct cf_call *c)
{
    return c->role;
}

const char *cf_param(const struct cf_call *c, const char *name)
{
    return router_param_get(&c->match, name);
}

const char *cf_call_query(const struct cf_call *c, const char *name)
{
    return query_get(&c->query, name);
}

const char *cf_session_id(const struct cf_call *c)
{
    const char *id = json_string_value(json_object_get(c->body, "sessionId"));

    if (id == NULL)
        id = c->header_session;
    if (id == NULL)
        id = query_get(&c->query, "session");
    if (id == NULL)
        id = query_get(&c->query, "sessionId");
    return id != NULL && id[0] != '\0' ? id : CF_DEFAULT_SESSION;
}

const json_t *cf_body(struct cf_call *c)
{
    if (json_is_object(c->body))
        return c->body;
    cf_fail(c, 400, "VALIDATION_FAILED", "the body must be a JSON object");
    return NULL;
}

static bool refuse(struct cf_call *c, const char *name, const char *what)
{
    char text[160];

    snprintf(text, sizeof text, "%s %s", name, what);
    cf_fail_about(c, 400, "VALIDATION_FAILED", text, "field", name);
    return false;
}

bool cf_text(struct cf_call *c, const char *name, bool required, const char **out)
{
    const json_t *v = json_object_get(c->body, name);

    if (v == NULL || json_is_null(v))
        return !required || refuse(c, name, "is required");
    if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v))
        return refuse(c, name, "must be a string without NUL");
    if (required && json_string_length(v) == 0)
        return refuse(c, name, "must not be empty");
    *out = json_string_value(v);
    return true;
}

bool cf_int(struct cf_call *c, const char *name, int64_t min, int64_t max, int64_t *out)
{
    const json_t *v = json_object_get(c->body, name);
    char text[100];

    if (v == NULL || json_is_null(v))
        return true;
    if (json_is_integer(v) && json_integer_value(v) >= min && json_integer_value(v) <= max) {
        *out = json_integer_value(v);
        return true;
    }
    snprintf(text, sizeof text, "must be a number from %lld to %lld", (long long)min,
             (long long)max);
    return refuse(c, name, text);
}

bool cf_bool(struct cf_call *c, const char *name, bool *out)
{
    const json_t *v = json_object_get(c->body, name);

    if (v == NULL || json_is_null(v))
        return true;
    if (!json_is_boolean(v))
        return refuse(c, name, "must be true or false");
    *out = json_is_true(v);
    return true;
}

bool cf_env_object(struct cf_call *c, const json_t **out)
{
    const json_t *env = json_object_get(c->body, "env");

    *out = json_is_object(env) ? env : NULL;
    if (*out != NULL || env == NULL || json_is_null(env))
        return true;
    cf_fail(c, 400, "VALIDATION_FAILED", "env must be an object of strings");
    return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_token.c - GET /v1/token and POST /v1/reload: where the tokens are, and replacing them
 *
 * The keeper reads the files, since the worker may not; the reply waits for its result. Layer:
 * dialects.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"

struct native_token_body {
    int64_t grace_ms;
};

static const struct json_field body_fields[] = {JSON_FIELD(
    INT, struct native_token_body, grace_ms, .min = 0, .max = LIMIT_DURATION_MS, .nullable = true)};

/* --- the current tokens ------------------------------------------------------------------- */

static void write_tokens(struct json_out *o, const struct auth *a)
{
    struct auth_token_view v;

    json_kopen(o, "tokens", '[');
    for (size_t i = 0; a != NULL && auth_token_at(a, i, &v); i++) {
        json_open(o, '{');
        json_kstr(o, "name", v.name);
        json_kstr(o, "role", http_role_name(v.role));
        json_ktime(o, "expires_at", v.until_wall_ms);
        json_close(o, '}');
    }
    json_close(o, ']');
}

static void write_some(struct json_out *o, const char *key, const char *text)
{
    json_kstr(o, key, text[0] != '\0' ? text : NULL);
}

/* Never a token itself, only where it is. */
static void write_credentials(struct json_out *o, const struct native *n)
{
    static const struct native_credentials none = {
        .token_file = "", .token_error = "", .tls_error = ""};
    const struct native_credentials *c = n->info.credentials != NULL ? n->info.credentials : &none;

    json_kstr(o, "source",
              !c->needs_token            ? "none"
              : c->token_file[0] != '\0' ? "file"
                                         : "environment");
    write_some(o, "file", c->token_file);
    write_some(o, "error", c->token_error);
    write_tokens(o, n->auth);
    json_kbool(o, "tls", c->tls);
    write_some(o, "tls_error", c->tls_error);
}

void token_handle(struct http_request *rq)
{
    struct native *n = native_of(rq);
    struct json_out o = dialect_reply_open(&n->base);

    write_credentials(&o, n);
    dialect_reply_send(rq, 200, &o);
}

/* --- reloading ---------------------------------------------------------------------------- */

struct native_token_reload {
    struct call call;
    struct list link; /* of native.reloads */
    uint32_t req;
};

static void reload_release(struct call *c)
{
    native_wait_end(native_of_call(c));
    list_remove(&list_entry(c, struct native_token_reload, call)->link);
}

static const struct call_kind reload_kind = {
    .release = reload_release,
    .drain_text = "the worker is being replaced and rereads the files afterwards",
};

static void reload_fail(struct native_token_reload *r, enum hf_code code, const char *detail)
{
    struct hf_error err = {0};

    hf_fail(&err, code, "%s", detail);
    call_fail(&r->call, &err);
}

static void reload_reply(struct native_token_reload *r, bool changed)
{
    struct json_out o = dialect_reply_open(r->call.base);

    json_kbool(&o, "changed", changed);
    write_credentials(&o, native_of_call(&r->call));
    call_send(&r->call, 200, &o);
}

void native_on_reloaded(struct native *n, uint32_t req, int error, bool changed)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &n->reloads) {
        struct native_token_reload *r = list_entry(it, struct native_token_reload, link);

        if ((int32_t)(req - r->req) < 0)
            continue;
        if (error == 0)
            reload_reply(r, changed);
        else
            reload_fail(r, error == ETIMEDOUT ? HF_E_request_timeout : HF_E_internal,
                        "the files could not be read; see the daemon's log");
    }
}

/* -1: absent. */
static int reload_decode(struct http_request *rq, int64_t *grace_ms, struct hf_error *err)
{
    json_auto_t *tree = NULL;
    struct native_token_body b = {.grace_ms = -1};
    size_t len;
    int rc = 0;

    http_body(rq, &len);
    if (len > 0) {
        tree = native_decode_json(rq, err);
        rc = tree == NULL ? -EINVAL : json_decode(tree, body_fields, 1, &b, err);
    }
    *grace_ms = b.grace_ms;
    return rc;
}

int reload_handle(struct http_request *rq, struct hf_error *err)
{
    struct native *n = native_of(rq);
    struct native_token_reload *r;
    int64_t grace_ms;

    if (dialect_check_open(&n->base, err) < 0 || reload_decode(rq, &grace_ms, err) < 0 ||
        native_wait_begin(n, rq, err) < 0)
        return -1;
    r = call_begin(rq, &reload_kind, sizeof *r);
    r->req = ++n->last_reload == 0 ? ++n->last_reload : n->last_reload;
    list_append(&n->reloads, &r->link);
    if (engine_request_reload(n->base.engine, r->req, grace_ms) < 0)
        reload_fail(r, HF_E_internal,
                    "the keeper did not accept the request; see the daemon's log");
    return 0;
}

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
#include "dialects/native/problem.h"

struct native_token_body {
    int64_t grace_ms;
};

static const struct json_field body_fields[] = {JSON_FIELD(
    INT, struct native_token_body, grace_ms, .min = 0, .max = LIMIT_DURATION_MS, .nullable = true)};

/* --- the current tokens ------------------------------------------------------------------- */

static void write_tokens(struct json_out *o, const struct auth *a)
{
    struct auth_token_view v;

    json_key(o, "tokens");
    json_open(o, '[');
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
    struct json_out o = json_reply_open(n);

    write_credentials(&o, n);
    json_reply_send(rq, 200, &o);
}

/* --- reloading ---------------------------------------------------------------------------- */

struct native_token_reload {
    struct op op;
    struct list link; /* of native.reloads */
    struct http_request *rq;
    uint32_t req;
};

static void reload_free(struct native_token_reload *r)
{
    native_wait_end(r->op.native);
    list_remove(&r->link);
    native_op_fini(&r->op);
    free(r);
}

static void reload_on_disconnect(void *user)
{
    reload_free(user);
}

static void reload_fail(struct native_token_reload *r, enum hf_code code, const char *detail)
{
    struct http_request *rq = r->rq;
    struct hf_error err = {0};

    hf_fail(&err, code, "%s", detail);
    reload_free(r);
    http_reply_error(rq, &err);
}

static void reload_on_drain(struct op *op)
{
    reload_fail(list_entry(op, struct native_token_reload, op), HF_E_shutting_down,
                "the worker is being replaced and rereads the files afterwards");
}

static void reload_on_free(struct op *op)
{
    reload_free(list_entry(op, struct native_token_reload, op));
}

static const struct op_kind reload_kind = {.on_drain = reload_on_drain, .on_free = reload_on_free};

static void reload_reply(struct native_token_reload *r, bool changed)
{
    struct http_request *rq = r->rq;
    struct native *n = r->op.native;
    struct json_out o;

    reload_free(r);
    o = json_reply_open(n);
    json_kbool(&o, "changed", changed);
    write_credentials(&o, n);
    json_reply_send(rq, 200, &o);
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

void reload_handle(struct http_request *rq)
{
    struct native *n = native_of(rq);
    struct hf_error err;
    struct native_token_reload *r;
    int64_t grace_ms;

    if (dialect_check_open(&n->base, &err) < 0 || reload_decode(rq, &grace_ms, &err) < 0 ||
        native_wait_begin(n, rq, &err) < 0) {
        http_reply_error(rq, &err);
        return;
    }
    r = hf_xalloc(sizeof *r);
    r->rq = rq;
    r->req = ++n->last_reload == 0 ? ++n->last_reload : n->last_reload;
    native_op_init(&r->op, n, &reload_kind);
    list_append(&n->reloads, &r->link);
    http_set_user(rq, r, reload_on_disconnect);
    if (engine_request_reload(n->base.engine, r->req, grace_ms) < 0)
        reload_fail(r, HF_E_internal,
                    "the keeper did not accept the request; see the daemon's log");
}

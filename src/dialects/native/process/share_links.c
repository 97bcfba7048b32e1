/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_links.c - POST, GET and DELETE /v1/processes/{id}/links. Layer: dialects.
 */

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"
#include "dialects/native/socket/connect.h"
#include "transport/auth.h"

_Static_assert(SHARE_GRANT_LEN <= AUTH_GRANT_MAX, "a grant fits");

/* --- as credentials ---------------------------------------------------------------- */

static enum role role_of(enum share_role r)
{
    return r == SHARE_TYPE ? ROLE_TYPE : r == SHARE_WATCH ? ROLE_WATCH : ROLE_NONE;
}

static enum role links_by_secret(void *arg, const char *secret, size_t len, char *grant)
{
    struct native *n = arg;

    return role_of(engine_share_by_secret(n->base.engine, secret, len, grant));
}

static enum role links_by_grant(void *arg, const char *grant)
{
    struct native *n = arg;

    return role_of(engine_share_by_grant(n->base.engine, grant, NULL));
}

/* However the request names its process, it must be the link's process. */
static bool links_fits(void *arg, const struct http_request *rq, const char *grant)
{
    struct native *n = arg;
    const char *id = http_param(rq, "id");
    struct process *p = NULL;

    return id != NULL && engine_share_by_grant(n->base.engine, grant, &p) != SHARE_NONE &&
           engine_find(n->base.engine, id, NULL) == p;
}

static void links_use(void *arg, const char *grant)
{
    struct native *n = arg;

    engine_share_use(n->base.engine, grant);
}

static void links_on_end(void *arg, const char *grant)
{
    struct native *n = arg;

    connect_end_grant(n, grant);
    if (n->info.server != NULL)
        http_server_cut(n->info.server, grant);
}

void native_start_links(struct native *n)
{
    const struct auth_links links = {
        .by_secret = links_by_secret,
        .by_grant = links_by_grant,
        .fits = links_fits,
        .use = links_use,
        .arg = n,
    };

    if (n->auth != NULL)
        auth_set_links(n->auth, &links);
    engine_on_share_end(n->base.engine, links_on_end, n);
}

/* --- the calls ----------------------------------------------------------------------- */

struct share_links_body {
    const char *role, *label;
    int64_t expires_in_ms, max_uses;
};

#define F(kind, member, ...) JSON_FIELD(kind, struct share_links_body, member, __VA_ARGS__)
static const struct json_field fields[] = {
    F(STR, role, .required = true),
    F(STR, label, .nullable = true),
    F(INT, expires_in_ms, .min = 1, .max = LIMIT_DURATION_MS, .nullable = true),
    F(INT, max_uses, .min = 1, .max = LIMIT_LINK_USES, .nullable = true),
};
#undef F

int links_decode(const json_t *tree, struct share_spec *out, struct hf_error *err)
{
    static const char *const roles[] = {"watch", "type", NULL};
    struct share_links_body b = {0};
    int role;

    if (json_decode(tree, fields, sizeof fields / sizeof *fields, &b, err) < 0)
        return -1;
    *out = (struct share_spec){
        .label = b.label, .expires_in_ms = b.expires_in_ms, .max_uses = b.max_uses};
    role = check_word(b.role, "role", roles, err);
    out->role = role == 0 ? SHARE_WATCH : SHARE_TYPE;
    return role < 0 ? role : 0;
}

static void write_link(struct json_out *o, const struct share_view *v)
{
    json_kstr(o, "id", v->id);
    json_kstr(o, "role", http_role_name(role_of(v->role)));
    json_kstr(o, "label", v->label);
    json_ktime(o, "created_at", v->created_ms);
    json_ktime(o, "expires_at", v->expires_ms);
    json_kint_if(o, "max_uses", v->max_uses > 0, v->max_uses);
    json_kint(o, "uses", v->uses);
}

int links_make_handle(struct http_request *rq, struct process *p, struct hf_error *err)
{
    char secret[SHARE_SECRET_LEN + 1], url[SHARE_SECRET_LEN + 16];
    json_auto_t *tree = native_decode_json(rq, err);
    struct share_spec spec;
    struct share_view v;
    struct json_out o;

    if (tree == NULL || links_decode(tree, &spec, err) < 0 ||
        process_share(p, &spec, secret, &v, err) < 0)
        return -1;
    snprintf(url, sizeof url, "/?link=%s", secret);
    o = dialect_reply_open(dialect_base_of(rq));
    write_link(&o, &v);
    json_kstr(&o, "token", secret);
    json_kstr(&o, "url", url);
    dialect_reply_send(rq, 201, &o);
    /* The link is shown only this once: wipe it. */
    buf_wipe(o.buf);
    hf_wipe(secret, sizeof secret);
    hf_wipe(url, sizeof url);
    return 0;
}

int links_list_handle(struct http_request *rq, struct process *p, struct hf_error *err)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));
    struct share_view v;

    (void)err;
    json_kopen(&o, "links", '[');
    for (size_t i = 0; process_share_at(p, i, &v); i++) {
        json_open(&o, '{');
        write_link(&o, &v);
        json_close(&o, '}');
    }
    json_close(&o, ']');
    dialect_reply_send(rq, 200, &o);
    return 0;
}

int links_remove_handle(struct http_request *rq, struct process *p, struct hf_error *err)
{
    if (process_unshare(p, http_param(rq, "lid"), err) < 0)
        return -1;
    http_reply_empty(rq, 204);
    return 0;
}

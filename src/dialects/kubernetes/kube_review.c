/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_review.c - what may I, who am I: `kubectl auth can-i` and `kubectl auth whoami`
 *
 * What a token may do depends on its role alone, in any namespace. A review of everything ("*") is
 * denied, since there is little here. Replies are JSON, which all clients accept. Layer: dialects.
 */
#include <string.h>
#include <strings.h>

#include "dialects/kubernetes/kube.h"
#include "dialects/kubernetes/kube_review_decode.h"

#define AUTHORIZATION "authorization.k8s.io"
#define AUTHENTICATION "authentication.k8s.io"

/* --- what there is, and for whom ------------------------------------------------------------- */

struct permission {
    const char *group, *resource; /* with the sub-resource */
    const char *verbs[4];
    enum role role;
};

static const struct permission permissions[] = {
    {"", "pods", {"get", "list", "watch", NULL}, ROLE_WATCH},
    {"", "pods/log", {"get", NULL}, ROLE_WATCH},
    {"", "pods/attach", {"create", "get", NULL}, ROLE_WATCH},
    {"", "pods/exec", {"create", "get", NULL}, ROLE_OWN},
    {"", "pods/portforward", {"create", "get", NULL}, ROLE_OWN},
    {"metrics.k8s.io", "pods", {"get", "list", NULL}, ROLE_WATCH},
    {AUTHORIZATION, "selfsubjectaccessreviews", {"create", NULL}, ROLE_WATCH},
    {AUTHORIZATION, "selfsubjectrulesreviews", {"create", NULL}, ROLE_WATCH},
    {AUTHENTICATION, "selfsubjectreviews", {"create", NULL}, ROLE_WATCH},
};
#define PERMISSIONS (sizeof permissions / sizeof *permissions)

static const char *const paths[] = {"/api",     "/api/*", "/apis",   "/apis/*",
                                    "/healthz", "/livez", "/readyz", "/version"};
#define PATHS (sizeof paths / sizeof *paths)

static const char *text_of(const json_t *o, const char *name)
{
    const char *text = json_string_value(json_object_get(o, name));

    return text != NULL ? text : "";
}

/* "pods" and "exec" are "pods/exec". */
static bool is_resource(const char *whole, const json_t *wanted)
{
    const char *resource = text_of(wanted, "resource"), *part = text_of(wanted, "subresource");
    size_t len = strlen(resource);

    if (strncmp(whole, resource, len) != 0)
        return false;
    return part[0] == '\0' ? whole[len] == '\0'
                           : whole[len] == '/' && strcmp(whole + len + 1, part) == 0;
}

static bool has_verb(const struct permission *p, const char *verb)
{
    for (size_t i = 0; p->verbs[i] != NULL; i++)
        if (strcmp(p->verbs[i], verb) == 0)
            return true;
    return false;
}

static bool allows_path(const json_t *wanted)
{
    const char *path = text_of(wanted, "path");

    if (strcmp(text_of(wanted, "verb"), "get") != 0)
        return false;
    for (size_t i = 0; i < PATHS; i++) {
        size_t len = strcspn(paths[i], "*");

        if (paths[i][len] == '*' ? strncmp(path, paths[i], len) == 0 : strcmp(path, paths[i]) == 0)
            return true;
    }
    return false;
}

/* *reason: why not. */
static bool allows(enum role role, const json_t *spec, const char **reason)
{
    const json_t *wanted = json_object_get(spec, "resourceAttributes");

    *reason = "the sandbox has no such call";
    if (!json_is_object(wanted))
        return allows_path(json_object_get(spec, "nonResourceAttributes"));
    for (size_t i = 0; i < PERMISSIONS; i++) {
        const struct permission *p = &permissions[i];

        if (strcmp(p->group, text_of(wanted, "group")) != 0 || !is_resource(p->resource, wanted) ||
            !has_verb(p, text_of(wanted, "verb")))
            continue;
        *reason = "the role of the token does not permit this";
        return role >= p->role;
    }
    return false;
}

/* --- requests -------------------------------------------------------------------------------- */

/* The body, with an object as its `spec` if it is needed. NULL: replied. */
static json_t *review_body(struct http_request *rq, const char *kind, bool needs_spec)
{
    const char *type = http_header(rq, "Content-Type"), *bytes;
    struct hf_error err = {0};
    json_t *body;
    size_t len;

    bytes = http_body(rq, &len);
    if (type != NULL && strncasecmp(type, KUBE_PROTOBUF, strlen(KUBE_PROTOBUF)) == 0) {
        body = kube_review_decode(bytes, len, &err);
        if (dialect_failed(rq, body != NULL ? 0 : -1, &err))
            return NULL;
    } else if ((body = dialect_object(rq)) == NULL) {
        return NULL;
    }
    if (strcmp(text_of(body, "kind"), kind) == 0 &&
        (!needs_spec || json_is_object(json_object_get(body, "spec"))))
        return body;
    kube_refuse(rq, 400, "the body must be a %s%s", kind, needs_spec ? " with a spec" : "");
    json_decref(body);
    return NULL;
}

static struct json_out review_open(struct http_request *rq, const char *kind, const char *group)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "kind", kind);
    json_kstr(&o, "apiVersion", group);
    json_kopen(&o, "metadata", '{');
    json_knull(&o, "creationTimestamp");
    json_close(&o, '}');
    return o;
}

static void write_list(struct json_out *o, const char *key, const char *const *items, size_t count)
{
    json_kopen(o, key, '[');
    for (size_t i = 0; i < count && items[i] != NULL; i++)
        json_str(o, items[i]);
    json_close(o, ']');
}

void kube_access_review(struct http_request *rq)
{
    json_auto_t *body = review_body(rq, "SelfSubjectAccessReview", true);
    const json_t *spec = json_object_get(body, "spec");
    struct json_out o;
    const char *reason;
    bool yes;

    if (body == NULL)
        return;
    if (json_is_object(json_object_get(spec, "resourceAttributes")) ==
        json_is_object(json_object_get(spec, "nonResourceAttributes"))) {
        kube_refuse(rq, 400,
                    "spec.resourceAttributes: exactly one of nonResourceAttributes or "
                    "resourceAttributes must be specified");
        return;
    }
    yes = allows(http_role(rq), spec, &reason);
    o = review_open(rq, "SelfSubjectAccessReview", AUTHORIZATION "/v1");
    json_key(&o, "spec");
    json_value(&o, spec);
    json_kopen(&o, "status", '{');
    json_kbool(&o, "allowed", yes);
    if (!yes)
        json_kstr(&o, "reason", reason);
    json_close(&o, '}');
    dialect_reply_send(rq, 201, &o);
}

void kube_rules_review(struct http_request *rq)
{
    static const char *const get[] = {"get"};
    json_auto_t *body = review_body(rq, "SelfSubjectRulesReview", true);
    struct json_out o;

    if (body == NULL)
        return;
    o = review_open(rq, "SelfSubjectRulesReview", AUTHORIZATION "/v1");
    json_kopen(&o, "spec", '{');
    json_close(&o, '}');
    json_kopen(&o, "status", '{');
    json_kopen(&o, "resourceRules", '[');
    for (size_t i = 0; i < PERMISSIONS; i++) {
        const struct permission *p = &permissions[i];

        if (http_role(rq) < p->role)
            continue;
        json_open(&o, '{');
        write_list(&o, "verbs", p->verbs, 4);
        write_list(&o, "apiGroups", &p->group, 1);
        write_list(&o, "resources", &p->resource, 1);
        json_close(&o, '}');
    }
    json_close(&o, ']');
    json_kopen(&o, "nonResourceRules", '[');
    json_open(&o, '{');
    write_list(&o, "verbs", get, 1);
    write_list(&o, "nonResourceURLs", paths, PATHS);
    json_close(&o, '}');
    json_close(&o, ']');
    json_kbool(&o, "incomplete", false);
    json_close(&o, '}');
    dialect_reply_send(rq, 201, &o);
}

/* A token has a role and no name. */
void kube_self_review(struct http_request *rq)
{
    static const char *const groups[] = {"system:authenticated"};
    json_auto_t *body = review_body(rq, "SelfSubjectReview", false);
    struct buf name = {0};
    struct json_out o;

    if (body == NULL)
        return;
    buf_printf(&name, "holdfast:%s", http_role_name(http_role(rq)));
    o = review_open(rq, "SelfSubjectReview", AUTHENTICATION "/v1");
    json_kopen(&o, "status", '{');
    json_kopen(&o, "userInfo", '{');
    json_kstr(&o, "username", buf_cstr(&name));
    write_list(&o, "groups", groups, 1);
    json_close(&o, '}');
    json_close(&o, '}');
    buf_fini(&name);
    dialect_reply_send(rq, 201, &o);
}

/* --- discovery ------------------------------------------------------------------------------- */

static const struct review_kind {
    const char *group, *name, *singular, *kind;
} kinds[] = {
    {AUTHORIZATION, "selfsubjectaccessreviews", "selfsubjectaccessreview",
     "SelfSubjectAccessReview"},
    {AUTHORIZATION, "selfsubjectrulesreviews", "selfsubjectrulesreview", "SelfSubjectRulesReview"},
    {AUTHENTICATION, "selfsubjectreviews", "selfsubjectreview", "SelfSubjectReview"},
};

static void resources_reply(struct http_request *rq, const char *group, const char *version)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "kind", "APIResourceList");
    json_kstr(&o, "apiVersion", "v1");
    json_kstr(&o, "groupVersion", version);
    json_kopen(&o, "resources", '[');
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        static const char *const create[] = {"create"};

        if (strcmp(kinds[i].group, group) != 0)
            continue;
        json_open(&o, '{');
        json_kstr(&o, "name", kinds[i].name);
        json_kstr(&o, "singularName", kinds[i].singular);
        json_kbool(&o, "namespaced", false);
        json_kstr(&o, "kind", kinds[i].kind);
        write_list(&o, "verbs", create, 1);
        json_close(&o, '}');
    }
    json_close(&o, ']');
    dialect_reply_send(rq, 200, &o);
}

void kube_authorization_resources(struct http_request *rq)
{
    resources_reply(rq, AUTHORIZATION, AUTHORIZATION "/v1");
}

void kube_authentication_resources(struct http_request *rq)
{
    resources_reply(rq, AUTHENTICATION, AUTHENTICATION "/v1");
}

static void write_version(struct json_out *o, const char *version)
{
    json_kstr(o, "groupVersion", version);
    json_kstr(o, "version", "v1");
}

static void write_group(struct json_out *o, const char *group, const char *version)
{
    json_open(o, '{');
    json_kstr(o, "name", group);
    json_kopen(o, "versions", '[');
    json_open(o, '{');
    write_version(o, version);
    json_close(o, '}');
    json_close(o, ']');
    json_kopen(o, "preferredVersion", '{');
    write_version(o, version);
    json_close(o, '}');
    json_close(o, '}');
}

void kube_review_write_groups(struct json_out *o)
{
    write_group(o, AUTHORIZATION, AUTHORIZATION "/v1");
    write_group(o, AUTHENTICATION, AUTHENTICATION "/v1");
}

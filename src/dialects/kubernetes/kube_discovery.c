/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_discovery.c - the versions and resources that kubectl requests before anything else
 *
 * Newer clients prefer one document (aggregated discovery), but accept these. Layer: dialects.
 */
#include <stdio.h>

#include "dialects/kubernetes/kube.h"

/* The version of the API, not ours: kubectl warns when it differs from its own by more than one. */
#define API_MAJOR "1"
#define API_MINOR "33"

static void write_empty(struct json_out *o, const char *key)
{
    json_key(o, key);
    json_open(o, '[');
    json_close(o, ']');
}

void kube_api_versions(struct http_request *rq)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "kind", "APIVersions");
    json_key(&o, "versions");
    json_open(&o, '[');
    json_str(&o, "v1");
    json_close(&o, ']');
    write_empty(&o, "serverAddressByClientCIDRs");
    dialect_reply_send(rq, 200, &o);
}

void kube_api_groups(struct http_request *rq)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "kind", "APIGroupList");
    json_kstr(&o, "apiVersion", "v1");
    json_kopen(&o, "groups", '[');
    json_open(&o, '{');
    kube_metrics_write_group(&o);
    json_close(&o, '}');
    kube_review_write_groups(&o);
    json_close(&o, ']');
    dialect_reply_send(rq, 200, &o);
}

struct resource {
    const char *name, *singular, *kind, *verbs[4];
};

static const struct resource resources[] = {
    {"pods", "pod", "Pod", {"get", "list", "watch", NULL}},
    {"pods/attach", "", "PodAttachOptions", {"create", "get", NULL}},
    {"pods/exec", "", "PodExecOptions", {"create", "get", NULL}},
    {"pods/log", "", "Pod", {"get", NULL}},
    {"pods/portforward", "", "PodPortForwardOptions", {"create", "get", NULL}},
};

static void write_resource(struct json_out *o, const struct resource *r)
{
    json_open(o, '{');
    json_kstr(o, "name", r->name);
    json_kstr(o, "singularName", r->singular);
    json_kbool(o, "namespaced", true);
    json_kstr(o, "kind", r->kind);
    json_key(o, "verbs");
    json_open(o, '[');
    for (size_t i = 0; r->verbs[i] != NULL; i++)
        json_str(o, r->verbs[i]);
    json_close(o, ']');
    if (r == resources) {
        json_key(o, "shortNames");
        json_open(o, '[');
        json_str(o, "po");
        json_close(o, ']');
    }
    json_close(o, '}');
}

void kube_api_resources(struct http_request *rq)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "kind", "APIResourceList");
    json_kstr(&o, "groupVersion", "v1");
    json_key(&o, "resources");
    json_open(&o, '[');
    for (size_t i = 0; i < sizeof resources / sizeof *resources; i++)
        write_resource(&o, &resources[i]);
    json_close(&o, ']');
    dialect_reply_send(rq, 200, &o);
}

void kube_version(struct http_request *rq)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));
    char git[64];

    snprintf(git, sizeof git, "v" API_MAJOR "." API_MINOR ".0+holdfast-%.40s",
             dialect_base_of(rq)->host.version);
    json_kstr(&o, "major", API_MAJOR);
    json_kstr(&o, "minor", API_MINOR);
    json_kstr(&o, "gitVersion", git);
    json_kstr(&o, "gitCommit", "");
    json_kstr(&o, "gitTreeState", "");
    json_kstr(&o, "buildDate", "");
    json_kstr(&o, "goVersion", "");
    json_kstr(&o, "compiler", "");
    json_kstr(&o, "platform", "linux");
    dialect_reply_send(rq, 200, &o);
}

void kube_health(struct http_request *rq)
{
    http_reply(rq, 200, "text/plain", "ok", 2);
}

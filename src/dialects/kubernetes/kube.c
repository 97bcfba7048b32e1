/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube.c - creation and teardown of the dialect, its routes, replies and errors. Layer: dialects.
 */
#include "dialects/kubernetes/kube.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/braces.h"
#include "base/clock.h"
#include "base/crypto.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/kubernetes/kube_channel.h"
#include "dialects/kubernetes/kube_container.h"
#include "engine/notes.h"
#include "transport/auth.h"
#include "transport/url_query.h"
#include "transport/ws.h"

#define NOTE "kubernetes.pod"

/* --- errors ------------------------------------------------------------------ */

static const char *reason_of(int status)
{
    switch (status) {
    case 400: return "BadRequest";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "NotFound";
    case 405: return "MethodNotAllowed";
    case 406: return "NotAcceptable";
    case 409: return "Conflict";
    case 413: return "RequestEntityTooLarge";
    case 429: return "TooManyRequests";
    case 503: return "ServiceUnavailable";
    default: return status >= 500 ? "InternalError" : "BadRequest";
    }
}

/* pod NULL: the error is not about one. */
static void send_status(struct http_request *rq, int status, const char *message, const char *pod)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "kind", "Status");
    json_kstr(&o, "apiVersion", "v1");
    json_key(&o, "metadata");
    json_open(&o, '{');
    json_close(&o, '}');
    json_kstr(&o, "status", "Failure");
    json_kstr(&o, "message", message);
    json_kstr(&o, "reason", reason_of(status));
    if (pod != NULL || status == 429) {
        json_kopen(&o, "details", '{');
        if (pod != NULL) {
            json_kstr(&o, "name", pod);
            json_kstr(&o, "kind", "pods");
        }
        if (status == 429)
            json_kint(&o, "retryAfterSeconds", 1);
        json_close(&o, '}');
    }
    json_kint(&o, "code", status);
    dialect_reply_send(rq, status, &o);
}

void kube_refuse(struct http_request *rq, int status, const char *fmt, ...)
{
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    send_status(rq, status, text, NULL);
}

static void kube_error(struct http_request *rq, const struct hf_error *err)
{
    switch (err->code) {
    /* kubectl replaces the reason with its own text, "You must be logged in to the server". */
    case HF_E_unauthorized: send_status(rq, 401, "Unauthorized", NULL); return;
    case HF_E_not_found:
        send_status(rq, 404, "the server could not find the requested resource", NULL);
        return;
    case HF_E_upgrade_required: send_status(rq, 400, "Upgrade request required", NULL); return;
    default: send_status(rq, hf_code_status(err->code), err->detail, NULL); return;
    }
}

/* --- decoding requests ------------------------------------------------------------- */

bool kube_is_pod(struct http_request *rq)
{
    const char *name = http_param(rq, "name"), *first, *value;
    char message[300];
    size_t i = 0;

    snprintf(message, sizeof message, "pods \"%.253s\" not found", name);
    if (strcmp(name, KUBE_POD) != 0)
        send_status(rq, 404, message, name);
    else if (http_query_raw(rq)[0] != '\0' && !http_query_each(rq, &i, &first, &value))
        kube_refuse(rq, 400, "the query is not well-formed, or has more than %d parameters",
                    QUERY_PAIRS_MAX);
    else
        return true;
    return false;
}

bool kube_container(struct http_request *rq, struct process **p)
{
    const char *name = http_query(rq, "container");
    bool main = name == NULL || name[0] == '\0' || strcmp(name, KUBE_MAIN) == 0;

    *p = container_find(dialect_base_of(rq)->engine, main ? KUBE_MAIN : name);
    if (*p != NULL || main)
        return true;
    kube_refuse(rq, 400, "container %.253s is not valid for pod " KUBE_POD, name);
    return false;
}

bool kube_flag(const struct http_request *rq, const char *name)
{
    const char *v = http_query(rq, name);

    return v != NULL && strcmp(v, "0") != 0 && strcasecmp(v, "false") != 0;
}

/* --- routes --------------------------------------------------------------------------------- */

#define POD "/api/v1/namespaces/{ns}/pods/{name}"
#define METRICS "/apis/metrics.k8s.io"
#define AUTHORIZATION "/apis/authorization.k8s.io/v1"
#define AUTHENTICATION "/apis/authentication.k8s.io/v1"
#define GET(path, handler) BRACES(HTTP_GET_M, path, handler, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL)
#define REVIEW(path, handler)                                                                      \
    BRACES(HTTP_POST_M, path, handler, ROLE_WATCH, ROUTE_ANY_QUERY, 0, NULL)
/* WebSocket clients use GET, SPDY clients POST. */
#define UPGRADE(path, handler, role)                                                               \
    BRACES(HTTP_GET_M | HTTP_POST_M, path, handler, role,                                          \
           ROUTE_UPGRADE | ROUTE_RAW | ROUTE_ANY_QUERY | ROUTE_NO_BODY, 0, NULL)

static const struct route routes[] = {
    GET("/version", kube_version),
    GET("/version/", kube_version),
    {HTTP_GET_M, "/healthz", kube_health, ROLE_NONE, ROUTE_PUBLIC | ROUTE_PROBE | ROUTE_ANY_QUERY,
     0, NULL},
    {HTTP_GET_M, "/livez", kube_health, ROLE_NONE, ROUTE_PUBLIC | ROUTE_PROBE | ROUTE_ANY_QUERY, 0,
     NULL},
    {HTTP_GET_M, "/readyz", kube_health, ROLE_NONE, ROUTE_PUBLIC | ROUTE_PROBE | ROUTE_ANY_QUERY, 0,
     NULL},
    GET("/api", kube_api_versions),
    GET("/api/", kube_api_versions),
    GET("/apis", kube_api_groups),
    GET("/apis/", kube_api_groups),
    GET("/api/v1", kube_api_resources),
    GET("/api/v1/", kube_api_resources),
    GET("/api/v1/pods", kube_pods),
    GET("/api/v1/namespaces/{ns}/pods", kube_pods),
    GET(POD, kube_pod),
    GET(AUTHORIZATION, kube_authorization_resources),
    GET(AUTHENTICATION, kube_authentication_resources),
    REVIEW(AUTHORIZATION "/selfsubjectaccessreviews", kube_access_review),
    REVIEW(AUTHORIZATION "/selfsubjectrulesreviews", kube_rules_review),
    REVIEW(AUTHENTICATION "/selfsubjectreviews", kube_self_review),
    GET(METRICS, kube_metrics_group),
    GET(METRICS "/", kube_metrics_group),
    GET(METRICS "/v1beta1", kube_metrics_resources),
    GET(METRICS "/v1beta1/", kube_metrics_resources),
    GET(METRICS "/v1beta1/pods", kube_metrics_pods),
    GET(METRICS "/v1beta1/namespaces/{ns}/pods", kube_metrics_pods),
    GET(METRICS "/v1beta1/namespaces/{ns}/pods/{name}", kube_metrics_pod),
    GET(POD "/log", kube_log),
    UPGRADE(POD "/exec", kube_exec, ROLE_OWN),
    UPGRADE(POD "/attach", kube_attach, ROLE_WATCH),
    UPGRADE(POD "/portforward", kube_portforward, ROLE_OWN),
};

/* A browser's WebSocket cannot send headers, so the token may be one of the offered protocols. */
static enum role protocol_role(const struct http_request *rq, struct auth_grant *g)
{
    struct buf token = {0};
    enum role role = ROLE_NONE;

    if (kube_protocol_token(ws_offered(rq), &token))
        role = auth_token_role(dialect_base_of(rq)->host.auth, buf_data(&token), token.len, g);
    buf_wipe(&token);
    return role;
}

static const struct auth_ways ways = {.upgrade_own = protocol_role};

/* --- creation and teardown ------------------------------------------------------------------ */

static void new_uid(char *out)
{
    uint8_t r[16];
    char hex[33];

    crypto_random(r, sizeof r);
    r[6] = (uint8_t)((r[6] & 0x0f) | 0x40); /* RFC 4122, version 4 */
    r[8] = (uint8_t)((r[8] & 0x3f) | 0x80);
    hex_encode(hex, r, sizeof r);
    snprintf(out, KUBE_UID_BYTES, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
             hex + 20);
}

/* The pod keeps its identity across workers: "UID CREATED". */
static void recall_pod(struct kube *k)
{
    size_t len;
    const char *note = engine_note(k->base.engine, NOTE, &len);
    char text[KUBE_UID_BYTES + 24];
    int n;

    if (note != NULL && len > KUBE_UID_BYTES && len < sizeof text) {
        memcpy(text, note, len);
        text[len] = '\0';
        if (text_to_i64(text + KUBE_UID_BYTES, 0, INT64_MAX, &k->created_ms)) {
            snprintf(k->uid, sizeof k->uid, "%.36s", text);
            return;
        }
    }
    new_uid(k->uid);
    k->created_ms = clock_wall_ms();
    n = snprintf(text, sizeof text, "%s %lld", k->uid, (long long)k->created_ms);
    (void)engine_note_set(k->base.engine, NOTE, text,
                          (size_t)n); /* otherwise the next worker makes another */
}

static void kube_init(struct dialect_base *b)
{
    recall_pod((struct kube *)b);
}

static const struct route_group groups[] = {
    {"", routes, sizeof routes / sizeof *routes},
    {NULL, NULL, 0},
};

const struct dialect kubernetes_dialect = {
    .name = "kubernetes",
    .port = 6443,
    .prefix = "/dialects/kubernetes",
    .groups = groups,
    .ways = &ways,
    .error = kube_error,
    .size = sizeof(struct kube),
    .init = kube_init,
};

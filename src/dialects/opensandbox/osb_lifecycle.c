/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_lifecycle.c - the part of the control plane that the SDK needs before it talks to execd
 *
 * The daemon is the only sandbox, under whatever id the client uses: behind a gateway each id leads
 * to another daemon, and this one only reports how to get there. Creating a sandbox finds it
 * running; deleting it has no effect, because others may use it. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "dialects/opensandbox/osb.h"
#include "dialects/opensandbox/osb_env.h"
#include "transport/url_query.h"

#define EGRESS_PORT 18080

/* --- the sandbox ------------------------------------------------------------------ */

/* A gateway knows this daemon by an id of its own. */
static const char *own_id(const struct http_request *rq, char *room, size_t size)
{
    const char *id = http_header(rq, "X-Forwarded-Sandbox");

    if (id == NULL || id[0] == '\0')
        id = getenv("HOLDFAST_SANDBOX_ID");
    if (id != NULL && id[0] != '\0')
        return id;
    if (gethostname(room, size) < 0)
        snprintf(room, size, "holdfast");
    room[size - 1] = '\0';
    return room;
}

static void put_fixed(struct json_out *j, const char *key, const char *json)
{
    json_key(j, key);
    json_raw(j, json, strlen(json));
}

static void write_sandbox(struct json_out *j, const struct osb *o, const char *id)
{
    json_auto_t *metadata = osb_env_metadata(o);

    json_kstr(j, "id", id);
    put_fixed(j, "status", "{\"state\":\"Running\"}");
    json_ktime(j, "createdAt", o->began_wall_ms);
    put_fixed(j, "entrypoint", "[\"holdfast\"]");
    json_key(j, "metadata");
    json_value(j, metadata);
}

/* The reply to a create leaves the image out. */
static void write_image(struct json_out *j)
{
    put_fixed(j, "image", "{\"uri\":\"holdfast\"}");
}

static void reply_sandbox(struct http_request *rq, int status, const char *id)
{
    struct json_out j = dialect_reply_open(dialect_base_of(rq));

    write_sandbox(&j, osb_of(rq), id);
    if (status == 200)
        write_image(&j);
    dialect_reply_send(rq, status, &j);
}

/* What the daemon would have to enforce, but cannot: it is part of the machine that it finds. */
static const char *refused_field(const json_t *body)
{
    static const char *const names[] = {"networkPolicy", "volumes",         "snapshotId",
                                        "templateId",    "credentialProxy", "lifecycle"};
    const json_t *v;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        v = json_object_get(body, names[i]);
        if (v != NULL && !json_is_null(v) && (!json_is_array(v) || json_array_size(v) > 0))
            return names[i];
    }
    return json_is_true(json_object_get(body, "secureAccess")) ? "secureAccess" : NULL;
}

void osb_sandbox_create(struct http_request *rq)
{
    json_auto_t *body = osb_body(rq);
    const char *field = refused_field(body);
    struct hf_error err;
    char room[64];

    if (body == NULL)
        return;
    if (field != NULL) {
        hf_fail_field(&err, HF_E_not_implemented, field,
                      "%s is not supported: the sandbox is this machine, which is already running",
                      field);
        osb_error(rq, &err);
    } else if (osb_env_keep(osb_of(rq), json_object_get(body, "env"),
                            json_object_get(body, "metadata"), &err) < 0) {
        osb_error(rq, &err);
    } else {
        reply_sandbox(rq, 202, own_id(rq, room, sizeof room));
    }
}

void osb_sandbox_get(struct http_request *rq)
{
    reply_sandbox(rq, 200, http_param(rq, "sandbox"));
}

/* {"key": "value"}, or null to remove it. */
void osb_sandbox_patch(struct http_request *rq)
{
    json_auto_t *body = osb_body(rq);
    struct hf_error err;

    if (body == NULL)
        return;
    if (osb_env_keep(osb_of(rq), NULL, body, &err) < 0)
        osb_error(rq, &err);
    else
        reply_sandbox(rq, 200, http_param(rq, "sandbox"));
}

static bool percent_decode(char *text)
{
    ssize_t len = url_percent_decode(text, strlen(text), true, text);

    if (len >= 0)
        text[len] = '\0';
    return len >= 0;
}

/* Of "a=1&b=2", percent-encoded once more; all of them must be in the metadata. */
static bool metadata_matches(const json_t *metadata, const char *wanted)
{
    char *copy = hf_xstrdup(wanted), *save = NULL, *pair;
    bool ok = true;

    for (pair = strtok_r(copy, "&", &save); ok && pair != NULL; pair = strtok_r(NULL, "&", &save)) {
        char *value = strchr(pair, '=');
        const char *has;

        if (value != NULL)
            *value++ = '\0';
        ok = percent_decode(pair) && (value == NULL || percent_decode(value));
        has = ok ? json_string_value(json_object_get(metadata, pair)) : NULL;
        ok = has != NULL && strcmp(has, value != NULL ? value : "") == 0;
    }
    free(copy);
    return ok;
}

/* Is the sandbox among those that the query asks for? */
static bool is_listed(struct http_request *rq)
{
    json_auto_t *metadata = osb_env_metadata(osb_of(rq));
    bool states = false, running = false, matches = true;
    const char *name, *value;
    size_t i = 0;

    while (http_query_each(rq, &i, &name, &value)) {
        if (strcmp(name, "state") == 0) {
            states = true;
            running = running || strcasecmp(value, "Running") == 0;
        } else if (strcmp(name, "metadata") == 0) {
            matches = matches && metadata_matches(metadata, value);
        }
    }
    return matches && (running || !states);
}

void osb_sandbox_list(struct http_request *rq)
{
    int64_t page = 1, size = 20;
    struct json_out j;
    char room[64];
    bool listed;

    if (!dialect_query_number(rq, "page", 0, INT32_MAX, &page) ||
        !dialect_query_number(rq, "pageSize", 1, INT32_MAX, &size))
        return;
    listed = is_listed(rq);
    j = dialect_reply_open(dialect_base_of(rq));
    json_key(&j, "items");
    json_open(&j, '[');
    if (listed && page <= 1) {
        json_open(&j, '{');
        write_sandbox(&j, osb_of(rq), own_id(rq, room, sizeof room));
        write_image(&j);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_key(&j, "pagination");
    json_open(&j, '{');
    json_kint(&j, "page", page);
    json_kint(&j, "pageSize", size);
    json_kint(&j, "totalItems", listed);
    json_kint(&j, "totalPages", listed);
    json_kbool(&j, "hasNextPage", false);
    json_close(&j, '}');
    dialect_reply_send(rq, 200, &j);
}

void osb_sandbox_delete(struct http_request *rq)
{
    http_reply_empty(rq, 204);
}

void osb_lifecycle_metrics(struct http_request *rq)
{
    http_reply_empty(rq, 204);
}

/* --- endpoints ----------------------------------------------------------------------- */

/* The token that this client has sent; execd's calls need it in their own header. Behind a gateway
 * it may be the gateway's, which must not be revealed. */
static const char *shown_token(const struct http_request *rq)
{
    const char *token = http_header(rq, "X-EXECD-ACCESS-TOKEN");

    if (http_header(rq, "X-Forwarded-For") != NULL || http_header(rq, "X-Forwarded-Host") != NULL)
        return NULL;
    if (token == NULL)
        token = http_header(rq, "OPEN-SANDBOX-API-KEY");
    if (token == NULL) {
        token = http_header(rq, "Authorization");
        token = token != NULL && strncasecmp(token, "Bearer ", 7) == 0 ? token + 7 : NULL;
    }
    return token;
}

/* Host and path before our routes, as the client sees them. */
static void put_root(struct buf *out, const struct http_request *rq)
{
    const char *host = http_header(rq, "X-Forwarded-Host");
    const char *prefix = http_header(rq, "X-Forwarded-Prefix");

    if (host == NULL)
        host = http_header(rq, "Host");
    buf_puts(out, host != NULL ? host : "localhost");
    if (prefix != NULL && prefix[0] == '/' && prefix[1] != '\0')
        buf_puts(out, prefix);
    if (strncmp(http_path(rq), OSB_PREFIX "/", sizeof OSB_PREFIX) == 0)
        buf_puts(out, OSB_PREFIX);
}

/* A port of the sandbox itself: on the same host. */
static void put_direct(struct buf *out, const struct http_request *rq, int64_t port)
{
    const char *host = http_header(rq, "Host");
    const char *colon = host != NULL ? strrchr(host, ':') : NULL;
    bool v6 = host != NULL && host[0] == '[';

    if (colon != NULL && v6 && strchr(colon, ']') != NULL)
        colon = NULL;
    if (host == NULL)
        host = "localhost";
    buf_put(out, host, colon != NULL ? (size_t)(colon - host) : strlen(host));
    buf_printf(out, ":%lld", (long long)port);
}

static void put_endpoint(struct buf *out, const struct http_request *rq, int64_t port)
{
    if (dialect_query_flag(rq, "use_server_proxy")) {
        put_root(out, rq);
        buf_printf(out, "/sandboxes/%s/proxy/%lld", http_param(rq, "sandbox"), (long long)port);
    } else if (port == OSB_PORT || port == EGRESS_PORT) {
        put_root(out, rq);
    } else {
        put_direct(out, rq, port);
    }
}

void osb_sandbox_endpoint(struct http_request *rq)
{
    const char *token = shown_token(rq);
    struct buf endpoint = {0};
    struct json_out j;
    int64_t port;

    if (!text_to_i64(http_param(rq, "port"), 1, 65535, &port)) {
        osb_refuse(rq, 400, "INVALID_REQUEST_BODY", "the port must be from 1 to 65535");
        return;
    }
    if (http_query(rq, "expires") != NULL) {
        osb_refuse(rq, 400, "INVALID_REQUEST_BODY", "signed endpoints are not supported");
        return;
    }
    put_endpoint(&endpoint, rq, port);
    j = dialect_reply_open(dialect_base_of(rq));
    json_kstr(&j, "endpoint", buf_cstr(&endpoint));
    if (token != NULL) {
        json_key(&j, "headers");
        json_open(&j, '{');
        json_kstr(&j, "X-EXECD-ACCESS-TOKEN", token);
        json_close(&j, '}');
    }
    dialect_reply_send(rq, 200, &j);
    buf_fini(&endpoint);
}

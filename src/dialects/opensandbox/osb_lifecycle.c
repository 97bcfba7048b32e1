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

#include "base/text.h"
#include "dialects/opensandbox/osb.h"

#define EGRESS_PORT 18080

/* --- the sandbox ------------------------------------------------------------------ */

static const char *own_id(char *room, size_t size)
{
    const char *id = getenv("HOLDFAST_SANDBOX_ID");

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
    json_kstr(j, "id", id);
    put_fixed(j, "status", "{\"state\":\"Running\"}");
    json_ktime(j, "createdAt", o->began_wall_ms);
    put_fixed(j, "image", "{\"uri\":\"holdfast\"}");
    put_fixed(j, "entrypoint", "[\"holdfast\"]");
}

void osb_sandbox_create(struct http_request *rq)
{
    json_auto_t *body = osb_body(rq);
    char room[64];
    struct json_out j;

    if (body == NULL)
        return;
    j = dialect_reply_open(dialect_base_of(rq));
    write_sandbox(&j, osb_of(rq), own_id(room, sizeof room));
    dialect_reply_send(rq, 202, &j);
}

void osb_sandbox_get(struct http_request *rq)
{
    struct json_out j = dialect_reply_open(dialect_base_of(rq));

    write_sandbox(&j, osb_of(rq), http_param(rq, "sandbox"));
    dialect_reply_send(rq, 200, &j);
}

void osb_sandbox_list(struct http_request *rq)
{
    struct json_out j = dialect_reply_open(dialect_base_of(rq));
    char room[64];

    json_key(&j, "items");
    json_open(&j, '[');
    json_open(&j, '{');
    write_sandbox(&j, osb_of(rq), own_id(room, sizeof room));
    json_close(&j, '}');
    json_close(&j, ']');
    put_fixed(&j, "pagination",
              "{\"page\":1,\"pageSize\":20,\"totalItems\":1,\"totalPages\":1,"
              "\"hasNextPage\":false}");
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
    const char *proxy = http_query(rq, "use_server_proxy");

    if (proxy != NULL && strcmp(proxy, "true") == 0) {
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper_sandbox.c - the control plane of one sandbox that always exists
 *
 * A client creates or finds its sandbox through the control plane, which returns the runtime's
 * address and a token for it. Here both are this daemon: the address is the one that the client
 * used, and the token is the client's own. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "dialects/hyperbrowser/hyper.h"

#define SANDBOX "local"

/* The path before the control plane's own: where the dialect is served. */
static size_t mount_len(const struct http_request *rq)
{
    const char *path = http_path(rq), *at = path, *found = path;

    while ((at = strstr(at, "/api/sandbox")) != NULL)
        found = at++;
    return (size_t)(found - path);
}

/* A gateway forwards the address that the client used. */
static void write_runtime(struct json_out *o, const struct http_request *rq)
{
    const char *host = http_header(rq, "X-Forwarded-Host");
    const char *proto = http_header(rq, "X-Forwarded-Proto");
    const char *prefix = http_header(rq, "X-Forwarded-Prefix");
    struct buf url = {0};

    if (host == NULL)
        host = http_header(rq, "Host");
    if (host == NULL)
        host = "localhost";
    if (proto == NULL || (strcmp(proto, "http") != 0 && strcmp(proto, "https") != 0))
        proto = http_is_tls(rq) ? "https" : "http";
    buf_printf(&url, "%s://%s%s", proto, host, prefix != NULL ? prefix : "");
    buf_put(&url, http_path(rq), mount_len(rq));
    json_key(o, "runtime");
    json_open(o, '{');
    json_kstr(o, "transport", "regional_proxy");
    json_kstr(o, "host", host);
    json_kstr(o, "baseUrl", buf_cstr(&url));
    json_close(o, '}');
    buf_fini(&url);
}

/* The client's token. If none is required, any will do. */
static const char *token_of(const struct http_request *rq)
{
    const char *key = http_header(rq, "x-api-key"), *bearer = http_header(rq, "Authorization");

    if (key != NULL && key[0] != '\0')
        return key;
    return bearer != NULL && strncasecmp(bearer, "Bearer ", 7) == 0 ? bearer + 7 : "none";
}

static void write_sandbox(struct json_out *o, const struct http_request *rq)
{
    json_kstr(o, "id", SANDBOX);
    json_kstr(o, "teamId", SANDBOX);
    json_kstr(o, "status", "active");
    json_kstr(o, "region", SANDBOX);
    write_runtime(o, rq);
    json_key(o, "exposedPorts");
    json_raw(o, "[]", 2);
}

static void reply_detail(struct http_request *rq)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    write_sandbox(&o, rq);
    json_kstr(&o, "token", token_of(rq));
    json_knull(&o, "tokenExpiresAt");
    http_add_header(rq, "Cache-Control", "no-store");
    dialect_reply_send(rq, 200, &o);
}

/* False: the request has been replied to. */
static bool is_ours(struct http_request *rq)
{
    const char *id = http_param(rq, "sandbox");
    struct hf_error err = {0};

    if (strcmp(id, SANDBOX) == 0)
        return true;
    hf_fail(&err, HF_E_no_such_sandbox, "sandbox %.100s not found: this sandbox is named " SANDBOX,
            id);
    hyper_error(rq, &err);
    return false;
}

/* Images and sizes do not apply: the sandbox already exists. */
void hyper_sandbox_create(struct http_request *rq)
{
    json_auto_t *body = dialect_object(rq);

    if (body != NULL)
        reply_detail(rq);
}

void hyper_sandbox_get(struct http_request *rq)
{
    if (is_ours(rq))
        reply_detail(rq);
}

void hyper_sandbox_list(struct http_request *rq)
{
    const char *status = http_query(rq, "status"), *search = http_query(rq, "search");
    uint64_t page = 1, limit = 20;
    struct json_out o;
    bool listed;

    if (!hyper_number(rq, "page", &page) || !hyper_number(rq, "limit", &limit))
        return;
    listed = (status == NULL || strcmp(status, "active") == 0) &&
             (search == NULL || strstr(SANDBOX, search) != NULL);
    o = dialect_reply_open(dialect_base_of(rq));
    json_key(&o, "sandboxes");
    json_open(&o, '[');
    if (listed && page <= 1) {
        json_open(&o, '{');
        write_sandbox(&o, rq);
        json_close(&o, '}');
    }
    json_close(&o, ']');
    json_kint(&o, "totalCount", listed);
    json_ku64(&o, "page", page);
    json_ku64(&o, "perPage", limit);
    dialect_reply_send(rq, 200, &o);
}

/* --- stop ------------------------------------------------------------------------------------ */

struct hyper_sandbox_stopping {
    struct call call;
    size_t left; /* processes being terminated, plus one while the search continues */
};

static const struct call_kind stopping_kind = {.stays = true};

static void stopping_one_less(struct hyper_sandbox_stopping *s)
{
    struct json_out o;

    if (--s->left > 0)
        return;
    if (s->call.rq == NULL) {
        call_end(&s->call);
        return;
    }
    o = dialect_reply_open(dialect_base_of(s->call.rq));
    json_kbool(&o, "success", true);
    call_send(&s->call, 200, &o);
}

static void on_ended(void *arg, struct process *p, const struct survivors *left)
{
    (void)p, (void)left;
    stopping_one_less(arg);
}

static bool is_mine(struct process *p)
{
    struct process_view v;
    json_auto_t *meta = NULL;
    const char *via;

    process_view(p, &v);
    meta = json_loads(v.metadata_json, 0, NULL);
    via = json_string_value(json_object_get(meta, "via"));
    return v.running && via != NULL && strcmp(via, "hyperbrowser") == 0;
}

/* Terminates what this dialect has started. The daemon may be shared, and it stays. */
void hyper_sandbox_stop(struct http_request *rq)
{
    struct engine *e = dialect_base_of(rq)->engine;
    struct process *p = NULL;
    struct hyper_sandbox_stopping *s;

    if (!is_ours(rq))
        return;
    s = call_begin(rq, &stopping_kind, sizeof *s);
    s->left = 1;
    while ((p = engine_next(e, p)) != NULL)
        if (is_mine(p)) {
            s->left++;
            process_terminate(p, -1, "api", on_ended, s);
        }
    stopping_one_less(s);
}

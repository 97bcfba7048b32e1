/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper_sandbox.c - the control plane of one sandbox that always exists
 *
 * A client creates or finds its sandbox through the control plane, which returns the runtime's
 * address and a token for it. Here both are this daemon: the address is the one that the client
 * used, and the token is the client's own. Layer: dialects.
 */
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "dialects/common/end_call.h"
#include "dialects/common/machine.h"
#include "dialects/common/own_url.h"
#include "dialects/hyperbrowser/hyper.h"

#define SANDBOX "local"
#define REGION "us" /* clients accept only the platform's own names; this is the widest of them */

/* People find what runs here on the daemon's page. */
static void write_addresses(struct json_out *o, const struct http_request *rq)
{
    struct buf url = {0};

    own_url_put(&url, rq, "http", 0);
    json_kstr(o, "sessionUrl", buf_cstr(&url));
    buf_clear(&url);
    own_url_put(&url, rq, "http", own_url_mount(rq, "/api/sandbox"));
    json_key(o, "runtime");
    json_open(o, '{');
    json_kstr(o, "transport", "regional_proxy");
    json_kstr(o, "host", own_url_host(rq));
    json_kstr(o, "baseUrl", buf_cstr(&url));
    json_close(o, '}');
    buf_fini(&url);
}

static void write_machine(struct json_out *o)
{
    struct machine m;

    machine_read(&m);
    json_ktime(o, "createdAt", m.started_ms);
    json_ktime(o, "updatedAt", m.started_ms);
    json_kint(o, "startTime", m.started_ms);
    json_kint(o, "duration", (clock_wall_ms() - m.started_ms) / 1000);
    json_kint(o, "vcpus", m.cpus);
    json_kint(o, "memMiB", (int64_t)(m.memory_bytes >> 20));
    json_kint(o, "diskSizeMiB", (int64_t)(m.disk_bytes >> 20));
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
    json_kstr(o, "region", REGION);
    write_machine(o);
    write_addresses(o, rq);
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

static void stop_done(struct end_call *e, struct http_request *rq, const struct hf_error *err)
{
    struct json_out o;

    (void)err;
    if (rq == NULL)
        return;
    o = dialect_reply_open(e->call.base);
    json_kbool(&o, "success", true);
    dialect_reply_send(rq, 200, &o);
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
    struct end_call *s;

    if (!is_ours(rq))
        return;
    s = end_call_begin(rq, stop_done, sizeof *s);
    while ((p = engine_next(e, p)) != NULL)
        if (is_mine(p))
            end_call_terminate(s, p, -1);
    end_call_wait(s);
}

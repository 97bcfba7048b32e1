/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_server.c - initialize, server/discover, and the table of methods. Layer: dialects.
 */
#include "dialects/mcp/mcp_server.h"

#include <string.h>

#include "dialects/mcp/mcp_resource.h"
#include "dialects/mcp/mcp_tools.h"

static const char instructions[] =
    "Commands and terminals of one machine. run_command runs a command to its end; start_process "
    "starts one that keeps running (with a pty for programs that need a terminal). Every byte of "
    "output has an offset: send_input returns the offset before the input; pass it to wait_for as "
    "\"from\", so that nothing is missed in between. read_output reads any range again. "
    "Processes remain listed after their exit until their record is dropped.";

static void write_implementation(const struct mcp *m, struct json_out *o)
{
    json_open(o, '{');
    json_kstr(o, "name", "holdfast");
    json_kstr(o, "title", "holdfast: processes and terminals");
    json_kstr(o, "version", m->base.host.version);
    json_close(o, '}');
}

static void write_capabilities(struct json_out *o)
{
    static const char text[] =
        "{\"tools\":{},\"resources\":{\"subscribe\":true,\"listChanged\":true}}";

    json_key(o, "capabilities");
    json_raw(o, text, sizeof text - 1);
}

void server_write_result_head(const struct mcp *m, struct json_out *o)
{
    json_kstr(o, "resultType", "complete");
    json_kopen(o, "_meta", '{');
    json_key(o, "io.modelcontextprotocol/serverInfo");
    write_implementation(m, o);
    json_close(o, '}');
}

void server_write_cache(const struct mcp_call *c, struct json_out *o, int64_t ttl_ms)
{
    if (!c->revision->stateless)
        return;
    json_kint(o, "ttlMs", ttl_ms);
    json_kstr(o, "cacheScope", "private"); /* the list depends on the token's role */
}

void server_initialize(struct mcp_exchange *x, const struct rpc_message *m)
{
    struct mcp_call c = mcp_call_of(x, m);
    struct json_out o = mcp_call_open(&c);

    json_kstr(&o, "protocolVersion", x->revision->name);
    write_capabilities(&o);
    json_key(&o, "serverInfo");
    write_implementation(mcp_call_mcp(&c), &o);
    json_kstr(&o, "instructions", instructions);
    mcp_call_send(&c, &o);
}

#define DISCOVER_TTL_MS (60 * 60 * 1000)

static void discover(struct mcp_call *c, const json_t *params)
{
    struct json_out o = mcp_call_open(c);

    (void)params;
    json_key(&o, "supportedVersions");
    revision_write_names(&o, true);
    write_capabilities(&o);
    json_kstr(&o, "instructions", instructions);
    server_write_cache(c, &o, DISCOVER_TTL_MS);
    mcp_call_send(c, &o);
}

static void ping(struct mcp_call *c, const json_t *params)
{
    (void)params;
    mcp_call_send_empty(c);
}

enum era { WITH_SESSIONS = 1, STATELESS = 2, BOTH = 3 };

static const struct {
    const char *name;
    enum era era;
    void (*fn)(struct mcp_call *c, const json_t *params);
} methods[] = {
    {"ping", WITH_SESSIONS, ping},
    {"server/discover", STATELESS, discover},
    {"tools/list", BOTH, tools_list},
    {"tools/call", BOTH, tools_call},
    {"resources/list", BOTH, resources_list},
    {"resources/templates/list", BOTH, resources_templates},
    {"resources/read", BOTH, resources_read},
    {"resources/subscribe", WITH_SESSIONS, resources_subscribe},
    {"resources/unsubscribe", WITH_SESSIONS, resources_unsubscribe},
};

void server_dispatch(struct mcp_exchange *x, const struct rpc_message *m)
{
    enum era era = x->revision->stateless ? STATELESS : WITH_SESSIONS;
    struct mcp_call c = mcp_call_of(x, m);

    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (strcmp(methods[i].name, m->method) == 0 && (methods[i].era & era) != 0) {
            methods[i].fn(&c, m->params);
            return;
        }
    }
    mcp_call_fail(&c, RPC_METHOD_NOT_FOUND, NULL, "no method \"%.80s\" in revision %s", m->method,
                  x->revision->name);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp.c - creation, drain and teardown of the MCP dialect. Layer: dialects.
 */
#include "dialects/mcp/mcp.h"

#include <assert.h>

#include "base/mem.h"
#include "dialects/mcp/mcp_call.h"
#include "dialects/mcp/mcp_listen.h"
#include "dialects/mcp/mcp_session.h"
#include "dialects/mcp/mcp_tools.h"

struct mcp *mcp_new(struct engine *e, const struct mcp_options *o)
{
    struct mcp *m = hf_xalloc(sizeof *m);

    m->engine = e;
    m->options = *o;
    list_init(&m->sessions);
    list_init(&m->exchanges);
    list_init(&m->feeds);
    list_init(&m->jobs);
    m->table = (struct route_table){
        .prefix = "/mcp",
        .routes = mcp_route_list,
        .count = mcp_route_count,
        .error = mcp_refuse,
        .context = m,
    };
    return m;
}

static void end_exchanges(struct mcp *m, enum mcp_call_end why)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &m->exchanges)
        exchange_end(list_entry(it, struct mcp_exchange, link), why);
}

void mcp_free(struct mcp *m)
{
    if (m == NULL)
        return;
    end_exchanges(m, MCP_CALL_FREE);
    mcp_sessions_free(m);
    listens_end(m, MCP_CALL_FREE);
    while (!list_is_empty(&m->jobs)) {
        struct job *j = list_entry(m->jobs.next, struct job, link);

        j->kind->end(j, MCP_CALL_FREE);
    }
    assert(list_is_empty(&m->feeds));
    json_decref(m->tools);
    buf_fini(&m->scratch);
    buf_fini(&m->text);
    buf_fini(&m->frame);
    free(m);
}

const struct route_table *mcp_routes(struct mcp *m)
{
    return &m->table;
}

void mcp_refuse_new(struct mcp *m)
{
    m->closed = true;
}

void mcp_drain(struct mcp *m)
{
    m->closed = m->draining = true;
    end_exchanges(m, MCP_CALL_DRAIN);
    listens_end(m, MCP_CALL_DRAIN);
    mcp_sessions_free(m);
    m->expiry = NULL;
}

struct mcp *mcp_of(const struct http_request *rq)
{
    return http_context(rq);
}

int mcp_check_open(const struct mcp *m, struct hf_error *err)
{
    if (m->closed)
        return hf_fail(err, HF_E_shutting_down,
                       "the daemon is shutting down and starts nothing new; reconnect");
    return 0;
}

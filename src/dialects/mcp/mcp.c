/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp.c - the MCP dialect: what an instance has besides its base. Layer: dialects.
 */
#include "dialects/mcp/mcp.h"

#include "dialects/mcp/mcp_session.h"

static void mcp_init(struct dialect_base *b)
{
    struct mcp *m = (struct mcp *)b;

    list_init(&m->sessions);
    list_init(&m->starting);
}

static void mcp_fini(struct dialect_base *b)
{
    struct mcp *m = (struct mcp *)b;

    mcp_sessions_free(m);
    json_decref(m->tools);
    buf_fini(&m->text);
}

const struct dialect mcp_dialect = {
    .name = "mcp",
    .prefix = "/mcp",
    .groups = mcp_route_groups,
    .error = mcp_refuse,
    .size = sizeof(struct mcp),
    .init = mcp_init,
    .fini = mcp_fini,
};

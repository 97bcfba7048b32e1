/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_dialect.c - MCP as a dialect of the daemon's table. Layer: dialects.
 */
#include "dialects/common/dialect.h"
#include "dialects/mcp/mcp_context.h"

static void *make(const struct dialect_host *host)
{
    const struct mcp_options o = {
        .version = host->version,
        .origin = host->origin,
        .session_ms = host->mcp_session_ms,
    };

    return mcp_new(host->engine, &o);
}

static const struct route_table *routes(void *self)
{
    return mcp_routes(self);
}

static void refuse_new(void *self)
{
    mcp_refuse_new(self);
}

static void drain(void *self)
{
    mcp_drain(self);
}

static void free_mcp(void *self)
{
    mcp_free(self);
}

const struct dialect mcp_dialect = {
    .name = "mcp",
    .prefix = "/mcp",
    .groups = mcp_route_groups,
    .make = make,
    .routes = routes,
    .refuse_new = refuse_new,
    .drain = drain,
    .free = free_mcp,
};

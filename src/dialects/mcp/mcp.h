/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp.h - the Model Context Protocol at /mcp: tools and resources for models
 *
 * JSON-RPC over streamable HTTP, as docs/dialects/mcp.md describes. We serve two kinds of revision
 * side by side: those that begin with `initialize` and have sessions (2025-03-26, 2025-06-18,
 * 2025-11-25), and the one in which every request is self-contained (2026-07-28). Sessions belong
 * to the worker and end with it; processes do not. Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_H
#define HF_DIALECTS_MCP_MCP_H

#include "dialects/common/dialect_base.h"

struct mcp {
    struct dialect_base base; /* its scratch buffer has the message being written */
    json_t *tools;            /* tools_describe(); NULL until first requested */
    struct list sessions;     /* struct mcp_session, least recently used first */
    struct list starting;     /* struct mcp_tool_run with an Idempotency-Key, not started yet */
    size_t call_count;        /* calls that wait, of LIMIT_MCP_CALLS */
    struct timer *expiry;     /* of the least recently used session; NULL: there was none yet */
    struct buf text;          /* free between handlers: the text for people in that message */
};

static inline struct mcp *mcp_of(const struct http_request *rq)
{
    return http_context(rq);
}

extern const struct route_group mcp_route_groups[]; /* mcp_endpoint.c */
/* Refuses a request before any message of it is handled: a JSON-RPC error with no id. */
void mcp_refuse(struct http_request *rq, const struct hf_error *err);

#endif

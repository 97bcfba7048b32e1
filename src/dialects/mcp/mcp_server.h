/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_server.h - what the server reports about itself, and the handler of each method. Layer:
 * dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_SERVER_H
#define HF_DIALECTS_MCP_MCP_SERVER_H

#include "dialects/mcp/mcp_call.h"

/* Members that begin every result of a self-contained revision. */
void server_write_result_head(const struct mcp *m, struct json_out *o);
/* How long and by whom a result may be cached; self-contained revisions only. */
void server_write_cache(const struct mcp_call *c, struct json_out *o, int64_t ttl_ms);

/* Replies to the message, now or later. */
void server_dispatch(struct mcp_exchange *x, const struct rpc_message *m);
/* The same for `initialize`, after its session was created. */
void server_initialize(struct mcp_exchange *x, const struct rpc_message *m);

#endif

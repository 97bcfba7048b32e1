/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_server.h - what the server says about itself, and which method does what. Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_SERVER_H
#define HF_DIALECTS_MCP_MCP_SERVER_H

#include "dialects/mcp/mcp_call.h"

/* Members that every result of a stateless revision begins with. */
void server_write_result_head(const struct mcp *m, struct json_out *o);
/* How long a result may be kept, and by whom; stateless revisions only. */
void server_write_cache(const struct mcp_call *c, struct json_out *o, int64_t ttl_ms);

/* Answers the call, now or later. */
void server_dispatch(struct mcp_call *c, const struct rpc_message *m);
/* `initialize`: the caller has made the session; NULL: there is no room for one. */
void server_initialize(struct mcp_call *c, const struct revision *rev);

#endif

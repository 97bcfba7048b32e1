/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_listen.h - subscriptions/listen of the stateless revision: a request that is a stream
 *
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_LISTEN_H
#define HF_DIALECTS_MCP_MCP_LISTEN_H

#include "dialects/mcp/mcp_call.h"

/* Answers the request: an error, or the stream. */
void listen_start(struct http_request *rq, const struct rpc_message *m);
void listens_end(struct mcp *m, enum call_end why);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_listen.h - subscriptions/listen of the self-contained revision: a request that is a stream
 *
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_LISTEN_H
#define HF_DIALECTS_MCP_MCP_LISTEN_H

#include "dialects/mcp/mcp_call.h"

/* Replies to the request with an error or the stream. */
void listen_start(struct http_request *rq, const struct rpc_message *m);
void listens_end(struct mcp *m, enum mcp_call_end why);

#endif

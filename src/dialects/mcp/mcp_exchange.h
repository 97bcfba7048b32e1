/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_exchange.h - the transport's side of an exchange, for mcp_call.c and mcp_progress.c
 *
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_EXCHANGE_H
#define HF_DIALECTS_MCP_MCP_EXCHANGE_H

#include "dialects/mcp/mcp_call.h"

/* One JSON-RPC message, sent at once or collected for the plain reply. */
void exchange_add_reply(struct mcp_exchange *x, const struct buf *message);
/* A notification of a pending call: begins the stream. False: the peer is not reading right now. */
bool exchange_notify(struct mcp_exchange *x, const struct buf *message);
/* Finishes the HTTP reply and frees the exchange when no call is left. */
void exchange_check_done(struct mcp_exchange *x);

/* mcp_call.c */
void mcp_call_free(struct mcp_call *c);
void mcp_call_end_job(struct mcp_call *c, enum mcp_call_end why);
/* {"jsonrpc","id","error":{…}}; id NULL: null. data: JSON text or NULL. */
void mcp_rpc_write_error(struct buf *out, const json_t *id, int code, const char *message,
                         const char *data);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_headers.h - headers that repeat values of a self-contained request's body
 *
 * Gateways route by them, so a request whose headers differ from its body is refused. Layer:
 * dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_HEADERS_H
#define HF_DIALECTS_MCP_MCP_HEADERS_H

#include "dialects/mcp/mcp_rpc.h"
#include "transport/http.h"

/* Each: 0, or -1 and a header mismatch. `version`: of the body. */
int headers_check_version(const struct http_request *rq, const struct rpc_message *m,
                          const char *version, struct rpc_fault *f);
int headers_check_names(const struct http_request *rq, const struct rpc_message *m,
                        struct rpc_fault *f);
/* Pure: does the header's value, which may be =?base64?...?=, equal the text? */
bool header_value_is(const char *value, const char *text, size_t len);

#endif

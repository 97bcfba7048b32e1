/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_revision.h - the revisions of the protocol, and how they differ
 *
 * Headers of a self-contained request repeat values of its body. Gateways route by them, so a
 * request whose headers differ from its body is refused. Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_REVISION_H
#define HF_DIALECTS_MCP_MCP_REVISION_H

#include "dialects/mcp/mcp_rpc.h"
#include "transport/http.h"

struct revision {
    const char *name;
    bool batch;     /* a body may be an array of messages */
    bool stateless; /* no sessions: each request names its revision, and headers must match */
};

const struct revision *revision_find(const char *name); /* NULL: not supported */
/* For `initialize`: the requested one if it has sessions, otherwise the newest that has. */
const struct revision *revision_negotiate(const char *wish);
const struct revision *revision_assumed(void); /* for a client that names none */
/* [names] of those with or without sessions. */
void revision_write_names(struct json_out *o, bool stateless);

/* --- self-contained requests ---------------------------------------------------- */
/* Each: 0, or -1 and a header mismatch. `version`: of the body. */
int mcp_headers_check_version(const struct http_request *rq, const struct rpc_message *m,
                              const char *version, struct rpc_fault *f);
int mcp_headers_check_names(const struct http_request *rq, const struct rpc_message *m,
                            struct rpc_fault *f);
/* Pure: does the header's value, which may be =?base64?...?=, equal the text? */
bool mcp_header_value_is(const char *value, const char *text, size_t len);

#endif

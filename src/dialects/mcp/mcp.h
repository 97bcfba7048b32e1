/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp.h - the Model Context Protocol at /mcp: tools and resources for models
 *
 * JSON-RPC over streamable HTTP, as docs/dialects/mcp.md describes. We serve two kinds of revision
 * side by side: those that begin with `initialize` and have sessions (2025-03-26, 2025-06-18,
 * 2025-11-25), and the one in which every request is self-contained (2026-07-28). Sessions belong
 * to the worker and end with it; processes do not.
 *
 * One per worker. Free the HTTP server first (its requests point in here), then this, then the
 * engine. Layer: dialects; includes base, engine and transport.
 */
#ifndef HF_DIALECTS_MCP_MCP_H
#define HF_DIALECTS_MCP_MCP_H

#include "engine/engine.h"
#include "transport/http.h"

struct mcp;

struct mcp_options {
    const char *version;         /* of the daemon, reported to clients; borrowed */
    const struct origin *origin; /* refuses pages of other sites; NULL: not checked */
    int64_t session_ms;          /* an idle session expires after this time */
};

struct mcp *mcp_new(struct engine *e, const struct mcp_options *o);
void mcp_free(struct mcp *m);
const struct route_table *mcp_routes(struct mcp *m);

void mcp_refuse_new(struct mcp *m); /* nothing new is started */
/* as above, and also replies to waiting calls and ends streams */
void mcp_drain(struct mcp *m);

#endif

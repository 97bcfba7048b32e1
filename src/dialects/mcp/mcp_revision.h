/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_revision.h - the revisions of the protocol, and how they differ
 *
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_REVISION_H
#define HF_DIALECTS_MCP_MCP_REVISION_H

#include <stdbool.h>

#include "base/json.h"

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

#endif

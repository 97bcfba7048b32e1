/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_revision.h - the revisions of the protocol, and what is different between them
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
    bool stateless; /* no sessions: each request says its revision and is checked by headers */
};

const struct revision *revision_find(const char *name); /* NULL: not spoken here */
/* For `initialize`: the one asked for if it has sessions, else the newest that has. */
const struct revision *revision_negotiate(const char *wish);
const struct revision *revision_assumed(void); /* of a client that names none */
/* [names] of those with or without sessions. */
void revision_write_names(struct json_out *o, bool stateless);

#endif

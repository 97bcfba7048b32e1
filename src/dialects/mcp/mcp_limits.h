/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_limits.h - limits of this dialect alone; base/limits.h has those that parts share
 *
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_LIMITS_H
#define HF_DIALECTS_MCP_MCP_LIMITS_H

#include "base/limits.h"

#define LIMIT_MCP_BODY_BYTES LIMIT_JSON_BODY_BYTES
#define LIMIT_MCP_SESSIONS 256 /* of the owner; beyond it the one idle for longest is dropped */
#define LIMIT_MCP_GUEST_SESSIONS 192 /* and of all other grants together, */
#define LIMIT_MCP_GRANT_SESSIONS 64  /* of which one grant may have this many */
/* Idle sessions are dropped; clients start a new one. */
#define LIMIT_MCP_SESSION_MS (60LL * 60 * 1000)
#define LIMIT_MCP_CALLS 1024               /* requests in progress */
#define LIMIT_MCP_BATCH 100                /* messages in one body */
#define LIMIT_MCP_SUBSCRIPTIONS 64         /* resources that one session may watch */
#define LIMIT_MCP_OUTPUT_BYTES (64 * 1024) /* of output in a result: a model reads it */
#define LIMIT_MCP_OUTPUT_MAX_BYTES (1024 * 1024)
#define MCP_PROGRESS_MS 1000 /* between two progress notifications */

#endif

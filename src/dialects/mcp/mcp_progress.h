/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_progress.h - notifications/progress of a slow call. Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_PROGRESS_H
#define HF_DIALECTS_MCP_MCP_PROGRESS_H

#include "base/loop.h"

void progress_on_timer(struct timer *t, void *arg); /* arg: struct mcp_call */

#endif

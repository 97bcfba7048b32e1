/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_tool_spawn.h - arguments of run_command and start_process as a spawn_spec
 *
 * They are the create body of the native protocol with defaults for an agent: a command without
 * arguments is a line for the shell. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_TOOL_SPAWN_H
#define HF_DIALECTS_MCP_MCP_TOOL_SPAWN_H

#include "dialects/common/spawn_decode.h"

struct tool_spawn {
    struct spawn_request request;
    json_t *body;     /* what the request borrows from */
    int64_t yield_ms; /* run_command; -1: to the end */
};

/* Call tool_spawn_fini() whether it succeeds or fails. */
int tool_spawn_decode(struct tool_spawn *t, const json_t *arguments, bool run,
                      struct hf_error *err);
void tool_spawn_fini(struct tool_spawn *t);

#endif

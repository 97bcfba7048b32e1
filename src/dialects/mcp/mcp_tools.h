/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_tools.h - the tools: their table, and what their functions share
 *
 * A tool's description is in mcp_tools.json, its minimum role and its function in the table of
 * mcp_tools.c. Arguments that the description does not name are refused before the function runs. A
 * failure inside a tool is a result (isError) for the model to read; only a fault of the request
 * itself is a JSON-RPC error. Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_TOOLS_H
#define HF_DIALECTS_MCP_MCP_TOOLS_H

#include "dialects/mcp/mcp_call.h"
#include "engine/journal/headtail.h"
#include "engine/process.h"

typedef void tool_fn(struct mcp_call *c, const json_t *arguments);

struct tool {
    const char *name;
    enum role role; /* minimum role */
    tool_fn *fn;
};
extern const struct tool mcp_tool_list[];
extern const size_t mcp_tool_count;

const json_t *tools_describe(struct mcp *m); /* the array of mcp_tools.json */
void tools_list(struct mcp_call *c, const json_t *params);
void tools_call(struct mcp_call *c, const json_t *params);

/* --- for the tools ------------------------------------------------------------- */
/* structuredContent, open; the text for people is appended to mcp.text, which is empty. */
struct json_out tool_open(struct mcp_call *c);
void tool_send(struct mcp_call *c, struct json_out *o);
void tool_fail(struct mcp_call *c, const struct hf_error *err);
/* The process of the argument "process_id"; NULL: err. */
struct process *tool_process(const struct mcp_call *c, const json_t *arguments,
                             struct hf_error *err);

/* "process_id", "status", "exit", "exit_code". */
void tool_write_state(struct json_out *o, const struct process_view *v);
/* "output", "output_tail", "omitted_bytes"; and the same as text. */
void tool_write_output(struct json_out *o, struct buf *text, struct headtail *h);
/* A last line that gives the status: "[exit code 0]". */
void tool_put_state(struct buf *text, const struct process_view *v);

tool_fn tool_run_command, tool_start_process;                      /* mcp_tool_run.c */
tool_fn tool_list_processes;                                       /* mcp_tool_list.c */
tool_fn tool_read_output;                                          /* mcp_tool_read.c */
tool_fn tool_read_screen;                                          /* mcp_screen.c */
tool_fn tool_send_input;                                           /* mcp_tool_input.c */
tool_fn tool_wait_for;                                             /* mcp_tool_wait.c */
tool_fn tool_resize, tool_signal, tool_stop;                       /* mcp_tool_control.c */
tool_fn tool_run_in_session, tool_list_sessions, tool_end_session; /* mcp_tool_session.c */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_mcp.c - `holdfast mcp`: an MCP server on standard input and output. Layer: cli.
 */
#include "cli/client/client_request.h"
#include "cli/client/stdio_own.h"

static int mcp_main(struct client_call *call)
{
    struct client_conn probe;
    struct hf_error err = {0};
    int rc = client_conn_open(&probe, &call->place, FETCH_DIAL_MS, &err);

    if (rc == 0) {
        client_conn_close(&probe);
        return stdio_relay_run(call);
    }
    rc = request_print_unreachable(call, &err);
    stdio_relay_refuse(call, err.detail);
    return rc;
}

const struct command mcp_command = {
    .name = "mcp",
    .operands = "",
    .summary = "be an MCP server on standard input and output",
    .about = "For the configuration of an agent: {\"command\":\"holdfast\",\"args\":[\"mcp\"]}\n"
             "Messages go to the daemon's /mcp. A worker that is replaced loses no reply.\n",
    .run = mcp_main,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_upgrade.c - `holdfast upgrade`: makes a running daemon switch to its new binary. Layer: cli.
 */
#include "cli/client/client_request.h"

static int upgrade_main(struct client_call *call)
{
    return request(call, "POST", "/v1/upgrade", NULL, NULL);
}

const struct command upgrade_command = {
    .name = "upgrade",
    .operands = "",
    .summary = "switch a running daemon to a newly installed binary",
    .about = "The daemon executes the binary that is now at its path, without terminating\n"
             "a process or refusing a connection. SIGHUP does the same.\n",
    .run = upgrade_main,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_upgrade.c - `holdfast upgrade`: makes a running daemon switch to its new binary. Layer: cli.
 */
#include "cli/client/client_print.h"
#include "cli/client/client_request.h"

static int upgrade_main(struct client_call *call)
{
    fetch_autoreply struct fetch_reply r = {0};
    int rc = request(call, "POST", "/v1/upgrade", NULL, &r);

    if (rc == CLI_OK)
        print_value(call, r.json);
    return rc;
}

const struct command upgrade_command = {
    .name = "upgrade",
    .operands = "",
    .summary = "switch a running daemon to a newly installed binary",
    .about = "The daemon executes the binary that is now at its path, without ending a process or\n"
             "refusing a connection. SIGHUP does the same.\n",
    .run = upgrade_main,
};

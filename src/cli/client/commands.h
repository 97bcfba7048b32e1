/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.h - the rows of the commands, each in its own file. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_COMMANDS_H
#define HF_CLI_CLIENT_COMMANDS_H

#include "cli/client/command.h"

extern const struct command run_command, attach_command, watch_command, ps_command, logs_command,
    send_command, signal_command, kill_command, rm_command, wait_command, resize_command,
    screen_command, events_command, record_command, share_command, open_command, session_command,
    info_command, token_command, upgrade_command, completion_command;

#endif

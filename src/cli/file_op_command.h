/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_op_command.h - `holdfast file-op`, which the daemon runs as a sandbox user. Layer: cli.
 */
#ifndef HF_CLI_FILE_OP_COMMAND_H
#define HF_CLI_FILE_OP_COMMAND_H

int file_op_main(int argc, char **argv);

#endif

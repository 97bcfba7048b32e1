/* SPDX-License-Identifier: Apache-2.0 */
/*
 * routes_command.h - `holdfast routes`: lists every endpoint of a daemon. Layer: cli.
 */
#ifndef HF_CLI_ROUTES_COMMAND_H
#define HF_CLI_ROUTES_COMMAND_H

int routes_main(int argc, char **argv);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * routes_command.h - `holdfast routes`: every call that a daemon serves, and who may make it. Layer: cli.
 */
#ifndef HF_CLI_ROUTES_COMMAND_H
#define HF_CLI_ROUTES_COMMAND_H

int routes_main(int argc, char **argv);

#endif

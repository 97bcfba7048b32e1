/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop.h - `holdfast stop` and `holdfast restart`, through the vault of a daemon on this machine
 *
 * They need no token and no responsive daemon, only the same user. Layer: cli.
 */
#ifndef HF_CLI_STOP_H
#define HF_CLI_STOP_H

int stop_main(int argc, char **argv);
int stop_restart_main(int argc, char **argv);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade.h - `holdfast upgrade`: asks a running daemon over its API. Layer: cli.
 */
#ifndef HF_CLI_UPGRADE_H
#define HF_CLI_UPGRADE_H

int upgrade_main(int argc, char **argv);

#endif

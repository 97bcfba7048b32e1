/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_relay.h - `holdfast port-relay PORT`: connects standard input and output to a local port
 *
 * Layer: cli.
 */
#ifndef HF_CLI_PORT_RELAY_H
#define HF_CLI_PORT_RELAY_H

int port_relay_main(int argc, char **argv);

#endif

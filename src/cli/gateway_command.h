/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway_command.h - `holdfast gateway`, `holdfast gateway-link` and `holdfast gateway-key`. Layer: cli.
 */
#ifndef HF_CLI_GATEWAY_COMMAND_H
#define HF_CLI_GATEWAY_COMMAND_H

#include "cli/gateway_options.h"
#include "transport/listen.h"

#define GATEWAY_LISTEN_MAX 16
#define GATEWAY_WORKERS_MAX 16

/* Made before the first fork. Each worker has a socket of its own for each address
 * (SO_REUSEPORT), which the parent keeps open: a connection that waits in it outlives its worker. */
struct gateway_run {
    struct gateway_cli cli;
    struct listen_socket doors[GATEWAY_LISTEN_MAX][GATEWAY_WORKERS_MAX];
    size_t door_count;
    struct listen_socket admin[GATEWAY_LISTEN_MAX];
    size_t admin_count;
    struct gateway_shared *shared;
    struct buf redis_password; /* of the environment, which has it no more */
    uid_t worker_uid;          /* 0: workers stay who the parent is */
    gid_t worker_gid;
};

int gateway_main(int argc, char **argv);
int gateway_link_main(int argc, char **argv);
int gateway_key_main(int argc, char **argv);
/* A worker's whole life. `index`: its sockets; `seat`: its numbers; `ready_fd` gets a byte. */
int gateway_worker_main(struct gateway_run *run, size_t index, size_t seat, int ready_fd);
/* gateway_confine.c: what a worker gives up, and at the start the trial of it. 0 or -errno. */
int gateway_confine(const struct gateway_run *run, bool report);
int gateway_confine_check(struct gateway_run *run);
/* Would a worker start? Asked once, so that a mistake ends the command. */
int gateway_worker_check(struct gateway_run *run);

#endif

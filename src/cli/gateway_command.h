/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway_command.h - `holdfast gateway`, `gateway-link` and `gateway-key`. Layer: cli.
 */
#ifndef HF_CLI_GATEWAY_COMMAND_H
#define HF_CLI_GATEWAY_COMMAND_H

#include "cli/optparse.h"
#include "gateway/gateway.h"
#include "transport/listen.h"

#define GATEWAY_LIST_MAX 64 /* uses of an option that may be repeated */

struct gateway_cli {
    struct opt_list listen, admin, allow_port, allow_address, forward, cors_origin;
    const char *default_sandbox, *token_file, *link_key_file, *register_key_file, *tls_cert,
        *tls_key, *access_log, *pid_file, *log_level, *worker_user, *confine;
    bool confine_off; /* parsed from `confine` */
    int64_t workers, drain_ms;
    struct gateway_options to; /* all that needs no file and no socket */
};

/* gateway_options.c: as opt_table_parse(), and sets the log level. */
int gateway_cli_parse(struct gateway_cli *o, int argc, char **argv);

#define GATEWAY_LISTEN_MAX 16
#define GATEWAY_WORKERS_MAX 16

/* Created before the first fork. Each worker has its own socket for each address (SO_REUSEPORT),
 * which the parent keeps open: a connection in its backlog survives the worker. */
struct gateway_run {
    struct gateway_cli cli;
    struct listen_socket doors[GATEWAY_LISTEN_MAX][GATEWAY_WORKERS_MAX];
    size_t door_count;
    struct listen_socket admin[GATEWAY_LISTEN_MAX];
    size_t admin_count;
    struct gateway_shared *shared;
    struct buf redis_password; /* from the environment, where it has been wiped */
    uid_t worker_uid;          /* 0: workers keep the parent's user */
    gid_t worker_gid;
};

int gateway_main(int argc, char **argv);
int gateway_link_main(int argc, char **argv);
int gateway_key_main(int argc, char **argv);
/* Runs a worker to its end. `index`: its sockets; `seat`: its counters; `ready_fd` gets a byte. */
int gateway_worker_main(struct gateway_run *run, size_t index, size_t seat, int ready_fd);
/* gateway_confine.c: confines a worker; at the start, checks that it works. 0 or -errno. */
int gateway_confine(const struct gateway_run *run, bool report);
int gateway_confine_check(struct gateway_run *run);
/* Could a worker start? Checked once, so that a mistake ends the command. */
int gateway_worker_check(struct gateway_run *run);

#endif

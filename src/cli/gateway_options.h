/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway_options.h - the parsed options of `holdfast gateway`. Layer: cli.
 */
#ifndef HF_CLI_GATEWAY_OPTIONS_H
#define HF_CLI_GATEWAY_OPTIONS_H

#include "cli/optparse.h"
#include "gateway/gateway.h"

#define GATEWAY_LIST_MAX 64 /* uses of an option that may be repeated */

struct gateway_cli {
    struct opt_list listen, admin, allow_port, allow_address, forward, cors_origin;
    const char *default_sandbox, *token_file, *link_key_file, *register_key_file, *tls_cert,
        *tls_key, *access_log, *pid_file, *log_level, *worker_user, *confine;
    bool confine_off; /* parsed from `confine` */
    int64_t workers, drain_ms;
    struct gateway_options to; /* all that needs no file and no socket */
};

/* Sets the log level, too. As opt_table_parse(). */
int gateway_cli_parse(struct gateway_cli *o, int argc, char **argv);

#endif

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
    const char *resolver, *domain, *default_sandbox, *token_file, *link_key_file,
        *register_key_file, *auth_hook, *tls_cert, *tls_key, *access_log, *pid_file, *log_level,
        *worker_user, *confine;
    bool confine_off; /* parsed from `confine` */
    bool no_auth, unsigned_registrations, preserve_host, trust_forwarded, trust_path_origin,
        websocket_close_codes;
    int64_t workers, connect_timeout_ms, answer_timeout_ms, idle_timeout_ms, header_timeout_ms,
        body_timeout_ms, keepalive_timeout_ms, pool_timeout_ms, drain_ms, max_connections;
    int64_t sandbox_connections, sandbox_rate, peer_connections, peer_rate, auth_cache_ms;
};

/* As opt_table_parse(). */
int gateway_cli_parse(struct gateway_cli *o, int argc, char **argv);
/* Fills everything that needs no file and no socket; 0 or 2. */
int gateway_cli_options(const struct gateway_cli *o, struct gateway_options *out);

#endif

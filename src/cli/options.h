/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - the parsed options of `holdfast serve`
 *
 * One table (options.c) names each option, its kind, its bounds and its help
 * line, so that parser, help text and checks cannot disagree. Layer: cli.
 */
#ifndef HF_CLI_OPTIONS_H
#define HF_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/optparse.h"
#include "engine/engine.h"
#include "transport/http.h"

#define SERVE_LIST_MAX 16 /* uses of an option that may be repeated */
#define SERVE_LISTEN_DEFAULT "127.0.0.1:7070"

struct serve_options {
    struct opt_list listen, dialect, cors_origin, allow_host;
    const char *token_file, *tls_cert, *tls_key, *log_level, *pid_file, *worker_user, *register_url,
        *confine, *allow_users, *e2b_user;
    bool confine_off; /* parsed from `confine` */
    bool no_auth, no_dialects, print_link;
    int64_t grace_ms, mcp_session_ms;
    struct engine_options engine;
    struct http_options http;
};

/* As opt_table_parse(), and sets the log level. `resumed`: a running daemon cannot be corrected any
 * more, so invalid options are only reported, and the result is always -1. */
int serve_options_parse(struct serve_options *o, int argc, char **argv, bool resumed);
void serve_options_fini(struct serve_options *o);
extern const struct opt_table serve_options_table;

#endif

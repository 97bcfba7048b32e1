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
    const char *token_file, *tls_cert, *tls_key, *log_level, *pid_file, *worker_user, *history_dir,
        *register_url, *confine, *spawn_user, *allow_users;
    bool confine_off; /* parsed from `confine` */
    bool no_auth, no_dialects, compress, print_link;
    int64_t max_processes, max_viewers, max_connections, journal_bytes, journal_memory_bytes;
    int64_t history_disk_bytes;
    int64_t retain_ms, retain_count, event_log_bytes;
    int64_t header_timeout_ms, body_timeout_ms, keepalive_timeout_ms, grace_ms;
    int64_t mcp_session_ms;
};

void serve_options_init(struct serve_options *o);
/* 0; 2 after an error message on standard error; 1 if --help was given. `resumed`: a running daemon
 * cannot be corrected any more, so invalid options are only reported, and the result is still 2. */
int serve_options_parse(struct serve_options *o, int argc, char **argv, bool resumed);
void serve_options_fini(struct serve_options *o);
extern const struct opt_table serve_options_table;

void serve_options_engine(const struct serve_options *o, struct engine_options *out);
void serve_options_http(const struct serve_options *o, struct http_options *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.c - the options of `holdfast serve`: table, defaults, checks. Layer: cli.
 */
#include "cli/options.h"

#include "base/limits.h"
#include "cli/confine.h"
#include "cli/dialects.h"
#include "dialects/mcp/mcp_limits.h"

#define OPT_ARGS struct serve_options
#define DAY_MS (24LL * 3600 * 1000)

static const struct opt rows[] = {
    OPT_LIST("--listen", 0, listen, SERVE_LIST_MAX, "ADDRESS",
             "address to listen on: HOST:PORT, [IPV6]:PORT, unix:PATH or none; may be repeated "
             "(" SERVE_LISTEN_DEFAULT ")"),
    OPT_LIST(
        "--dialect", 0, dialect, SERVE_LIST_MAX, "NAME[=ADDRESS]",
        "also serve a platform's protocol at its own address (its usual port on loopback); may be "
        "repeated"),
    OPT_FLAG("--no-dialects", 0, no_dialects,
             "serve only those platforms' protocols that --dialect names"),
    OPT_TEXT(
        "--token-file", 0, token_file, "FILE",
        "tokens, one per line: TOKEN or ROLE TOKEN (own, type, watch); else HOLDFAST_TOKEN, else a "
        "generated one"),
    OPT_FLAG("--no-auth", 0, no_auth, "give everyone full access; only for trusted networks"),
    OPT_FLAG("--print-link", 0, print_link,
             "print a one-time link that signs a browser in, even if not on a terminal"),
    OPT_LIST("--cors-origin", 0, cors_origin, SERVE_LIST_MAX, "ORIGIN",
             "allow requests from pages of this origin; may be repeated"),
    OPT_LIST("--allow-host", 0, allow_host, SERVE_LIST_MAX, "NAME",
             "accept requests with this name in Host; may be repeated"),
    OPT_TEXT("--tls-cert", 0, tls_cert, "FILE", "serve TLS with this certificate chain (PEM)"),
    OPT_TEXT("--tls-key", 0, tls_key, "FILE", "private key file (PEM)"),
    OPT_FLAG("--compress", 0, compress, "offer permessage-deflate to WebSocket clients"),
    OPT_NUMBER("--max-processes", 0, max_processes, 1, 60000, "N", "maximum running processes"),
    OPT_NUMBER("--max-viewers", 0, max_viewers, 1, 100000, "N", "maximum viewers of a process"),
    OPT_NUMBER("--max-connections", 0, max_connections, 1, 1000000, "N",
               "maximum open connections"),
    OPT_NUMBER("--journal-bytes", 0, journal_bytes, LIMIT_JOURNAL_MIN_BYTES,
               LIMIT_JOURNAL_MAX_BYTES, "N", "bytes of output to keep for each process"),
    OPT_NUMBER("--journal-memory-bytes", 0, journal_memory_bytes, LIMIT_JOURNAL_MIN_BYTES,
               1LL << 46, "N", "bytes of output to keep for all processes together"),
    OPT_TEXT(
        "--history-dir", 0, history_dir, "DIR",
        "directory for unnamed files with output beyond --journal-bytes, if a process requests it"),
    OPT_NUMBER("--history-disk-bytes", 0, history_disk_bytes, LIMIT_JOURNAL_MIN_BYTES, 1LL << 50,
               "N", "maximum bytes of all those files"),
    OPT_NUMBER("--retain-count", 0, retain_count, 0, 60000, "N",
               "maximum exited processes to keep"),
    OPT_NUMBER("--retain-ms", 0, retain_ms, 0, LIMIT_DURATION_MS, "MS",
               "how long to keep exited processes"),
    OPT_NUMBER("--event-log-bytes", 0, event_log_bytes, 16384, 1LL << 30, "N",
               "bytes of past events to keep for replay"),
    OPT_NUMBER("--header-timeout-ms", 0, header_timeout_ms, 10, DAY_MS, "MS",
               "time to receive the head of a request"),
    OPT_NUMBER("--body-timeout-ms", 0, body_timeout_ms, 10, DAY_MS, "MS",
               "time without progress in a request body"),
    OPT_NUMBER("--keepalive-timeout-ms", 0, keepalive_timeout_ms, 10, DAY_MS, "MS",
               "idle time between requests"),
    OPT_NUMBER("--grace-ms", 0, grace_ms, 0, DAY_MS, "MS",
               "time for processes to end when the daemon is stopped"),
    OPT_NUMBER("--mcp-session-ms", 0, mcp_session_ms, 10, LIMIT_DURATION_MS, "MS",
               "remove an MCP session that is idle for this long"),
    OPT_TEXT("--worker-user", 0, worker_user, "USER",
             "user of the process that faces the network, if started as root (" CONFINE_UID
             "); root: stay root"),
    OPT_TEXT("--spawn-user", 0, spawn_user, "USER",
             "user of processes that name none (the daemon's)"),
    OPT_TEXT("--allow-users", 0, allow_users, "USER,...",
             "the only users that processes may run as (--spawn-user if set, else any)"),
    OPT_TEXT("--confine", 0, confine, "on|off",
             "restrict the process that faces the network with seccomp and Landlock (on)"),
    OPT_TEXT("--register", 0, register_url, "URL",
             "register with gateways: redis://IP:PORT?id=ID&key_file=FILE (docs/GATEWAY.md)"),
    OPT_TEXT("--pid-file", 0, pid_file, "FILE", "write the daemon's process id to this file"),
    OPT_TEXT("--log-level", 0, log_level, "LEVEL", "error, warn, info or debug"),
};

static void put_dialects(struct buf *out)
{
    char names[DIALECTS_NAMES_BYTES];

    dialects_print_names(names, sizeof names, false);
    buf_printf(out, "\nDialects in this binary: %s.\n", names[0] != '\0' ? names : "none");
}

const struct opt_table serve_options_table = {
    .command = "holdfast serve",
    .put_more = put_dialects,
    OPT_ROWS(rows),
    .usage = "[OPTION...]",
    .about = "Runs the daemon in the foreground. It serves processes and terminals over HTTP,\n"
             "WebSocket and SSE.\n",
    .notes =
        "SIGTERM stops the processes and the daemon. SIGHUP reloads tokens and certificate and\n"
        "switches to a newly installed binary without ending a process. Ctrl-C stops the daemon\n"
        "but keeps its processes: the next holdfast serve picks them up, holdfast stop ends them.\n"
        "See docs/OPERATING.md for details.\n",
};

void serve_options_init(struct serve_options *o)
{
    *o = (struct serve_options){
        .max_processes = LIMIT_PROCESSES,
        .max_viewers = LIMIT_VIEWERS,
        .max_connections = LIMIT_CONNECTIONS,
        .journal_bytes = LIMIT_JOURNAL_BYTES,
        .journal_memory_bytes = LIMIT_JOURNAL_MEMORY_BYTES,
        .history_disk_bytes = LIMIT_HISTORY_DISK_BYTES,
        .retain_ms = LIMIT_RETAIN_MS,
        .retain_count = LIMIT_RETAINED,
        .event_log_bytes = LIMIT_EVENT_LOG_BYTES,
        .header_timeout_ms = LIMIT_REQUEST_HEAD_MS,
        .body_timeout_ms = LIMIT_REQUEST_BODY_MS,
        .keepalive_timeout_ms = LIMIT_KEEPALIVE_MS,
        .grace_ms = KILL_GRACE_MS,
        .mcp_session_ms = LIMIT_MCP_SESSION_MS,
        .log_level = "info",
        .worker_user = CONFINE_UID,
        .confine = "on",
    };
}

static int complain(const char *what, const char *name)
{
    return optparse_complain(serve_options_table.command, what, name);
}

int serve_options_parse(struct serve_options *o, int argc, char **argv, bool resumed)
{
    const struct opt_table *t = &serve_options_table;
    struct optparse p = {t->command, {{t->rows, t->count, o, false}}, argc, 0, argv};
    int rc = 0;

    while (p.at < argc && (rc == 0 || resumed)) {
        bool help = optparse_is_help(argv[p.at]);
        int one = help ? 1 : optparse_next(&p);

        p.at += help;
        /* The value of an option that this version no longer has is skipped with it. */
        if (one != 0 && resumed && p.at < argc && argv[p.at][0] != '-')
            p.at++;
        rc = one != 0 ? one : rc;
    }
    if (rc != 0 && !resumed)
        return rc;
    if ((o->tls_cert == NULL) != (o->tls_key == NULL)) {
        rc = complain("use both or neither of", "--tls-cert and --tls-key");
        o->tls_cert = o->tls_key = NULL;
    }
    if (!confine_parse(o->confine, &o->confine_off))
        rc = complain("--confine must be on or off, not", o->confine);
    if (o->listen.count == 0)
        opt_list_add(&o->listen, SERVE_LISTEN_DEFAULT);
    return rc;
}

void serve_options_fini(struct serve_options *o)
{
    opt_free(rows, serve_options_table.count, o);
}

void serve_options_engine(const struct serve_options *o, struct engine_options *out)
{
    engine_options_default(out);
    out->max_processes = (size_t)o->max_processes;
    out->max_viewers = (size_t)o->max_viewers;
    out->journal_bytes = (size_t)o->journal_bytes;
    out->journal_memory_bytes = (uint64_t)o->journal_memory_bytes;
    out->history_dir = o->history_dir;
    out->history_disk_bytes = (uint64_t)o->history_disk_bytes;
    out->retain_count = (size_t)o->retain_count;
    out->retain_ms = o->retain_ms;
    out->spawn_user = o->spawn_user;
    out->event_log_bytes = ((size_t)o->event_log_bytes + 4095) & ~(size_t)4095;
}

void serve_options_http(const struct serve_options *o, struct http_options *out)
{
    http_options_default(out);
    out->max_connections = (size_t)o->max_connections;
    out->head_ms = (uint32_t)o->header_timeout_ms;
    out->body_ms = (uint32_t)o->body_timeout_ms;
    out->keepalive_ms = (uint32_t)o->keepalive_timeout_ms;
    out->compress = o->compress;
}

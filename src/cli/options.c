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
    OPT_CORS_ROW(SERVE_LIST_MAX),
    OPT_LIST("--allow-host", 0, allow_host, SERVE_LIST_MAX, "NAME",
             "accept requests with this name in Host; may be repeated"),
    OPT_TLS_ROWS,
    OPT_FLAG("--compress", 0, http.compress, "offer permessage-deflate to WebSocket clients"),
    OPT_NUMBER("--max-processes", 0, engine.max_processes, 1, 60000, "N",
               "maximum running processes"),
    OPT_NUMBER("--max-viewers", 0, engine.max_viewers, 1, 100000, "N",
               "maximum viewers of a process"),
    OPT_NUMBER("--max-connections", 0, http.max_connections, 1, 1000000, "N",
               "maximum open connections"),
    OPT_NUMBER("--journal-bytes", 0, engine.journal_bytes, LIMIT_JOURNAL_MIN_BYTES,
               LIMIT_JOURNAL_MAX_BYTES, "N", "bytes of output to keep for each process"),
    OPT_NUMBER("--journal-memory-bytes", 0, engine.journal_memory_bytes, LIMIT_JOURNAL_MIN_BYTES,
               1LL << 46, "N", "bytes of output to keep for all processes together"),
    OPT_TEXT(
        "--history-dir", 0, engine.history_dir, "DIR",
        "directory for unnamed files with output beyond --journal-bytes, if a process requests it"),
    OPT_NUMBER("--history-disk-bytes", 0, engine.history_disk_bytes, LIMIT_JOURNAL_MIN_BYTES,
               1LL << 50, "N", "maximum bytes of all these files together"),
    OPT_NUMBER("--retain-count", 0, engine.retain_count, 0, 60000, "N",
               "maximum exited processes to keep"),
    OPT_NUMBER("--retain-ms", 0, engine.retain_ms, 0, LIMIT_DURATION_MS, "MS",
               "how long to keep exited processes"),
    OPT_NUMBER("--event-log-bytes", 0, engine.event_log_bytes, 16384, 1LL << 30, "N",
               "bytes of past events to keep for replay"),
    OPT_TIMEOUT_ROWS(http),
    OPT_NUMBER("--grace-ms", 0, grace_ms, 0, OPT_DAY_MS, "MS",
               "time for processes to end when the daemon is stopped"),
    OPT_NUMBER("--mcp-session-ms", 0, mcp_session_ms, 10, LIMIT_DURATION_MS, "MS",
               "remove an MCP session that is idle for this long"),
    OPT_TEXT("--e2b-user", 0, e2b_user, "USER",
             "user for E2B clients that name none (that of --spawn-user)"),
    OPT_TEXT("--worker-user", 0, worker_user, "USER",
             "user of the process that faces the network, if started as root (" CONFINE_UID
             "); root: stay root"),
    OPT_TEXT("--spawn-user", 0, engine.spawn_user, "USER",
             "user for processes that name none (the daemon's)"),
    OPT_TEXT("--allow-users", 0, allow_users, "USER,...",
             "the only users that processes may run as (--spawn-user if set, else any)"),
    OPT_TEXT("--confine", 0, confine, "on|off",
             "restrict the process that faces the network with seccomp and Landlock (on)"),
    OPT_TEXT("--register", 0, register_url, "URL",
             "register with gateways: redis://IP:PORT?id=ID&key_file=FILE (docs/GATEWAY.md)"),
    OPT_TEXT("--pid-file", 0, pid_file, "FILE", "write the daemon's process id to this file"),
    OPT_LOG_ROW,
};

static void put_dialects(struct buf *out)
{
    char names[DIALECTS_NAMES_BYTES];

    dialects_print_names(names, sizeof names, false);
    buf_printf(out, "\nDialects in this binary: %s.\n", names[0] != '\0' ? names : "none");
}

const struct opt_table serve_options_table = {
    .command = "serve",
    .put_more = put_dialects,
    OPT_ROWS(rows),
    .usage = "[OPTION...]",
    .about = "Runs the daemon in the foreground. It serves processes and terminals over HTTP,\n"
             "WebSocket and SSE.\n",
    .notes =
        "SIGTERM stops the processes and the daemon. SIGHUP reloads tokens and certificate and\n"
        "switches to a newly installed binary without ending a process. Ctrl-C stops the daemon\n"
        "but keeps its processes: the next holdfast serve picks them up, holdfast stop\n"
        "terminates them. See docs/OPERATING.md for details.\n",
};

static bool check(struct serve_options *o)
{
    const char *command = serve_options_table.command;
    int rc = 0;

    if ((o->tls_cert == NULL) != (o->tls_key == NULL)) {
        rc = optparse_complain(command, "use both or neither of", "--tls-cert and --tls-key");
        o->tls_cert = o->tls_key = NULL;
    }
    if (!confine_parse(o->confine, &o->confine_off))
        rc = optparse_complain(command, "--confine must be on or off, not", o->confine);
    return rc == 0 && opt_set_log_level(command, o->log_level) == 0;
}

int serve_options_parse(struct serve_options *o, int argc, char **argv, bool resumed)
{
    int rc = -1;

    *o = (struct serve_options){
        .grace_ms = KILL_GRACE_MS,
        .mcp_session_ms = LIMIT_MCP_SESSION_MS,
        .log_level = "info",
        .worker_user = CONFINE_UID,
        .confine = "on",
    };
    engine_options_default(&o->engine);
    http_options_default(&o->http);
    if (resumed)
        opt_table_parse_resumed(&serve_options_table, argc, argv, o);
    else
        rc = opt_table_parse(&serve_options_table, argc, argv, o);
    if (rc < 0 && !check(o) && !resumed)
        rc = 2;
    if (o->listen.count == 0)
        opt_list_add(&o->listen, SERVE_LISTEN_DEFAULT);
    o->engine.event_log_bytes = (o->engine.event_log_bytes + 4095) & ~(size_t)4095;
    return rc;
}

void serve_options_fini(struct serve_options *o)
{
    opt_free(rows, serve_options_table.count, o);
}

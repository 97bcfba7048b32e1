/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.c - the options of `holdfast serve`: table, defaults, checks. Layer: cli.
 */
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "cli/confine.h"

enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_LIST, OPTION_NUMBER };

struct option_row {
    const char *name;
    enum option_kind kind;
    size_t offset;
    int64_t min, max;
    const char *value; /* placeholder in the help text */
    const char *help;
};

#define AT(member) offsetof(struct serve_options, member)
#define DAY_MS (24LL * 3600 * 1000)

static const struct option_row rows[] = {
    {"--listen", OPTION_LIST, AT(listen), 0, 0, "ADDRESS",
     "address to listen on: HOST:PORT, [IPV6]:PORT, unix:PATH or none; may be repeated "
     "(" SERVE_LISTEN_DEFAULT ")"},
    {"--dialect", OPTION_LIST, AT(dialect), 0, 0, "NAME[=ADDRESS]",
     "also serve a platform's protocol at its own address (its usual port on loopback); may be "
     "repeated"},
    {"--no-dialects", OPTION_FLAG, AT(no_dialects), 0, 0, NULL,
     "serve only those platforms' protocols that --dialect names"},
    {"--token-file", OPTION_TEXT, AT(token_file), 0, 0, "FILE",
     "tokens, one per line: TOKEN or ROLE TOKEN (own, type, watch); else HOLDFAST_TOKEN, else a "
     "generated one"},
    {"--no-auth", OPTION_FLAG, AT(no_auth), 0, 0, NULL,
     "give everyone full access; only for trusted networks"},
    {"--print-link", OPTION_FLAG, AT(print_link), 0, 0, NULL,
     "print a one-time link that signs a browser in, even if not on a terminal"},
    {"--cors-origin", OPTION_LIST, AT(cors_origin), 0, 0, "ORIGIN",
     "allow requests from pages of this origin; may be repeated"},
    {"--allow-host", OPTION_LIST, AT(allow_host), 0, 0, "NAME",
     "accept requests with this name in Host; may be repeated"},
    {"--tls-cert", OPTION_TEXT, AT(tls_cert), 0, 0, "FILE",
     "serve TLS with this certificate chain (PEM)"},
    {"--tls-key", OPTION_TEXT, AT(tls_key), 0, 0, "FILE", "private key file (PEM)"},
    {"--compress", OPTION_FLAG, AT(compress), 0, 0, NULL,
     "offer permessage-deflate to WebSocket clients"},
    {"--max-processes", OPTION_NUMBER, AT(max_processes), 1, 60000, "N",
     "maximum running processes"},
    {"--max-viewers", OPTION_NUMBER, AT(max_viewers), 1, 100000, "N",
     "maximum viewers of a process"},
    {"--max-connections", OPTION_NUMBER, AT(max_connections), 1, 1000000, "N",
     "maximum open connections"},
    {"--journal-bytes", OPTION_NUMBER, AT(journal_bytes), LIMIT_JOURNAL_MIN_BYTES,
     LIMIT_JOURNAL_MAX_BYTES, "N", "bytes of output to keep for each process"},
    {"--journal-memory-bytes", OPTION_NUMBER, AT(journal_memory_bytes), LIMIT_JOURNAL_MIN_BYTES,
     1LL << 46, "N", "bytes of output to keep for all processes together"},
    {"--history-dir", OPTION_TEXT, AT(history_dir), 0, 0, "DIR",
     "directory for unnamed files with output beyond --journal-bytes, if a process requests it"},
    {"--history-disk-bytes", OPTION_NUMBER, AT(history_disk_bytes), LIMIT_JOURNAL_MIN_BYTES,
     1LL << 50, "N", "maximum bytes of all those files"},
    {"--retain-count", OPTION_NUMBER, AT(retain_count), 0, 60000, "N",
     "maximum exited processes to keep"},
    {"--retain-ms", OPTION_NUMBER, AT(retain_ms), 0, LIMIT_DURATION_MS, "MS",
     "how long to keep exited processes"},
    {"--event-log-bytes", OPTION_NUMBER, AT(event_log_bytes), 16384, 1LL << 30, "N",
     "bytes of past events to keep for replay"},
    {"--header-timeout-ms", OPTION_NUMBER, AT(header_timeout_ms), 10, DAY_MS, "MS",
     "time to receive the head of a request"},
    {"--body-timeout-ms", OPTION_NUMBER, AT(body_timeout_ms), 10, DAY_MS, "MS",
     "time without progress in a request body"},
    {"--keepalive-timeout-ms", OPTION_NUMBER, AT(keepalive_timeout_ms), 10, DAY_MS, "MS",
     "idle time between requests"},
    {"--grace-ms", OPTION_NUMBER, AT(grace_ms), 0, DAY_MS, "MS",
     "time for processes to end when the daemon is stopped"},
    {"--mcp-session-ms", OPTION_NUMBER, AT(mcp_session_ms), 10, LIMIT_DURATION_MS, "MS",
     "remove an MCP session that is idle for this long"},
    {"--worker-user", OPTION_TEXT, AT(worker_user), 0, 0, "USER",
     "user of the process that faces the network, if started as root (" CONFINE_UID
     "); root: stay root"},
    {"--spawn-user", OPTION_TEXT, AT(spawn_user), 0, 0, "USER",
     "user of processes that name none (the daemon's)"},
    {"--allow-users", OPTION_TEXT, AT(allow_users), 0, 0, "USER,...",
     "the only users that processes may run as (--spawn-user if set, else any)"},
    {"--confine", OPTION_TEXT, AT(confine), 0, 0, "on|off",
     "restrict the process that faces the network with seccomp and Landlock (on)"},
    {"--register", OPTION_TEXT, AT(register_url), 0, 0, "URL",
     "register with gateways: redis://IP:PORT?id=ID&key_file=FILE (docs/GATEWAY.md)"},
    {"--pid-file", OPTION_TEXT, AT(pid_file), 0, 0, "FILE",
     "write the daemon's process id to this file"},
    {"--log-level", OPTION_TEXT, AT(log_level), 0, 0, "LEVEL", "error, warn, info or debug"},
};
#define ROWS (sizeof rows / sizeof rows[0])

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
    fprintf(stderr, "holdfast serve: %s '%s'; see holdfast serve --help\n", what, name);
    return 2;
}

static int store(struct serve_options *o, const struct option_row *r, const char *value)
{
    void *to = (char *)o + r->offset;
    struct option_list *list = to;

    switch (r->kind) {
    case OPTION_FLAG: *(bool *)to = true; return 0;
    case OPTION_TEXT: *(const char **)to = value; return 0;
    case OPTION_LIST:
        if (list->count >= OPTION_LIST_MAX)
            return complain("too many uses of", r->name);
        list->items[list->count++] = value;
        return 0;
    default:
        if (text_to_i64(value, r->min, r->max, to))
            return 0;
        fprintf(stderr, "holdfast serve: %s must be a number from %lld to %lld\n", r->name,
                (long long)r->min, (long long)r->max);
        return 2;
    }
}

static const struct option_row *row_find(const char *arg, size_t len)
{
    size_t i;

    for (i = 0; i < ROWS; i++)
        if (strlen(rows[i].name) == len && strncmp(rows[i].name, arg, len) == 0)
            return &rows[i];
    return NULL;
}

/* Parses the option at argv[*i], and its value. */
static int parse_one(struct serve_options *o, int argc, char **argv, int *i)
{
    const char *arg = argv[*i], *eq = strchr(arg, '='), *value = eq != NULL ? eq + 1 : NULL;
    const struct option_row *r = row_find(arg, eq != NULL ? (size_t)(eq - arg) : strlen(arg));

    if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0)
        return 1;
    if (r == NULL)
        return complain("unknown option", arg);
    if (r->kind == OPTION_FLAG && value != NULL)
        return complain("no value allowed for", r->name);
    if (r->kind != OPTION_FLAG && value == NULL) {
        if (*i + 1 >= argc)
            return complain("a value is missing for", r->name);
        value = argv[++*i];
    }
    return store(o, r, value);
}

int serve_options_parse(struct serve_options *o, int argc, char **argv, bool resumed)
{
    int rc = 0;

    for (int i = 0; i < argc && (rc == 0 || resumed); i++) {
        int one = parse_one(o, argc, argv, &i);

        /* The value of an option that this version no longer has is skipped with it. */
        if (one != 0 && resumed && i + 1 < argc && argv[i + 1][0] != '-')
            i++;
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
        o->listen.items[o->listen.count++] = SERVE_LISTEN_DEFAULT;
    return rc;
}

void serve_options_help(struct buf *out)
{
    size_t i;

    buf_puts(out,
             "usage: holdfast serve [OPTION...]\n\n"
             "Runs the daemon in the foreground. It serves processes and terminals over HTTP,\n"
             "WebSocket and SSE.\n\n");
    for (i = 0; i < ROWS; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", rows[i].name, rows[i].value != NULL ? " " : "",
                 rows[i].value != NULL ? rows[i].value : "");
        buf_printf(out, "  %-28s %s\n", left, rows[i].help);
    }
    buf_puts(
        out,
        "\nSIGTERM stops the processes and the daemon. SIGHUP reloads tokens and certificate and\n"
        "switches to a newly installed binary without ending a process. Ctrl-C stops the daemon\n"
        "but keeps its processes: the next holdfast serve picks them up, holdfast stop ends them.\n"
        "See docs/OPERATING.md for details.\n");
}

bool serve_option_at(size_t i, const char **name, const char **value, const char **help)
{
    if (i >= ROWS)
        return false;
    *name = rows[i].name;
    *value = rows[i].value;
    *help = rows[i].help;
    return true;
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

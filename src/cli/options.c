/* SPDX-License-Identifier: Apache-2.0 */
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
     "where to listen: HOST:PORT, [IPV6]:PORT, unix:PATH, none; may be repeated (" SERVE_LISTEN_DEFAULT
     ")"},
    {"--dialect", OPTION_LIST, AT(dialect), 0, 0, "NAME[=ADDRESS]",
     "speak a platform's protocol at an address of its own (its usual port on loopback); may be repeated"},
    {"--no-dialects", OPTION_FLAG, AT(no_dialects), 0, 0, NULL,
     "speak no platform's protocol but those that --dialect names"},
    {"--token-file", OPTION_TEXT, AT(token_file), 0, 0, "FILE",
     "tokens, one a line: TOKEN or ROLE TOKEN (own, type, watch); else HOLDFAST_TOKEN, else one is made"},
    {"--no-auth", OPTION_FLAG, AT(no_auth), 0, 0, NULL,
     "everybody may do everything; only for trusted networks"},
    {"--print-link", OPTION_FLAG, AT(print_link), 0, 0, NULL,
     "print a one-time link that signs a browser in, as is done on a terminal"},
    {"--cors-origin", OPTION_LIST, AT(cors_origin), 0, 0, "ORIGIN",
     "let pages of this origin in; may be repeated"},
    {"--allow-host", OPTION_LIST, AT(allow_host), 0, 0, "NAME",
     "answer to this name in Host; may be repeated"},
    {"--tls-cert", OPTION_TEXT, AT(tls_cert), 0, 0, "FILE",
     "serve TLS with this certificate chain (PEM)"},
    {"--tls-key", OPTION_TEXT, AT(tls_key), 0, 0, "FILE", "and this private key (PEM)"},
    {"--compress", OPTION_FLAG, AT(compress), 0, 0, NULL,
     "offer permessage-deflate to WebSocket clients"},
    {"--max-processes", OPTION_NUMBER, AT(max_processes), 1, 60000, "N",
     "processes that may run at once"},
    {"--max-viewers", OPTION_NUMBER, AT(max_viewers), 1, 100000, "N", "viewers of one process"},
    {"--max-connections", OPTION_NUMBER, AT(max_connections), 1, 1000000, "N", "open connections"},
    {"--journal-bytes", OPTION_NUMBER, AT(journal_bytes), LIMIT_JOURNAL_MIN_BYTES,
     LIMIT_JOURNAL_MAX_BYTES, "N", "output kept of each process"},
    {"--journal-memory-bytes", OPTION_NUMBER, AT(journal_memory_bytes), LIMIT_JOURNAL_MIN_BYTES,
     1LL << 46, "N", "output kept of all processes together"},
    {"--history-dir", OPTION_TEXT, AT(history_dir), 0, 0, "DIR",
     "keep output larger than --journal-bytes, where asked for, in nameless files there"},
    {"--history-disk-bytes", OPTION_NUMBER, AT(history_disk_bytes), LIMIT_JOURNAL_MIN_BYTES,
     1LL << 50, "N", "space for all of those files"},
    {"--retain-count", OPTION_NUMBER, AT(retain_count), 0, 60000, "N",
     "exited processes that stay known"},
    {"--retain-ms", OPTION_NUMBER, AT(retain_ms), 0, LIMIT_DURATION_MS, "MS", "and for how long"},
    {"--event-log-bytes", OPTION_NUMBER, AT(event_log_bytes), 16384, 1LL << 30, "N",
     "past events that can be replayed"},
    {"--header-timeout-ms", OPTION_NUMBER, AT(header_timeout_ms), 10, DAY_MS, "MS",
     "for the head of a request"},
    {"--body-timeout-ms", OPTION_NUMBER, AT(body_timeout_ms), 10, DAY_MS, "MS",
     "without progress in a body"},
    {"--keepalive-timeout-ms", OPTION_NUMBER, AT(keepalive_timeout_ms), 10, DAY_MS, "MS",
     "idle between requests"},
    {"--grace-ms", OPTION_NUMBER, AT(grace_ms), 0, DAY_MS, "MS",
     "for processes to end when the daemon is stopped"},
    {"--mcp-session-ms", OPTION_NUMBER, AT(mcp_session_ms), 10, LIMIT_DURATION_MS, "MS",
     "an MCP session that is idle for so long is forgotten"},
    {"--worker-user", OPTION_TEXT, AT(worker_user), 0, 0, "USER",
     "the user that faces the network when started as root (" CONFINE_UID "); root keeps root"},
    {"--spawn-user", OPTION_TEXT, AT(spawn_user), 0, 0, "USER",
     "the user of processes that name none (the daemon's)"},
    {"--allow-users", OPTION_TEXT, AT(allow_users), 0, 0, "USER,...",
     "processes run as one of these and as nobody else (--spawn-user, else anybody)"},
    {"--confine", OPTION_TEXT, AT(confine), 0, 0, "on|off",
     "off: do without the filter of system calls and Landlock (on)"},
    {"--register", OPTION_TEXT, AT(register_url), 0, 0, "URL",
     "tell gateways where this is: redis://IP:PORT?id=ID&key_file=FILE (docs/GATEWAY.md)"},
    {"--pid-file", OPTION_TEXT, AT(pid_file), 0, 0, "FILE", "write the daemon's process id there"},
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

static int command_complain(const char *what, const char *name)
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
            return command_complain("too many times", r->name);
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

/* The option at argv[*i], and its value. */
static int parse_one(struct serve_options *o, int argc, char **argv, int *i)
{
    const char *arg = argv[*i], *eq = strchr(arg, '='), *value = eq != NULL ? eq + 1 : NULL;
    const struct option_row *r = row_find(arg, eq != NULL ? (size_t)(eq - arg) : strlen(arg));

    if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0)
        return 1;
    if (r == NULL)
        return command_complain("unknown option", arg);
    if (r->kind == OPTION_FLAG && value != NULL)
        return command_complain("no value is taken by", r->name);
    if (r->kind != OPTION_FLAG && value == NULL) {
        if (*i + 1 >= argc)
            return command_complain("a value is missing for", r->name);
        value = argv[++*i];
    }
    return store(o, r, value);
}

int serve_options_parse(struct serve_options *o, int argc, char **argv, bool resumed)
{
    int rc = 0;

    for (int i = 0; i < argc && (rc == 0 || resumed); i++) {
        int one = parse_one(o, argc, argv, &i);

        /* The value of an option that is not known any more is passed over with it. */
        if (one != 0 && resumed && i + 1 < argc && argv[i + 1][0] != '-')
            i++;
        rc = one != 0 ? one : rc;
    }
    if (rc != 0 && !resumed)
        return rc;
    if ((o->tls_cert == NULL) != (o->tls_key == NULL)) {
        rc = command_complain("both are needed:", "--tls-cert and --tls-key");
        o->tls_cert = o->tls_key = NULL;
    }
    if (!confine_parse(o->confine, &o->confine_off))
        rc = command_complain("--confine is on or off, not", o->confine);
    if (o->listen.count == 0)
        o->listen.items[o->listen.count++] = SERVE_LISTEN_DEFAULT;
    return rc;
}

void serve_options_help(struct buf *out)
{
    size_t i;

    buf_puts(
        out,
        "usage: holdfast serve [OPTION...]\n\n"
        "Runs the daemon in the foreground: processes and terminals over HTTP, WebSocket and SSE.\n\n");
    for (i = 0; i < ROWS; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", rows[i].name, rows[i].value != NULL ? " " : "",
                 rows[i].value != NULL ? rows[i].value : "");
        buf_printf(out, "  %-28s %s\n", left, rows[i].help);
    }
    buf_puts(
        out,
        "\nSIGTERM ends the processes and the daemon; SIGHUP puts a new binary in place without\n"
        "ending either, and reads tokens and certificate again. Ctrl-C ends the daemon and leaves\n"
        "processes running; the next holdfast serve picks them up, holdfast stop ends them.\n"
        "docs/OPERATING.md has the rest.\n");
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

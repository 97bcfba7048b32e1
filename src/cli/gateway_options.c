/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway_options.c - the options of `holdfast gateway`: table, defaults, checks. Layer: cli.
 */
#include "cli/gateway_command.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "cli/confine.h"

#define OPT_ARGS struct gateway_cli

static const struct opt rows[] = {
    OPT_LIST("--listen", 0, listen, GATEWAY_LIST_MAX, "ADDRESS",
             "address to listen on: HOST:PORT, [IPV6]:PORT, unix:PATH; may be repeated "
             "(127.0.0.1:7071)"),
    OPT_LIST("--admin", 0, admin, GATEWAY_LIST_MAX, "ADDRESS",
             "address for /metrics, /healthz and /readyz; may be repeated"),
    OPT_TEXT("--resolver", 0, to.resolver, "URL",
             "where to find sandboxes: file:PATH, redis[s]://[USER@]IP:PORT[?password_file=FILE], "
             "docker:[SOCKET], kubernetes:[URL]"),
    OPT_TEXT("--domain", 0, to.domain, "NAME", "also route requests by Host: PORT-ID.NAME"),
    OPT_TEXT("--default-sandbox", 0, default_sandbox, "ID:PORT",
             "destination of requests that name no sandbox"),
    OPT_LIST("--allow-port", 0, allow_port, GATEWAY_LIST_MAX, "PORT[-PORT]",
             "allow these ports of sandboxes that list none themselves; may be repeated (none)"),
    OPT_LIST(
        "--allow-address", 0, allow_address, GATEWAY_LIST_MAX, "IP[/BITS]",
        "connect to sandboxes from redis, docker and kubernetes only at these addresses; may be "
        "repeated (any but loopback, link-local, multicast and metadata services)"),
    OPT_TEXT("--token-file", 0, token_file, "FILE",
             "tokens with access to every sandbox, one per line"),
    OPT_TEXT("--link-key-file", 0, link_key_file, "FILE",
             "key for signed links; holdfast gateway-link creates them"),
    OPT_TEXT("--register-key-file", 0, register_key_file, "FILE",
             "key that signs entries in Redis; holdfast gateway-key derives the key of a "
             "sandbox from it"),
    OPT_FLAG("--unsigned-registrations", 0, to.registration.takes_unsigned,
             "accept unsigned entries in Redis: trust everyone who can write to it"),
    OPT_TEXT("--auth-hook", 0, to.auth_hook, "URL",
             "authorize requests at this URL: 2xx accepts, 401 and 403 reject"),
    OPT_NUMBER("--auth-cache-ms", 0, to.auth_cache_ms, 0, OPT_DAY_MS, "MS",
               "how long to cache its responses"),
    OPT_FLAG("--no-auth", 0, to.no_auth,
             "accept every request; the sandboxes authenticate clients themselves"),
    OPT_LIST("--forward", 0, forward, HEAD_FORWARD_MAX, "HEADER",
             "forward authorization, cookie or open-sandbox-api-key to sandboxes; may be repeated"),
    OPT_FLAG("--preserve-host", 0, to.rules.preserve_host,
             "forward the client's Host and Origin instead of the sandbox's address"),
    OPT_FLAG("--trust-forwarded", 0, to.rules.trust_forwarded,
             "trust the X-Forwarded-* headers of clients, which are our own proxies"),
    OPT_FLAG(
        "--trust-path-origin", 0, to.rules.trust_path_origin,
        "in the path form, let pages of one sandbox call another; all share the gateway's origin"),
    OPT_CORS_ROW(GATEWAY_LIST_MAX),
    OPT_FLAG("--websocket-close-codes", 0, to.close_codes,
             "refuse a WebSocket by accepting it and closing it with 1008 or 1011"),
    OPT_TLS_ROWS,
    OPT_TEXT("--access-log", 0, access_log, "FILE",
             "write a line of JSON for each request; - is standard output"),
    OPT_NUMBER("--workers", 0, workers, 1, 16, "N", "worker processes (one for each CPU)"),
    OPT_NUMBER("--max-connections", 0, to.http.max_connections, 1, 1000000, "N",
               "maximum open connections of a worker"),
    OPT_NUMBER("--sandbox-connections", 0, to.sandbox_connections, 0, 60000, "N",
               "maximum concurrent requests and streams of a sandbox; 0: no limit"),
    OPT_NUMBER("--sandbox-rate", 0, to.sandbox_rate, 0, 1000000, "N",
               "maximum requests per second of a sandbox; 0: no limit"),
    OPT_NUMBER("--peer-connections", 0, to.peer_connections, 0, 60000, "N",
               "the same for a client address"),
    OPT_NUMBER("--peer-rate", 0, to.peer_rate, 0, 1000000, "N", "the same for a client address"),
    OPT_NUMBER("--connect-timeout-ms", 0, to.http.connect_ms, 10, OPT_DAY_MS, "MS",
               "time to connect to a sandbox; then 502"),
    OPT_NUMBER("--answer-timeout-ms", 0, to.http.reply_ms, 0, OPT_DAY_MS, "MS",
               "time for a sandbox to start its response; then 504; 0: no limit"),
    OPT_NUMBER("--idle-timeout-ms", 0, to.http.quiet_ms, 0, OPT_DAY_MS, "MS",
               "close a WebSocket after this long without data; 0: never"),
    OPT_TIMEOUT_ROWS(to.http),
    OPT_NUMBER("--pool-timeout-ms", 0, to.http.pool_ms, 10, OPT_DAY_MS, "MS",
               "how long to keep an idle connection to a sandbox for reuse"),
    OPT_NUMBER("--drain-ms", 0, drain_ms, 0, OPT_DAY_MS, "MS",
               "time for streams to end when a worker is stopped or replaced"),
    OPT_TEXT("--worker-user", 0, worker_user, "USER",
             "user of the workers if started as root (" CONFINE_UID "); root: stay root"),
    OPT_TEXT("--confine", 0, confine, "on|off", "restrict workers with seccomp and Landlock (on)"),
    OPT_TEXT("--pid-file", 0, pid_file, "FILE", "write the process id to this file"),
    OPT_LOG_ROW,
};

static const struct opt_table table = {
    .command = "gateway",
    OPT_ROWS(rows),
    .usage = "--resolver URL [OPTION...]",
    .about = "A reverse proxy to many sandboxes: /v1/sandboxes/{id}/proxy/{port}/{path}, HTTP and\n"
             "WebSocket. It forwards only authorized requests, and only to allowed ports.\n",
    .notes = "SIGHUP reloads files and certificates without closing a stream; SIGTERM stops the\n"
             "gateway after its streams have ended. See docs/GATEWAY.md for details.\n",
};

static int complain(const char *what, const char *name)
{
    return optparse_complain(table.command, what, name);
}

static int64_t cpus(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n < 1 ? 1 : n > 16 ? 16 : n;
}

static int take_ports(const struct opt_list *list, struct gateway_options *out)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *text = list->items[i], *dash = strchr(text, '-');
        char first[8] = "";
        uint64_t from, to;

        snprintf(first, sizeof first, "%.*s", dash != NULL ? (int)(dash - text) : 7, text);
        if (!text_to_u64(first, UINT16_MAX, &from) || from == 0 ||
            !text_to_u64(dash != NULL ? dash + 1 : text, UINT16_MAX, &to) || to < from)
            return complain("not a port or a range:", text);
        out->ports[out->port_count++] = (struct port_range){(uint16_t)from, (uint16_t)to};
    }
    return 0;
}

static int take_networks(const struct opt_list *list, struct networks *out)
{
    for (size_t i = 0; i < list->count; i++) {
        if (!networks_add(out, list->items[i]))
            return complain("not an IP address or network:", list->items[i]);
    }
    return 0;
}

static int take_default(const char *text, struct gateway_options *out)
{
    const char *colon = text != NULL ? strrchr(text, ':') : NULL;
    uint64_t port;

    if (text == NULL)
        return 0;
    if (colon == NULL || !route_target_id_is_valid(text, (size_t)(colon - text)) ||
        !text_to_u64(colon + 1, UINT16_MAX, &port) || port == 0)
        return complain("not ID:PORT:", text);
    memcpy(out->default_id, text, (size_t)(colon - text));
    out->default_port = (uint16_t)port;
    return 0;
}

/* Fills what a row of the table cannot; 0 or 2. */
static int take_lists(const struct gateway_cli *o, struct gateway_options *out)
{
    struct head_rules *rules = &out->rules;
    int rc = take_ports(&o->allow_port, out);

    rc = rc == 0 ? take_networks(&o->allow_address, &out->networks) : rc;
    rc = rc == 0 ? take_default(o->default_sandbox, out) : rc;
    for (; rules->forward_count < o->forward.count; rules->forward_count++)
        rules->forward[rules->forward_count] = o->forward.items[rules->forward_count];
    return rc;
}

static void set_defaults(struct gateway_cli *o)
{
    struct http_options *http = &o->to.http;

    *o = (struct gateway_cli){
        .workers = cpus(),
        .drain_ms = GATEWAY_DRAIN_MS,
        .log_level = "info",
        .confine = "on",
        .to = {.auth_cache_ms = GATEWAY_AUTH_CACHE_MS, .access_log = -1},
    };
    http_options_default(http);
    http->max_connections = LIMIT_GATEWAY_CONNECTIONS;
    http->held_untrusted_bytes = LIMIT_GATEWAY_HELD_BYTES;
    http->connect_ms = GATEWAY_CONNECT_MS;
    http->reply_ms = GATEWAY_REPLY_MS;
    http->pool_ms = GATEWAY_POOL_MS;
}

int gateway_cli_parse(struct gateway_cli *o, int argc, char **argv)
{
    int rc;

    set_defaults(o);
    rc = opt_table_parse(&table, argc, argv, o);
    if (rc >= 0)
        return rc;
    if (!confine_parse(o->confine, &o->confine_off))
        return complain("--confine must be on or off, not", o->confine);
    if ((o->tls_cert == NULL) != (o->tls_key == NULL))
        return complain("use both or neither of", "--tls-cert and --tls-key");
    if (o->to.resolver == NULL)
        return complain("missing option:", "--resolver");
    if (o->listen.count == 0)
        opt_list_add(&o->listen, "127.0.0.1:7071");
    rc = opt_set_log_level(table.command, o->log_level);
    rc = rc == 0 ? take_lists(o, &o->to) : rc;
    return rc == 0 ? -1 : rc;
}

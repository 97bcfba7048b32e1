/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway_options.c - the options of `holdfast gateway`: table, defaults, checks. Layer: cli.
 */
#include "cli/gateway_options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "cli/confine.h"

#define AT(member) offsetof(struct gateway_cli, member)
#define DAY_MS (24LL * 3600 * 1000)

static const struct optparse_row rows[] = {
    {"--listen", OPTPARSE_LIST, AT(listen), 0, 0, "ADDRESS",
     "address to listen on: HOST:PORT, [IPV6]:PORT, unix:PATH; may be repeated "
     "(127.0.0.1:7071)"},
    {"--admin", OPTPARSE_LIST, AT(admin), 0, 0, "ADDRESS",
     "address for /metrics, /healthz and /readyz; may be repeated"},
    {"--resolver", OPTPARSE_TEXT, AT(resolver), 0, 0, "URL",
     "where to find sandboxes: file:PATH, redis[s]://[USER@]IP:PORT[?password_file=FILE], "
     "docker:[SOCKET], kubernetes:[URL]"},
    {"--domain", OPTPARSE_TEXT, AT(domain), 0, 0, "NAME",
     "also route requests by Host: PORT-ID.NAME"},
    {"--default-sandbox", OPTPARSE_TEXT, AT(default_sandbox), 0, 0, "ID:PORT",
     "destination of requests that name no sandbox"},
    {"--allow-port", OPTPARSE_LIST, AT(allow_port), 0, 0, "PORT[-PORT]",
     "allow these ports of sandboxes that list none themselves; may be repeated (none)"},
    {"--allow-address", OPTPARSE_LIST, AT(allow_address), 0, 0, "IP[/BITS]",
     "connect to sandboxes from redis, docker and kubernetes only at these addresses; may be "
     "repeated (any but loopback, link-local, multicast and metadata services)"},
    {"--token-file", OPTPARSE_TEXT, AT(token_file), 0, 0, "FILE",
     "tokens with access to every sandbox, one per line"},
    {"--link-key-file", OPTPARSE_TEXT, AT(link_key_file), 0, 0, "FILE",
     "key for signed links; holdfast gateway-link creates them"},
    {"--register-key-file", OPTPARSE_TEXT, AT(register_key_file), 0, 0, "FILE",
     "key that signs entries in Redis; holdfast gateway-key derives the key of a sandbox from it"},
    {"--unsigned-registrations", OPTPARSE_FLAG, AT(unsigned_registrations), 0, 0, NULL,
     "accept unsigned entries in Redis: trust everyone who can write to it"},
    {"--auth-hook", OPTPARSE_TEXT, AT(auth_hook), 0, 0, "URL",
     "authorize requests at this URL: 2xx accepts, 401 and 403 reject"},
    {"--auth-cache-ms", OPTPARSE_NUMBER, AT(auth_cache_ms), 0, DAY_MS, "MS",
     "how long to cache its responses"},
    {"--no-auth", OPTPARSE_FLAG, AT(no_auth), 0, 0, NULL,
     "accept every request; the sandboxes authenticate clients themselves"},
    {"--forward", OPTPARSE_LIST, AT(forward), 0, 0, "HEADER",
     "forward authorization, cookie or open-sandbox-api-key to sandboxes; may be repeated"},
    {"--preserve-host", OPTPARSE_FLAG, AT(preserve_host), 0, 0, NULL,
     "forward the client's Host and Origin instead of the sandbox's address"},
    {"--trust-forwarded", OPTPARSE_FLAG, AT(trust_forwarded), 0, 0, NULL,
     "trust the X-Forwarded-* headers of clients, which are our own proxies"},
    {"--trust-path-origin", OPTPARSE_FLAG, AT(trust_path_origin), 0, 0, NULL,
     "in the path form, let pages of one sandbox call another; all share the gateway's origin"},
    {"--cors-origin", OPTPARSE_LIST, AT(cors_origin), 0, 0, "ORIGIN",
     "allow requests from pages of this origin; may be repeated"},
    {"--websocket-close-codes", OPTPARSE_FLAG, AT(websocket_close_codes), 0, 0, NULL,
     "accept a refused WebSocket, then close it with 1008 or 1011"},
    {"--tls-cert", OPTPARSE_TEXT, AT(tls_cert), 0, 0, "FILE",
     "serve TLS with this certificate chain (PEM)"},
    {"--tls-key", OPTPARSE_TEXT, AT(tls_key), 0, 0, "FILE", "private key file (PEM)"},
    {"--access-log", OPTPARSE_TEXT, AT(access_log), 0, 0, "FILE",
     "write a line of JSON for each request; - is standard output"},
    {"--workers", OPTPARSE_NUMBER, AT(workers), 1, 16, "N", "worker processes (one for each CPU)"},
    {"--max-connections", OPTPARSE_NUMBER, AT(max_connections), 1, 1000000, "N",
     "maximum open connections of a worker"},
    {"--sandbox-connections", OPTPARSE_NUMBER, AT(sandbox_connections), 0, 60000, "N",
     "maximum concurrent requests and streams of a sandbox; 0: no limit"},
    {"--sandbox-rate", OPTPARSE_NUMBER, AT(sandbox_rate), 0, 1000000, "N",
     "maximum requests per second of a sandbox; 0: no limit"},
    {"--peer-connections", OPTPARSE_NUMBER, AT(peer_connections), 0, 60000, "N",
     "the same for a client address"},
    {"--peer-rate", OPTPARSE_NUMBER, AT(peer_rate), 0, 1000000, "N",
     "the same for a client address"},
    {"--connect-timeout-ms", OPTPARSE_NUMBER, AT(connect_timeout_ms), 10, DAY_MS, "MS",
     "time to connect to a sandbox; then 502"},
    {"--answer-timeout-ms", OPTPARSE_NUMBER, AT(answer_timeout_ms), 0, DAY_MS, "MS",
     "time for a sandbox to start its response; then 504; 0: no limit"},
    {"--idle-timeout-ms", OPTPARSE_NUMBER, AT(idle_timeout_ms), 0, DAY_MS, "MS",
     "close a WebSocket after this long without data; 0: never"},
    {"--header-timeout-ms", OPTPARSE_NUMBER, AT(header_timeout_ms), 10, DAY_MS, "MS",
     "time to receive the head of a request"},
    {"--body-timeout-ms", OPTPARSE_NUMBER, AT(body_timeout_ms), 10, DAY_MS, "MS",
     "time without progress in a request body"},
    {"--keepalive-timeout-ms", OPTPARSE_NUMBER, AT(keepalive_timeout_ms), 10, DAY_MS, "MS",
     "idle time between requests"},
    {"--pool-timeout-ms", OPTPARSE_NUMBER, AT(pool_timeout_ms), 10, DAY_MS, "MS",
     "how long to keep an idle connection to a sandbox for reuse"},
    {"--drain-ms", OPTPARSE_NUMBER, AT(drain_ms), 0, DAY_MS, "MS",
     "time for streams to end when a worker is stopped or replaced"},
    {"--worker-user", OPTPARSE_TEXT, AT(worker_user), 0, 0, "USER",
     "user of the workers if started as root (" CONFINE_UID "); root: stay root"},
    {"--confine", OPTPARSE_TEXT, AT(confine), 0, 0, "on|off",
     "restrict workers with seccomp and Landlock (on)"},
    {"--pid-file", OPTPARSE_TEXT, AT(pid_file), 0, 0, "FILE", "write the process id to this file"},
    {"--log-level", OPTPARSE_TEXT, AT(log_level), 0, 0, "LEVEL", "error, warn, info or debug"},
};

static const struct optparse table = {"holdfast gateway", rows, sizeof rows / sizeof *rows};

static int64_t cpus(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n < 1 ? 1 : n > 16 ? 16 : n;
}

int gateway_cli_parse(struct gateway_cli *o, int argc, char **argv)
{
    int rc;

    *o = (struct gateway_cli){
        .workers = cpus(),
        .connect_timeout_ms = GATEWAY_CONNECT_MS,
        .answer_timeout_ms = GATEWAY_REPLY_MS,
        .header_timeout_ms = LIMIT_REQUEST_HEAD_MS,
        .body_timeout_ms = LIMIT_REQUEST_BODY_MS,
        .keepalive_timeout_ms = LIMIT_KEEPALIVE_MS,
        .pool_timeout_ms = GATEWAY_POOL_MS,
        .drain_ms = GATEWAY_DRAIN_MS,
        .max_connections = LIMIT_GATEWAY_CONNECTIONS,
        .auth_cache_ms = GATEWAY_AUTH_CACHE_MS,
        .log_level = "info",
        .confine = "on",
    };
    rc = optparse_run(&table, argc, argv, o);
    if (rc != 0)
        return rc;
    if (!confine_parse(o->confine, &o->confine_off))
        return optparse_complain(&table, "--confine must be on or off, not", o->confine);
    if ((o->tls_cert == NULL) != (o->tls_key == NULL))
        return optparse_complain(&table, "use both or neither of", "--tls-cert and --tls-key");
    if (o->resolver == NULL)
        return optparse_complain(&table, "missing option:", "--resolver");
    if (o->listen.count == 0)
        o->listen.items[o->listen.count++] = "127.0.0.1:7071";
    return 0;
}

void gateway_cli_help(struct buf *out)
{
    buf_puts(out,
             "usage: holdfast gateway --resolver URL [OPTION...]\n\n"
             "A reverse proxy to many sandboxes: /v1/sandboxes/{id}/proxy/{port}/{path}, HTTP and\n"
             "WebSocket. It forwards only authorized requests, and only to allowed ports.\n\n");
    optparse_help(&table, out);
    buf_puts(out,
             "\nSIGHUP reloads files and certificates without closing a stream; SIGTERM stops the\n"
             "gateway after its streams have ended. See docs/GATEWAY.md for details.\n");
}

static int take_ports(const struct optparse_list *list, struct gateway_options *out)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *text = list->items[i], *dash = strchr(text, '-');
        char first[8] = "";
        uint64_t from, to;

        snprintf(first, sizeof first, "%.*s", dash != NULL ? (int)(dash - text) : 7, text);
        if (!text_to_u64(first, UINT16_MAX, &from) || from == 0 ||
            !text_to_u64(dash != NULL ? dash + 1 : text, UINT16_MAX, &to) || to < from)
            return optparse_complain(&table, "not a port or a range:", text);
        out->ports[out->port_count++] = (struct port_range){(uint16_t)from, (uint16_t)to};
    }
    return 0;
}

static int take_networks(const struct optparse_list *list, struct networks *out)
{
    for (size_t i = 0; i < list->count; i++) {
        if (!networks_add(out, list->items[i]))
            return optparse_complain(&table, "not an IP address or network:", list->items[i]);
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
        return optparse_complain(&table, "not ID:PORT:", text);
    memcpy(out->default_id, text, (size_t)(colon - text));
    out->default_port = (uint16_t)port;
    return 0;
}

static int take_forward(const struct optparse_list *list, struct head_rules *rules)
{
    for (size_t i = 0; i < list->count; i++) {
        if (rules->forward_count == HEAD_FORWARD_MAX)
            return optparse_complain(&table, "too many uses of", "--forward");
        rules->forward[rules->forward_count++] = list->items[i];
    }
    return 0;
}

static void take_http(const struct gateway_cli *o, struct http_options *h)
{
    http_options_default(h);
    h->max_connections = (size_t)o->max_connections;
    h->held_untrusted_bytes = LIMIT_GATEWAY_HELD_BYTES;
    h->head_ms = (uint32_t)o->header_timeout_ms;
    h->body_ms = (uint32_t)o->body_timeout_ms;
    h->keepalive_ms = (uint32_t)o->keepalive_timeout_ms;
    h->connect_ms = (uint32_t)o->connect_timeout_ms;
    h->reply_ms = (uint32_t)o->answer_timeout_ms;
    h->pool_ms = (uint32_t)o->pool_timeout_ms;
    h->quiet_ms = (uint32_t)o->idle_timeout_ms;
}

int gateway_cli_options(const struct gateway_cli *o, struct gateway_options *out)
{
    int rc;

    *out = (struct gateway_options){
        .resolver = o->resolver,
        .domain = o->domain,
        .no_auth = o->no_auth,
        .close_codes = o->websocket_close_codes,
        .auth_hook = o->auth_hook,
        .auth_cache_ms = (uint32_t)o->auth_cache_ms,
        .sandbox_connections = (uint32_t)o->sandbox_connections,
        .sandbox_rate = (uint32_t)o->sandbox_rate,
        .peer_connections = (uint32_t)o->peer_connections,
        .peer_rate = (uint32_t)o->peer_rate,
        .access_log = -1,
    };
    take_http(o, &out->http);
    out->registration.takes_unsigned = o->unsigned_registrations;
    out->rules.preserve_host = o->preserve_host;
    out->rules.trust_forwarded = o->trust_forwarded;
    out->rules.trust_path_origin = o->trust_path_origin;
    rc = take_ports(&o->allow_port, out);
    rc = rc == 0 ? take_networks(&o->allow_address, &out->networks) : rc;
    rc = rc == 0 ? take_default(o->default_sandbox, out) : rc;
    return rc == 0 ? take_forward(&o->forward, &out->rules) : rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway_link.c - `holdfast gateway-link`: prints a signed, expiring link. Layer: cli.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/io.h"
#include "cli/gateway_command.h"
#include "gateway/signed_link.h"

struct link_cli {
    const char *key_file, *id, *url, *domain, *path;
    int64_t port, seconds;
};

#define OPT_ARGS struct link_cli

static const struct opt rows[] = {
    OPT_TEXT("--key-file", 0, key_file, "FILE", "the gateway's --link-key-file"),
    OPT_TEXT("--id", 0, id, "ID", "id of the sandbox"),
    OPT_NUMBER("--port", 0, port, 1, 65535, "PORT", "port of the sandbox (7070)"),
    OPT_NUMBER("--seconds", 0, seconds, 1, 366 * 24 * 3600, "N", "lifetime of the link (3600)"),
    OPT_TEXT("--url", 0, url, "URL", "URL of the gateway (http://127.0.0.1:7071)"),
    OPT_TEXT("--domain", 0, domain, "NAME",
             "the gateway's --domain: link to the sandbox's host name, with the scheme and port of "
             "--url"),
    OPT_TEXT("--path", 0, path, "PATH", "path in the sandbox (/)"),
};

static const struct opt_table table = {
    .command = "holdfast gateway-link",
    OPT_ROWS(rows),
    .usage = "--key-file FILE --id ID [OPTION...]",
    .about = "Prints a link to one port of one sandbox that expires.\n",
};

/* Host names are case-insensitive, so the gateway uses the id in lower case. */
static void print_host(const struct link_cli *o, char *id)
{
    const char *host = strstr(o->url, "://");
    size_t scheme = host != NULL ? (size_t)(host + 3 - o->url) : 0;
    const char *end = o->url + scheme + strcspn(o->url + scheme, "/");
    const char *colon = memrchr(o->url + scheme, ':', (size_t)(end - o->url) - scheme);

    if (colon != NULL && memchr(colon, ']', (size_t)(end - colon)) != NULL)
        colon = NULL; /* inside an IPv6 address */
    for (char *s = id; *s != '\0'; s++)
        *s = (char)(*s >= 'A' && *s <= 'Z' ? *s + 32 : *s);
    printf("%.*s%lld-%s.%s%.*s", (int)scheme, o->url, (long long)o->port, id, o->domain,
           colon != NULL ? (int)(end - colon) : 0, colon != NULL ? colon : "");
}

static void print_link(const struct link_cli *o, const struct buf *key)
{
    char text[LINK_TEXT_BYTES], id[PLACE_ID_BYTES + 1];

    snprintf(id, sizeof id, "%s", o->id);
    if (o->domain != NULL)
        print_host(o, id);
    else
        printf("%s/v1/sandboxes/%s/proxy/%lld", o->url, id, (long long)o->port);
    link_sign(key, id, (uint16_t)o->port, clock_wall_ms() / 1000 + o->seconds, text);
    printf("%s%s" LINK_NAME "=%s\n", o->path, strchr(o->path, '?') != NULL ? "&" : "?", text);
}

int gateway_link_main(int argc, char **argv)
{
    struct link_cli o = {
        .port = 7070, .seconds = 3600, .url = "http://127.0.0.1:7071", .path = "/"};
    struct buf key = {0};
    int rc = opt_table_parse(&table, argc, argv, &o);

    if (rc >= 0)
        return rc;
    if (o.key_file == NULL || o.id == NULL || !route_target_id_is_valid(o.id, strlen(o.id)))
        return optparse_complain(table.command, "missing options:", "--key-file and --id");
    rc = io_read_file(o.key_file, 65536, &key);
    if (rc < 0) {
        fprintf(stderr, "holdfast gateway-link: cannot read %s: %s\n", o.key_file, strerror(-rc));
        return 1;
    }
    print_link(&o, &key);
    buf_wipe(&key);
    return 0;
}

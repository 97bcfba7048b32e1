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

#define AT(member) offsetof(struct link_cli, member)

static const struct optparse_row rows[] = {
    {"--key-file", OPTPARSE_TEXT, AT(key_file), 0, 0, "FILE", "the gateway's --link-key-file"},
    {"--id", OPTPARSE_TEXT, AT(id), 0, 0, "ID", "id of the sandbox"},
    {"--port", OPTPARSE_NUMBER, AT(port), 1, 65535, "PORT", "port of the sandbox (7070)"},
    {"--seconds", OPTPARSE_NUMBER, AT(seconds), 1, 366 * 24 * 3600, "N",
     "lifetime of the link (3600)"},
    {"--url", OPTPARSE_TEXT, AT(url), 0, 0, "URL", "URL of the gateway (http://127.0.0.1:7071)"},
    {"--domain", OPTPARSE_TEXT, AT(domain), 0, 0, "NAME",
     "the gateway's --domain: link to the sandbox's host name, with the scheme and port of "
     "--url"},
    {"--path", OPTPARSE_TEXT, AT(path), 0, 0, "PATH", "path in the sandbox (/)"},
};

static const struct optparse table = {"holdfast gateway-link", rows, sizeof rows / sizeof *rows};

static void print_help(void)
{
    struct buf text = {0};

    buf_puts(&text, "usage: holdfast gateway-link --key-file FILE --id ID [OPTION...]\n\n"
                    "Prints a link to one port of one sandbox that expires.\n\n");
    optparse_help(&table, &text);
    fputs(buf_cstr(&text), stdout);
    buf_fini(&text);
}

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
    int rc = optparse_run(&table, argc - 2, argv + 2, &o);

    if (rc == 1) {
        print_help();
        return 0;
    }
    if (rc != 0)
        return rc;
    if (o.key_file == NULL || o.id == NULL || !route_target_id_is_valid(o.id, strlen(o.id)))
        return optparse_complain(&table, "missing options:", "--key-file and --id");
    rc = io_read_file(o.key_file, 65536, &key);
    if (rc < 0) {
        fprintf(stderr, "holdfast gateway-link: cannot read %s: %s\n", o.key_file, strerror(-rc));
        return 1;
    }
    print_link(&o, &key);
    buf_wipe(&key);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway_key.c - `holdfast gateway-key` and `gateway-link`: what the gateway's keys sign
 *
 * One prints the registration key of a sandbox, the other a link that expires. Layer: cli.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/gateway_command.h"
#include "gateway/registration.h"
#include "gateway/signed_link.h"

#define KEY_FILE_BYTES 65536

struct key_cli {
    const char *key_file, *id, *url, *domain, *path;
    int64_t port, seconds;
};

#define OPT_ARGS struct key_cli
#define ID_ROW OPT_TEXT("--id", 0, id, "ID", "id of the sandbox")

static const struct opt key_rows[] = {
    OPT_TEXT("--key-file", 0, key_file, "FILE", "the gateway's --register-key-file"),
    ID_ROW,
};

static const struct opt link_rows[] = {
    OPT_TEXT("--key-file", 0, key_file, "FILE", "the gateway's --link-key-file"),
    ID_ROW,
    OPT_NUMBER("--port", 0, port, 1, 65535, "PORT", "port of the sandbox (7070)"),
    OPT_NUMBER("--seconds", 0, seconds, 1, 366 * 24 * 3600, "N", "lifetime of the link (3600)"),
    OPT_TEXT("--url", 0, url, "URL", "URL of the gateway (http://127.0.0.1:7071)"),
    OPT_TEXT("--domain", 0, domain, "NAME",
             "the gateway's --domain: link to the sandbox's host name, with the scheme and port of "
             "--url"),
    OPT_TEXT("--path", 0, path, "PATH", "path in the sandbox (/)"),
};

static const struct opt_table key_table = {
    .command = "gateway-key",
    OPT_ROWS(key_rows),
    .usage = "--key-file FILE --id ID",
    .about = "Prints the key with which one sandbox signs its registration. It is valid for that\n"
             "sandbox only.\n",
};

static const struct opt_table link_table = {
    .command = "gateway-link",
    OPT_ROWS(link_rows),
    .usage = "--key-file FILE --id ID [OPTION...]",
    .about = "Prints a link to one port of one sandbox that expires.\n",
};

/* Both commands need a key and an id. `before`: the file, in the message that it cannot be read. */
static int run(const struct opt_table *table, int argc, char **argv, const char *before,
               int (*print)(const struct key_cli *o, const struct buf *key))
{
    struct key_cli o = {.port = 7070, .seconds = 3600, .url = "http://127.0.0.1:7071", .path = "/"};
    struct buf key = {0};
    int rc = opt_table_parse(table, argc, argv, &o);

    if (rc >= 0)
        return rc;
    if (o.key_file == NULL || o.id == NULL || !route_target_id_is_valid(o.id, strlen(o.id)))
        return optparse_complain(table->command, "missing options:", "--key-file and --id");
    rc = io_read_file(o.key_file, KEY_FILE_BYTES, &key);
    rc = rc < 0 ? cli_complain(table->command, 1, "%s%s: %s", before, o.key_file, strerror(-rc))
                : print(&o, &key);
    buf_wipe(&key);
    return rc;
}

/* --- the registration key --------------------------------------------------------------------- */

static int print_key(const struct key_cli *o, const struct buf *operator_key)
{
    uint8_t key[REGISTRATION_KEY_BYTES];
    char text[REGISTRATION_HEX_BYTES];

    if (operator_key->len < REGISTRATION_KEY_MIN_BYTES)
        return cli_complain(key_table.command, 1,
                            "%s: a registration key must have at least 32 bytes", o->key_file);
    registration_key(operator_key, o->id, key);
    hex_encode(text, key, sizeof key);
    puts(text);
    hf_wipe(key, sizeof key);
    hf_wipe(text, sizeof text);
    return fflush(stdout) == 0 ? 0 : 1;
}

int gateway_key_main(int argc, char **argv)
{
    return run(&key_table, argc, argv, "", print_key);
}

/* --- a link --- */

/* Host names are case-insensitive, so the gateway uses the id in lower case. */
static void print_host(const struct key_cli *o, char *id)
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

static int print_link(const struct key_cli *o, const struct buf *key)
{
    char text[LINK_TEXT_BYTES], id[PLACE_ID_BYTES + 1];

    snprintf(id, sizeof id, "%s", o->id);
    if (o->domain != NULL)
        print_host(o, id);
    else
        printf("%s/v1/sandboxes/%s/proxy/%lld", o->url, id, (long long)o->port);
    link_sign(key, id, (uint16_t)o->port, clock_wall_ms() / 1000 + o->seconds, text);
    printf("%s%s" LINK_NAME "=%s\n", o->path, strchr(o->path, '?') != NULL ? "&" : "?", text);
    return 0;
}

int gateway_link_main(int argc, char **argv)
{
    return run(&link_table, argc, argv, "cannot read ", print_link);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway_link.c - `holdfast gateway-link`: a signed, expiring link. Layer: cli.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/io.h"
#include "cli/gateway.h"
#include "gateway/link.h"

struct link_cli {
    const char *key_file, *id, *url, *path;
    int64_t port, seconds;
};

#define AT(member) offsetof(struct link_cli, member)

static const struct optparse_row rows[] = {
    {"--key-file", OPTPARSE_TEXT, AT(key_file), 0, 0, "FILE", "the gateway's --link-key-file"},
    {"--id", OPTPARSE_TEXT, AT(id), 0, 0, "ID", "the sandbox"},
    {"--port", OPTPARSE_NUMBER, AT(port), 1, 65535, "PORT", "the port there (7070)"},
    {"--seconds", OPTPARSE_NUMBER, AT(seconds), 1, 366 * 24 * 3600, "N",
     "how long it is good (3600)"},
    {"--url", OPTPARSE_TEXT, AT(url), 0, 0, "URL", "of the gateway (http://127.0.0.1:7071)"},
    {"--path", OPTPARSE_TEXT, AT(path), 0, 0, "PATH", "in the sandbox (/)"},
};

static const struct optparse table = {"holdfast gateway-link", rows, sizeof rows / sizeof *rows};

static void print_help(void)
{
    struct buf text = {0};

    buf_puts(&text, "usage: holdfast gateway-link --key-file FILE --id ID [OPTION...]\n\n"
                    "Prints a link to one port of one sandbox that is good for a while.\n\n");
    optparse_help(&table, &text);
    fputs(buf_cstr(&text), stdout);
    buf_fini(&text);
}

int gateway_link_main(int argc, char **argv)
{
    struct link_cli o = {
        .port = 7070, .seconds = 3600, .url = "http://127.0.0.1:7071", .path = "/"};
    char text[LINK_TEXT_BYTES];
    struct buf key = {0};
    int rc = optparse_run(&table, argc - 2, argv + 2, &o);

    if (rc == 1) {
        print_help();
        return 0;
    }
    if (rc != 0)
        return rc;
    if (o.key_file == NULL || o.id == NULL || !place_id_is_valid(o.id, strlen(o.id)))
        return optparse_complain(&table, "these are needed:", "--key-file and --id");
    rc = io_read_file(o.key_file, 65536, &key);
    if (rc < 0) {
        fprintf(stderr, "holdfast gateway-link: cannot read %s: %s\n", o.key_file, strerror(-rc));
        return 1;
    }
    link_sign(&key, o.id, (uint16_t)o.port, clock_wall_ms() / 1000 + o.seconds, text);
    printf("%s/v1/sandboxes/%s/proxy/%lld%s%s" LINK_NAME "=%s\n", o.url, o.id, (long long)o.port,
           o.path, strchr(o.path, '?') != NULL ? "&" : "?", text);
    buf_wipe(&key);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway_key.c - `holdfast gateway-key`: prints the registration key of a sandbox. Layer: cli.
 */
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/gateway_command.h"
#include "gateway/registration.h"

struct key_cli {
    const char *key_file, *id;
};

#define AT(member) offsetof(struct key_cli, member)

static const struct optparse_row rows[] = {
    {"--key-file", OPTPARSE_TEXT, AT(key_file), 0, 0, "FILE", "the gateway's --register-key-file"},
    {"--id", OPTPARSE_TEXT, AT(id), 0, 0, "ID", "id of the sandbox"},
};

static const struct optparse table = {"holdfast gateway-key", rows, sizeof rows / sizeof *rows};

static void print_help(void)
{
    struct buf text = {0};

    buf_puts(&text,
             "usage: holdfast gateway-key --key-file FILE --id ID\n\n"
             "Prints the key with which one sandbox signs its registration. It is valid for that\n"
             "sandbox only.\n\n");
    optparse_help(&table, &text);
    fputs(buf_cstr(&text), stdout);
    buf_fini(&text);
}

static int complain(const char *file, const char *why)
{
    fprintf(stderr, "holdfast gateway-key: %s: %s\n", file, why);
    return 1;
}

static int print_key(const struct key_cli *o, const struct buf *operator_key)
{
    uint8_t key[REGISTRATION_KEY_BYTES];
    char text[REGISTRATION_HEX_BYTES];

    if (operator_key->len < REGISTRATION_KEY_MIN_BYTES)
        return complain(o->key_file, "a registration key must have at least 32 bytes");
    registration_key(operator_key, o->id, key);
    hex_encode(text, key, sizeof key);
    puts(text);
    hf_wipe(key, sizeof key);
    hf_wipe(text, sizeof text);
    return fflush(stdout) == 0 ? 0 : 1;
}

int gateway_key_main(int argc, char **argv)
{
    struct key_cli o = {0};
    struct buf operator_key = {0};
    int rc = optparse_run(&table, argc - 2, argv + 2, &o);

    if (rc == 1) {
        print_help();
        return 0;
    }
    if (rc != 0)
        return rc;
    if (o.key_file == NULL || o.id == NULL || !route_target_id_is_valid(o.id, strlen(o.id)))
        return optparse_complain(&table, "missing options:", "--key-file and --id");
    rc = io_read_file(o.key_file, 65536, &operator_key);
    rc = rc < 0 ? complain(o.key_file, strerror(-rc)) : print_key(&o, &operator_key);
    buf_wipe(&operator_key);
    return rc;
}

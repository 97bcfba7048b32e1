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

#define OPT_ARGS struct key_cli

static const struct opt rows[] = {
    OPT_TEXT("--key-file", 0, key_file, "FILE", "the gateway's --register-key-file"),
    OPT_TEXT("--id", 0, id, "ID", "id of the sandbox"),
};

static const struct opt_table table = {
    .command = "holdfast gateway-key",
    OPT_ROWS(rows),
    .usage = "--key-file FILE --id ID",
    .about = "Prints the key with which one sandbox signs its registration. It is valid for that\n"
             "sandbox only.\n",
};

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
    int rc = opt_table_parse(&table, argc, argv, &o);

    if (rc >= 0)
        return rc;
    if (o.key_file == NULL || o.id == NULL || !route_target_id_is_valid(o.id, strlen(o.id)))
        return optparse_complain(table.command, "missing options:", "--key-file and --id");
    rc = io_read_file(o.key_file, 65536, &operator_key);
    rc = rc < 0 ? complain(o.key_file, strerror(-rc)) : print_key(&o, &operator_key);
    buf_wipe(&operator_key);
    return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon_address.h - the address of the daemon, and the token for it
 *
 * --url, else HOLDFAST_URL, else a local unix socket that exists, else
 * http://127.0.0.1:7070. The token: --token-file, HOLDFAST_TOKEN, or the file that
 * `holdfast serve` wrote; that token is for daemons of this machine only, so
 * it is never sent elsewhere. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_DAEMON_ADDRESS_H
#define HF_CLI_CLIENT_DAEMON_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct daemon_address {
    char *url;       /* as given, for messages; without user and query, so no secret */
    char *unix_path; /* NULL: TCP */
    char *host;      /* without brackets */
    uint16_t port;
    bool tls;
    char *prefix; /* "" or "/path" before every request path */
    char *token;  /* NULL: none */
    const char *ca_file;
};

/* Parses http://, https:// and unix: URLs. 0, or -EINVAL and err. */
int daemon_address_parse(struct daemon_address *p, const char *url, struct hf_error *err);
/* `url` and `token_file` may be NULL. */
int daemon_address_find(struct daemon_address *p, const char *url, const char *token_file,
                        struct hf_error *err);
/* Reads the token again, as daemon_address_find() did. True: it is another one now. */
bool daemon_address_renew_token(struct daemon_address *p, const char *token_file);
bool daemon_address_is_local(const struct daemon_address *p); /* unix socket or loopback */
void daemon_address_fini(struct daemon_address *p);

#endif

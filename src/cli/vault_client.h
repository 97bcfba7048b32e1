/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_client.h - a connection to the vault of a daemon: the launcher's, or that of a command
 *
 * The vault accepts root and its own user, under a name built from the address at which the daemon
 * listens. It sends its status whenever that changes. Layer: cli.
 */
#ifndef HF_CLI_VAULT_CLIENT_H
#define HF_CLI_VAULT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "transport/listen.h"
#include "vault/vault.h"

/* The vault sleeps only in poll(2), so one that does not reply in this time is stopped or stuck. */
#define VAULT_REPLY_MS 5000
/* A worker has a second to leave, and started children another; see keeper/upgrade.c. */
#define VAULT_LEAVE_MS 30000

struct vault_client {
    int fd;                  /* -1: none */
    struct ledger *ledger;   /* NULL: it has another version */
    struct v_message status; /* the last one received */
    bool replied;            /* one of them was a reply to our request */
};

/* 0 after the first status has arrived, or -errno. -ECONNREFUSED: there is no vault. */
int vault_client_open(struct vault_client *c, const char *name);
void vault_client_close(struct vault_client *c);

int vault_client_send(const struct vault_client *c, enum v_type type); /* 0 or -errno */
/* Stores one descriptor; -1 is skipped. 0 or -errno. */
int vault_client_put(const struct vault_client *c, uint32_t key, int fd);
/* Reads all available messages; 0: no more for now, or -errno: the connection is closed. */
int vault_client_read(struct vault_client *c);
/* Waits for another status: 1; 0: not within timeout_ms (-1: no limit); -errno. */
int vault_client_wait(struct vault_client *c, int timeout_ms);
/* Has the daemon upgraded, refused to, or started a keeper since it sent this status? */
bool vault_client_has_changed(const struct vault_client *c, const struct v_message *before);
/* Waits for this phase and, if `before` is given, such a change: 1; 0: not in time; -errno. */
int vault_client_wait_phase(struct vault_client *c, enum v_phase phase,
                            const struct v_message *before, int timeout_ms);

size_t vault_client_running(const struct vault_client *c); /* processes */

/* The names of all vaults of this user, each with LISTEN_NAME_BYTES; returns how many there are. */
size_t vault_client_names(char (*out)[LISTEN_NAME_BYTES], size_t max);

#endif

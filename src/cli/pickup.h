/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickup.h - `holdfast serve` continues with the processes of an earlier daemon
 *
 * A vault keeps the processes after Ctrl-C and `holdfast stop --keep`, and the daemon keeps serving
 * when the process that the user started is killed. The next `holdfast serve` at the same address
 * passes its own sockets, credentials, arguments and binary to the vault, and is its launcher from
 * then on. Layer: cli.
 */
#ifndef HF_CLI_PICKUP_H
#define HF_CLI_PICKUP_H

#include "cli/vault_client.h"
#include "keeper/keeper.h"

struct pickup {
    struct vault_client vault; /* fd -1: there is none */
    struct ledger_row *before; /* copies of the rows of processes that were running; malloc'd */
    size_t before_count;
};

/* 0: found, or there is none; else an exit code after a message: a daemon serves already. */
int pickup_find(struct pickup *p, const char *name);
static inline bool pickup_is_found(const struct pickup *p)
{
    return p->vault.fd >= 0;
}
/* Waits until a daemon without a launcher has left, so that its addresses are free. 0 or an exit
 * code. */
int pickup_settle(struct pickup *p);
/* Starts a keeper with our own settings in that vault. 0 or an exit code. */
int pickup_start(struct pickup *p, const struct keeper_options *k);
/* Once it serves: reports how many processes were picked up, and names those that were not. */
void pickup_report(struct pickup *p);
void pickup_fini(struct pickup *p);

#endif

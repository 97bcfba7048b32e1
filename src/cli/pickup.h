/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickup.h - `holdfast serve` goes on with what an earlier one left
 *
 * A vault holds on after Ctrl-C and `holdfast stop --keep`, and serves on when the process that the
 * user started is killed. The next `holdfast serve` at the same address gives it its own sockets,
 * credentials, arguments and binary, and is its launcher from then on. Layer: cli.
 */
#ifndef HF_CLI_PICKUP_H
#define HF_CLI_PICKUP_H

#include "cli/vault_client.h"
#include "keeper/keeper.h"

struct pickup {
    struct vault_client vault; /* fd -1: nothing is there */
    struct ledger_row *before; /* copies of the rows of processes that ran; malloc'd */
    size_t before_count;
};

/* 0: found, or nothing is there; else an exit code after a message: somebody serves already. */
int pickup_find(struct pickup *p, const char *name);
static inline bool pickup_is_found(const struct pickup *p)
{
    return p->vault.fd >= 0;
}
/* Until what serves without a launcher has left, so that its addresses are free. 0 or an exit code. */
int pickup_settle(struct pickup *p);
/* Starts a keeper of our own making there. 0 or an exit code. */
int pickup_start(struct pickup *p, const struct keeper_options *k);
/* It serves: says what was picked up and names what was not. */
void pickup_report(struct pickup *p);
void pickup_fini(struct pickup *p);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deposit_own.h - what the files of the deposit share. Layer: keeper; only deposit*.c include it.
 */
#ifndef HF_KEEPER_DEPOSIT_OWN_H
#define HF_KEEPER_DEPOSIT_OWN_H

#include "keeper/deposit.h"
#include "vault/vault_proto.h"

#define DEPOSIT_CATCH_UP_MS 500 /* between two attempts to reach a vault that does not read */

/* False: not sent. A vault that does not read in time gets nothing more until it reads again. */
bool deposit_send(struct keeper *k, const struct v_message *m, const int *fds);
bool deposit_notify(struct keeper *k, uint32_t type, int32_t status);
void deposit_put(struct keeper *k, uint32_t key, int fd); /* fd -1: nothing */
void deposit_drop(struct keeper *k, uint32_t key, uint32_t count);
void deposit_vault_lost(struct keeper *k, int rc);

uint32_t deposit_row_key(const struct keeper *k, const struct ledger_row *r);
void deposit_free_row(struct keeper *k, struct ledger_row *r);
void deposit_index_done(struct deposit *d);

#endif

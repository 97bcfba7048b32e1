/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deposit.h - the keeper's side of the vault: rows in the ledger, descriptors in the store
 *
 * Every event of a process is written to its row before it is reported to anyone, and its
 * descriptors are deposited before its row says that it runs. The next keeper finds both. Without a
 * vault (unit tests; an older binary executed us) all of this does nothing. Layer: keeper.
 */
#ifndef HF_KEEPER_DEPOSIT_H
#define HF_KEEPER_DEPOSIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "keeper/channel.h"
#include "vault/vault.h"

struct keeper;
struct entry;
struct worker;

struct deposit {
    struct channel channel; /* to the vault; fd -1: none. deposit_send() does not use its queue. */
    struct vault_ends ends;
    struct ledger *ledger; /* NULL: no vault */
    const int32_t *index;  /* of inherited descriptors; NULL: none, or adopted already */
    pid_t vault_pid;
    bool replaced;  /* executed in place of another binary, and the vault does not have ours yet */
    bool well_sent; /* V_WELL has been sent */
    bool behind;    /* the vault did not read in time: it gets everything again when it does */
    bool catching_up;
    /* What it has missed and could not find out from what it gets then. */
    bool well_owed;
    bool refused_owed;
    pid_t reap_owed;
    uint64_t retry_at_ms;
};

/* Maps the ledger and, in a keeper that the vault started, the index; 0 or -errno. */
int deposit_attach(struct keeper *k, const struct vault_ends *ends);
void deposit_detach(struct keeper *k);
/* After the table is loaded: connects rows to entries and discards half-started processes of an
 * earlier keeper. */
void deposit_adopt(struct keeper *k);
/* The daemon's own descriptors and figures, for the next keeper. */
void deposit_daemon(struct keeper *k);
void deposit_take_siding(struct keeper *k); /* data that the last worker was copying, if any */
pid_t deposit_main_pid(const struct keeper *k);
bool deposit_is_end_ordered(const struct keeper *k);
void deposit_state(struct keeper *k);
void deposit_carry(struct keeper *k);

/* --- a process's life, in this order ------------------------------------------------------ */

int deposit_begin(struct keeper *k, struct entry *e, const char *id); /* 0 or -EAGAIN: full */
void deposit_streams(struct keeper *k, struct entry *e);
void deposit_started(struct keeper *k, struct entry *e); /* executed, and possibly exited since */
void deposit_exited(struct keeper *k, struct entry *e);
void deposit_closed(struct keeper *k, struct entry *e, uint32_t which); /* K_FD_* bits */
void deposit_forget(struct keeper *k, struct entry *e);
void deposit_deferred(struct keeper *k, struct entry *e); /* the deferred part */

/* --- the daemon's life --------------------------------------------------------------------- */

void deposit_worker_started(struct keeper *k); /* in the worker */
void deposit_worker_io(struct keeper *k);      /* dead, its I/O counted, about to be reaped */
void deposit_well(struct keeper *k);
int deposit_trial(struct keeper *k, bool on); /* around the exec of another binary; 0 or -errno */
void deposit_refused(struct keeper *k);       /* another binary was rejected */
void deposit_done(struct keeper *k, int code);
void deposit_keep(struct keeper *k);

bool deposit_is_complete(const struct keeper *k); /* the vault lives and has everything */
uint64_t deposit_deadline(const struct keeper *k);
void deposit_step(struct keeper *k, uint64_t now_ms);
void deposit_read(struct keeper *k); /* the channel is readable */

#endif

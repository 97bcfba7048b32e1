/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deposit_adopt.c - what a keeper makes of the ledger and the descriptors of the one before it.
 * Layer: keeper.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "keeper/deposit_own.h"
#include "keeper/keeper_own.h"
#include "keeper/procfs.h"

#define KILL_ROUNDS_MAX 16 /* a tree that forks faster than that is left to itself */

/* Kills the process and its descendants. False: none is left. */
static bool kill_tree(struct keeper *k, const struct entry *e)
{
    struct proc_list *l;
    bool any = false;

    census_end(k);
    if (tree_find(k, e, &l) < 0)
        return kill(-e->pub.pid, SIGKILL), false;
    for (size_t i = 0; i < l->count; i++) {
        if (tree_is_living_member(&l->procs[i]))
            any = kill(l->procs[i].pid, SIGKILL) == 0 || any;
    }
    return any;
}

/* It was never reported. Its pid belongs to a child of the vault until the keeper sends V_REAP. */
static void kill_half_started(struct keeper *k, struct ledger_row *r)
{
    struct entry e = {.pub = {.pid = r->pid, .tty_fd = -1}};

    if (r->pid <= 1 || procfs_parent(r->pid) != k->deposit.vault_pid)
        return;
    log_warn("killing process %d, which was only half started", r->pid);
    memcpy(e.pub.id, r->id, sizeof e.pub.id - 1);
    (void)kill(r->pid, SIGKILL); /* the process list may lack it, if /proc could not be read */
    for (int round = 0; round < KILL_ROUNDS_MAX && kill_tree(k, &e); round++)
        ;
    census_end(k);
}

/* Closes inherited copies; the vault has its own. Returns how many there were. */
static unsigned close_inherited(const int32_t *index, uint32_t key, uint32_t count)
{
    unsigned closed = 0;

    for (uint32_t i = key; i < key + count; i++) {
        if (index[i] > 0)
            closed += close(index[i] - 1) == 0;
    }
    return closed;
}

/* We inherited everything that the vault held. What no entry owns is closed here and dropped in
 * the vault: the previous keeper may have died before it dropped the rest. */
static void close_unused(struct keeper *k)
{
    const int32_t *index = k->deposit.index;

    (void)close_inherited(index, V_KEY_CARRY, V_KEY_LISTENER - V_KEY_CARRY);
    for (uint32_t i = 0; i < k->deposit.ledger->rows_used && i < LEDGER_ROWS; i++) {
        struct ledger_row *r = &k->deposit.ledger->rows[i];

        if (row_state(r) != ROW_FREE && table_find(&k->table, r->entry) != NULL)
            continue;
        if (close_inherited(index, i * V_ROW_KEYS, V_ROW_KEYS) > 0 && row_state(r) == ROW_FREE)
            deposit_drop(k, i * V_ROW_KEYS, V_ROW_KEYS);
    }
}

/* It dies with its keeper. No other worker may start until it is dead. */
static void adopt_worker(struct keeper *k)
{
    pid_t pid = atomic_load(&k->deposit.ledger->worker_pid);

    if (pid <= 1)
        return;
    k->worker.pid = pid;
    k->worker.inherited = true;
    (void)kill(pid, SIGKILL);
}

void deposit_adopt(struct keeper *k)
{
    struct ledger *l = k->deposit.ledger;

    if (k->deposit.index != NULL) {
        close_unused(k);
        deposit_index_done(&k->deposit);
        adopt_worker(k);
    }
    for (uint32_t i = 0; l != NULL && i < l->rows_used && i < LEDGER_ROWS; i++) {
        struct ledger_row *r = &l->rows[i];
        struct entry *e = row_state(r) == ROW_FREE ? NULL : table_find(&k->table, r->entry);

        if (e != NULL)
            e->row = r;
        if (row_state(r) == ROW_STARTING && !k->deposit.replaced)
            kill_half_started(k, r);
        if (e == NULL && row_state(r) != ROW_FREE)
            deposit_free_row(k, r);
    }
}

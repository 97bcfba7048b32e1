/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger.h - the state that the next keeper needs when this one dies, in shared memory
 *
 * The keeper writes it as events happen; the next keeper, the launcher and `holdfast stop` read it.
 * Each process has a row. The state of a row is stored last, after all data that it vouches for, so
 * a keeper that dies at any instruction leaves every row consistent. Layer: vault.
 */
#ifndef HF_VAULT_LEDGER_H
#define HF_VAULT_LEDGER_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/usage.h"

#define LEDGER_MAGIC 0x6c766668u
#define LEDGER_VERSION 1 /* of the layout; a binary with another one cannot take over */
#define LEDGER_ROWS 65536
#define LEDGER_ID_BYTES 32

enum ledger_state {
    ROW_FREE,
    ROW_STARTING, /* cloned, maybe executed; not yet reported to any client */
    ROW_RUNNING,
    ROW_EXITED, /* and not forgotten yet */
};

/* What the next keeper does first. */
enum ledger_order {
    ORDER_SERVE,
    ORDER_END, /* terminate every process, then the daemon */
};

struct ledger_row {
    _Atomic uint32_t state; /* enum ledger_state */
    uint32_t entry;         /* the keeper's number for it */
    int32_t pid;            /* stored by clone(2) itself; 0: not cloned yet */
    int32_t parent;         /* pid of the keeper that cloned it */
    char id[LEDGER_ID_BYTES];
    uint32_t cgroup; /* number of its cgroup; 0: none */
    /* When exited: */
    int32_t status;
    uint32_t oom;
    int64_t exited_wall_ms;
    uint64_t usage[USAGE_WORDS]; /* see usage_pack() */
};

struct ledger {
    uint32_t magic, version;
    _Atomic int32_t vault_pid, keeper_pid;
    _Atomic int32_t main_pid;   /* what the user started: the launcher, or the vault itself */
    _Atomic int32_t worker_pid; /* 0: none, or reaped */
    _Atomic uint32_t order;     /* enum ledger_order; written by the vault */
    _Atomic int32_t ended;      /* the daemon's exit code plus one; 0: it has not ended */
    uint32_t last_number, generation;
    uint32_t rows_used;  /* rows from this one on have never been used */
    uint32_t first_free; /* no row before this one is free; a new keeper begins with 0 */
    _Atomic uint32_t io_known;
    uint64_t io_read, io_written; /* of the last worker that was reaped */
    uint32_t dumpable;            /* the limits and flags that the daemon was started with */
    uint32_t cgroup_last;
    uint64_t nofile_cur, nofile_max;
    char cgroup_path[PATH_MAX]; /* "": none */
    char exe_path[PATH_MAX];    /* what an upgrade executes */
    struct ledger_row rows[LEDGER_ROWS];
};

int ledger_create(void);             /* a memory file of the right size, or -errno */
struct ledger *ledger_map(int fd);   /* NULL: not a ledger of this version */
void ledger_unmap(struct ledger *l); /* NULL is fine */

/* A free row, without a pid; the caller owns it once it sets its state. NULL: none is free. */
struct ledger_row *ledger_find_free(struct ledger *l);
void ledger_free(struct ledger *l, struct ledger_row *r);
size_t ledger_count(const struct ledger *l, enum ledger_state state);
static inline uint32_t ledger_index(const struct ledger *l, const struct ledger_row *r)
{
    return (uint32_t)(r - l->rows);
}

static inline enum ledger_state row_state(const struct ledger_row *r)
{
    return (enum ledger_state)atomic_load_explicit(&r->state, memory_order_acquire);
}
static inline void row_set_state(struct ledger_row *r, enum ledger_state state)
{
    atomic_store_explicit(&r->state, (uint32_t)state, memory_order_release);
}

#endif

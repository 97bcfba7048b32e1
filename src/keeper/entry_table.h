/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry_table.h - the processes that the keeper knows, by number and by pid
 *
 * An entry is created when its child has been started, and lives until the worker forgets it.
 * Numbers are never reused. A pid is found only until the child is reaped, because then the kernel
 * may assign it to another process.
 *
 * Owns the entries and, through them, the descriptors. Layer: keeper.
 */
#ifndef HF_KEEPER_ENTRY_TABLE_H
#define HF_KEEPER_ENTRY_TABLE_H

#include <stdint.h>

#include "base/list.h"
#include "keeper/keeper.h"
#include "keeper/keeper_proto.h"

struct cgroup_slot;
struct ledger_row;
struct spawn;

struct entry {
    struct keeper_entry pub;   /* visible to the worker */
    struct list in_all;        /* in the order of their numbers */
    struct entry *next_number; /* in the same bucket */
    struct entry *next_pid;
    struct spawn *spawn;      /* not NULL: execve has not happened yet */
    struct cgroup_slot *slot; /* NULL: none, or released because it was empty */
    struct ledger_row *row;   /* NULL: there is no vault */
    uint32_t undropped;       /* K_FD_* that the vault still holds of an exited process */
    bool flooding, lowered;   /* its weight should be lowered, and is; flood_weight.c */
    struct list deferred;     /* in keeper.deferred, or alone; deferred.c */
};

struct table {
    struct list all;
    struct entry **by_number, **by_pid; /* bucket_count each, a power of two */
    size_t bucket_count;
    size_t count;
    uint32_t last_number;
};

void table_init(struct table *t);
void table_fini(struct table *t); /* drops every entry */

/* The new entry has a number, no pid and no descriptors. NULL: full, or no memory. */
struct entry *table_add(struct table *t);
/* For an entry of an older keeper: keeps its number. */
struct entry *table_add_numbered(struct table *t, uint32_t number);
void table_set_pid(struct table *t, struct entry *e, pid_t pid);
void table_clear_pid(struct table *t, struct entry *e); /* reaped: pub.pid stays, for information */
void table_remove(struct table *t, struct entry *e);    /* closes and frees */

struct entry *table_find(const struct table *t, uint32_t number);
struct entry *table_find_pid(const struct table *t, pid_t pid);

/* `which` are K_FD_* bits; closes what they name. */
void entry_close(struct entry *e, uint32_t which);
/* Moves all its descriptors out of the way of future children; see high_fds.h. */
void entry_move_high(struct entry *e);
/* Descriptors of the entry in the order of K_SPAWNED; returns their K_FD_* bits. */
uint32_t entry_fds(const struct entry *e, int fds[K_FDS], size_t *count);

/* All entries, in the order of creation; NULL: no more. */
struct entry *table_first(const struct table *t);
struct entry *table_next(const struct table *t, const struct entry *e);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_census.h - one reading of /proc for all requests of the same turn
 *
 * A reading costs some microseconds for every process of the machine, and a client that terminates
 * a thousand processes sends a thousand requests. The list from the beginning of the turn is as
 * good as a new one: a tree that was empty then is empty now, since only a member can create
 * another, and members that have died since are checked again anyway. Nor can a process be too
 * young to be listed: the worker learns of a process in a later turn than the one that started it.
 * Layer: keeper.
 */
#ifndef HF_KEEPER_PROC_CENSUS_H
#define HF_KEEPER_PROC_CENSUS_H

#include <stdbool.h>

#include "keeper/procfs.h"

struct keeper;

struct census {
    struct proc_list list;
    bool taken;
};

/* The list with all marks at 0; the census owns it. 0 or -errno. */
int census_get(struct keeper *k, struct proc_list **out);
/* Discards the list, so that the next reading shows what has changed. */
void census_end(struct keeper *k);

#endif

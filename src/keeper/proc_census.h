/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_census.h - one reading of /proc for all who ask in the same turn
 *
 * A reading costs some microseconds for every process of the machine, and whoever ends a
 * thousand processes asks a thousand times. What was read when the turn began is as good: a tree
 * that nobody was in then has nobody in it now, since only a member can make another, and
 * who was in it and is dead by now is asked about again anyway. Nor is anybody too young to be
 * seen: the worker hears of a process in a later turn than the one that started it. Layer: keeper.
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

/* The list with all marks at 0; it stays the census'. 0 or -errno. */
int census_look(struct keeper *k, struct proc_list **out);
/* What comes after this is to see what has changed. */
void census_end(struct keeper *k);

#endif

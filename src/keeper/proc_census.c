/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_census.c - one reading of /proc for all requests of the same turn. Layer: keeper.
 */
#include "keeper/proc_census.h"

#include "keeper/keeper_own.h"

int census_get(struct keeper *k, struct proc_list **out)
{
    struct census *c = &k->census;
    int rc;

    if (!c->taken) {
        rc = procfs_list_read(&c->list);
        if (rc < 0) {
            procfs_list_fini(&c->list);
            return rc;
        }
        c->taken = true;
    }
    for (size_t i = 0; i < c->list.count; i++)
        c->list.procs[i].mark = 0;
    *out = &c->list;
    return 0;
}

void census_end(struct keeper *k)
{
    procfs_list_fini(&k->census.list);
    k->census.taken = false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pending.c - the list of pending requests of a dialect. Layer: dialects.
 */
#include "dialects/common/pending.h"

#include <assert.h>

void pending_drain(struct list *all)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, all) {
        struct pending *p = list_entry(it, struct pending, link);

        if (p->kind->drain != NULL)
            p->kind->drain(p);
    }
}

void pending_free(struct list *all)
{
    while (!list_is_empty(all)) {
        struct pending *p = list_entry(all->next, struct pending, link);

        p->kind->free(p);
        assert(all->next != &p->link);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pending.h - requests and streams that outlive the turn in which they arrived
 *
 * Each dialect lists its own, so that it can reply to them when the daemon drains, and free them
 * with the dialect. Embedded in the struct of the request. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_PENDING_H
#define HF_DIALECTS_COMMON_PENDING_H

#include "base/list.h"

struct pending;

struct pending_kind {
    /* The daemon is draining: reply or end, then free. NULL: it ends by itself soon. */
    void (*drain)(struct pending *p);
    /* The dialect is being freed; there will be no more callbacks. */
    void (*free)(struct pending *p);
};

struct pending {
    struct list link;
    const struct pending_kind *kind;
};

static inline void pending_init(struct pending *p, struct list *all,
                                const struct pending_kind *kind)
{
    p->kind = kind;
    list_append(all, &p->link);
}

static inline void pending_fini(struct pending *p)
{
    list_remove(&p->link);
}

void pending_drain(struct list *all);
void pending_free(struct list *all); /* frees all */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pending.h - requests and streams that outlive the turn they came in
 *
 * Each dialect lists its own, so that they can be answered when the daemon
 * goes and freed with the dialect. Embedded in whatever is under way. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_PENDING_H
#define HF_DIALECTS_COMMON_PENDING_H

#include "base/list.h"

struct pending;

struct pending_kind {
    /* The daemon goes: answer or end, then free. NULL: it ends by itself soon. */
    void (*drain)(struct pending *p);
    /* The dialect is freed and nobody will call back any more. */
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
void pending_free(struct list *all); /* leaves none */

#endif

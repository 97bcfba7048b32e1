/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_auto_remove.c - --rm: removes a container when its process has ended. Layer: dialects.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "dialects/docker/docker_entry.h"
#include "dialects/docker/docker_launch.h"

struct docker_auto_remove_removal {
    struct pending pending;
    struct exit_waiter waiter;
};

static void removal_free(struct pending *p)
{
    struct docker_auto_remove_removal *r =
        list_entry(p, struct docker_auto_remove_removal, pending);

    exit_waiter_cancel(&r->waiter);
    pending_fini(p);
    free(r);
}

static const struct pending_kind removal_kind = {.drain = NULL, .free = removal_free};

static void removal_on_exit(void *arg, struct process *p)
{
    struct docker_auto_remove_removal *r = arg;

    removal_free(&r->pending);
    process_forget(p);
}

void auto_remove(struct docker *dk, struct process *p)
{
    struct docker_auto_remove_removal *r = hf_xalloc(sizeof *r);

    list_init(&r->waiter.link);
    r->waiter.fn = removal_on_exit;
    r->waiter.arg = r;
    pending_init(&r->pending, &dk->base.pending, &removal_kind);
    process_wait_exit(p, &r->waiter);
}

void auto_remove_all(struct docker *dk)
{
    struct process *p = NULL;

    while ((p = engine_next(dk->base.engine, p)) != NULL) {
        struct docker_entry b;

        docker_entry_of_process(p, &b);
        if (docker_flag(b.config, "remove"))
            auto_remove(dk, p);
        docker_entry_fini(&b);
    }
}

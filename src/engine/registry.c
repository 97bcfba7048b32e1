/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.c - the table of processes. Layer: engine.
 *
 * It is a chained hash by id for lookups, and a list, newest first, for everything else. Tags and
 * pids are searched in the list: it is short, and such searches are rare.
 */
#include <stdlib.h>
#include <string.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/process_own.h"

static struct process **bucket(struct engine *e, const char *id)
{
    return &e->by_id[crypto_hash(id, strlen(id)) % e->by_id_size];
}

static uint64_t *registry_use(struct engine *e, const struct process *p)
{
    return p->rec.head->on_disk ? &e->disk_bytes : &e->ring_bytes;
}

void registry_add(struct engine *e, struct process *p)
{
    struct process **b = bucket(e, p->rec.head->id);

    p->hash_next = *b;
    *b = p;
    list_prepend(&e->processes, &p->link);
    p->in_table = true;
    *registry_use(e, p) += p->rec.head->ring_bytes;
    process_ref(p);
}

void registry_remove(struct engine *e, struct process *p)
{
    struct process **b;

    if (!p->in_table)
        return;
    for (b = bucket(e, p->rec.head->id); *b != p; b = &(*b)->hash_next)
        ;
    *b = p->hash_next;
    list_remove(&p->link);
    p->in_table = false;
    *registry_use(e, p) -= p->rec.head->ring_bytes;
    process_unref(p);
}

struct process *registry_find(struct engine *e, const char *id)
{
    struct process *p;

    for (p = *bucket(e, id); p != NULL; p = p->hash_next)
        if (strcmp(p->rec.head->id, id) == 0)
            return p;
    return NULL;
}

struct process *registry_find_tag(struct engine *e, const char *tag, bool living_only)
{
    struct list *it, *tmp;
    struct process *latest = NULL;

    list_for_each (it, tmp, &e->processes) {
        struct process *p = list_entry(it, struct process, link);
        if (p->meta.tag == NULL || strcmp(p->meta.tag, tag) != 0)
            continue;
        if (!living_only && p->entry == 0)
            continue; /* still starting: until it runs, the tag means the previous one */
        if (process_is_running(p))
            return p;
        if (latest == NULL)
            latest = p;
    }
    return living_only ? NULL : latest;
}

static struct process *find_pid(struct engine *e, const char *text)
{
    struct list *it, *tmp;
    uint64_t pid;

    if (!text_to_u64(text, INT32_MAX, &pid))
        return NULL;
    list_for_each (it, tmp, &e->processes) {
        struct process *p = list_entry(it, struct process, link);
        if ((uint64_t)p->pid == pid)
            return p;
    }
    return NULL;
}

static struct process *find_any(struct engine *e, const char *ref)
{
    if (strncmp(ref, "tag:", 4) == 0)
        return registry_find_tag(e, ref + 4, false);
    if (strncmp(ref, "pid:", 4) == 0)
        return find_pid(e, ref + 4);
    return registry_find(e, ref);
}

/* A hidden helper gets the same error text as a process that does not exist. */
static struct process *find(struct engine *e, const char *ref, bool helpers, struct hf_error *err)
{
    struct process *p = find_any(e, ref);

    if (p != NULL && p->entry != 0 && (helpers || !p->meta.helper))
        return p;
    hf_fail(err, HF_E_no_such_process,
            "no process '%.64s'; GET /v1/processes lists the known processes", ref);
    return NULL;
}

struct process *engine_find(struct engine *e, const char *ref, struct hf_error *err)
{
    return find(e, ref, false, err);
}

struct process *engine_find_all(struct engine *e, const char *ref, struct hf_error *err)
{
    return find(e, ref, true, err);
}

struct process *engine_find_idempotent(struct engine *e, const char *key)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &e->processes) {
        struct process *p = list_entry(it, struct process, link);
        if (p->meta.idempotency_key != NULL && strcmp(p->meta.idempotency_key, key) == 0)
            return p;
    }
    return NULL;
}

static struct process *next(struct engine *e, const struct process *after, bool helpers)
{
    const struct list *l = after == NULL ? e->processes.next : after->link.next;

    while (l != &e->processes) {
        struct process *p = list_entry(l, struct process, link);
        if (p->entry != 0 && (helpers || !p->meta.helper))
            return p;
        l = l->next;
    }
    return NULL;
}

struct process *engine_next(struct engine *e, const struct process *after)
{
    return next(e, after, false);
}

struct process *engine_next_all(struct engine *e, const struct process *after)
{
    return next(e, after, true);
}

struct process *engine_next_oldest(struct engine *e, const struct process *after)
{
    const struct list *l = after == NULL ? e->processes.prev : after->link.prev;

    for (; l != &e->processes; l = l->prev) {
        struct process *p = list_entry(l, struct process, link);

        if (p->entry != 0 && !p->meta.helper)
            return p;
    }
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_pods.c - two hash tables over the same pods: by uid and by sandbox id
 *
 * Layer: gateway.
 */
#include "gateway/kube_pods.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "gateway/route_target.h"

#define SLOTS 4096 /* a power of two */
#define CREATED_BYTES 40

struct known_pod {
    struct known_pod *next_by_uid, *next_by_id;
    struct endpoint *endpoint;
    bool ready;
    char created[CREATED_BYTES];
    char id[PLACE_ID_BYTES + 1];
    char uid[KUBE_UID_MAX_BYTES + 1];
};

struct kube_pods {
    struct known_pod *by_uid[SLOTS], *by_id[SLOTS];
    size_t count;
};

struct kube_pods *kube_pods_new(void)
{
    return hf_xalloc(sizeof(struct kube_pods));
}

static size_t slot_of(const char *text)
{
    return crypto_hash(text, strlen(text)) & (SLOTS - 1);
}

static void pod_free(struct known_pod *p)
{
    endpoint_unref(p->endpoint);
    free(p);
}

static void clear(struct kube_pods *t)
{
    for (size_t i = 0; i < SLOTS; i++) {
        while (t->by_uid[i] != NULL) {
            struct known_pod *p = t->by_uid[i];

            t->by_uid[i] = p->next_by_uid;
            pod_free(p);
        }
    }
    *t = (struct kube_pods){0};
}

void kube_pods_free(struct kube_pods *t)
{
    if (t == NULL)
        return;
    clear(t);
    free(t);
}

/* The link that points at the pod, or at the end of its chain. */
static struct known_pod **uid_link(struct kube_pods *t, const char *uid)
{
    struct known_pod **at = &t->by_uid[slot_of(uid)];

    while (*at != NULL && strcmp((*at)->uid, uid) != 0)
        at = &(*at)->next_by_uid;
    return at;
}

static void unlink_id(struct kube_pods *t, struct known_pod *p)
{
    struct known_pod **at = &t->by_id[slot_of(p->id)];

    while (*at != p)
        at = &(*at)->next_by_id;
    *at = p->next_by_id;
}

void kube_pods_remove(struct kube_pods *t, const char *uid)
{
    struct known_pod **at = uid_link(t, uid), *p = *at;

    if (p == NULL)
        return;
    *at = p->next_by_uid;
    unlink_id(t, p);
    pod_free(p);
    t->count--;
}

static void add(struct kube_pods *t, struct known_pod *p)
{
    struct known_pod **at = &t->by_id[slot_of(p->id)];

    p->next_by_id = *at;
    *at = p;
    at = &t->by_uid[slot_of(p->uid)];
    p->next_by_uid = *at;
    *at = p;
    t->count++;
}

bool kube_pods_put(struct kube_pods *t, const struct kube_pod *pod, struct endpoint *e_taken)
{
    struct known_pod *p;

    kube_pods_remove(t, pod->uid);
    if (t->count >= KUBE_PODS_MAX || strlen(pod->uid) > KUBE_UID_MAX_BYTES) {
        endpoint_unref(e_taken);
        return false;
    }
    p = hf_xalloc(sizeof *p);
    p->endpoint = e_taken;
    p->ready = pod->ready;
    snprintf(p->created, sizeof p->created, "%s", pod->created);
    snprintf(p->id, sizeof p->id, "%s", pod->id);
    snprintf(p->uid, sizeof p->uid, "%s", pod->uid);
    add(t, p);
    return true;
}

/* The order is total, so that the serving pod does not depend on the order of events. */
static bool is_better(const struct known_pod *p, const struct known_pod *than)
{
    int later = strcmp(p->created, than->created);

    if (p->ready != than->ready)
        return p->ready;
    return later != 0 ? later > 0 : strcmp(p->uid, than->uid) > 0;
}

struct endpoint *kube_pods_get(const struct kube_pods *t, const char *id)
{
    const struct known_pod *p, *best = NULL;

    for (p = t->by_id[slot_of(id)]; p != NULL; p = p->next_by_id) {
        if (strcmp(p->id, id) == 0 && (best == NULL || is_better(p, best)))
            best = p;
    }
    return best != NULL ? best->endpoint : NULL;
}

size_t kube_pods_count(const struct kube_pods *t)
{
    return t->count;
}

void kube_pods_swap(struct kube_pods *t, struct kube_pods *from)
{
    clear(t);
    *t = *from;
    *from = (struct kube_pods){0};
}

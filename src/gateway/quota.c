/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quota.c - how much one sandbox, or one peer, may use
 *
 * Layer: gateway.
 */
#include "gateway/quota.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/crypto.h"

#define QUOTA_PROBES 16
#define QUOTA_FORGET_MS 5000 /* a bucket is full again by then */

static void quota_lock(struct gateway_shared *s)
{
    /* After a crash the counts of one request may be off until the worker is reaped. */
    if (pthread_mutex_lock(&s->lock) == EOWNERDEAD)
        pthread_mutex_consistent(&s->lock);
}

static uint32_t slot_held(const struct quota_slot *q)
{
    uint32_t sum = 0;

    for (int i = 0; i < SHARED_SEATS; i++)
        sum += q->held[i];
    return sum;
}

static bool slot_is_free(const struct quota_slot *q, uint64_t now_ms)
{
    return q->key == 0 || (q->at_ms + QUOTA_FORGET_MS < now_ms && slot_held(q) == 0);
}

/* NULL: every slot near this hash is in use. */
static struct quota_slot *slot_find(struct gateway_shared *s, uint64_t key, uint32_t rate,
                                    uint64_t now_ms)
{
    struct quota_slot *room = NULL, *idle = NULL;

    for (uint64_t i = 0; i < QUOTA_PROBES; i++) {
        struct quota_slot *q = &s->quota[(key + i) & (QUOTA_SLOTS - 1)];

        if (q->key == key)
            return q;
        if (room == NULL && slot_is_free(q, now_ms))
            room = q;
        if ((idle == NULL || q->at_ms < idle->at_ms) && slot_held(q) == 0)
            idle = q;
    }
    if (room == NULL)
        room = idle;
    if (room != NULL)
        *room = (struct quota_slot){.key = key, .milli = rate * 1000, .at_ms = now_ms};
    return room;
}

/* A bucket that holds one second's worth and refills with time. */
static bool bucket_take(struct quota_slot *q, uint32_t rate, uint64_t now_ms)
{
    uint64_t milli = q->milli + (now_ms - q->at_ms) * rate;

    if (milli > rate * 1000ULL)
        milli = rate * 1000ULL;
    q->at_ms = now_ms;
    q->milli = (uint32_t)milli;
    if (rate == 0)
        return true;
    if (milli < 1000)
        return false;
    q->milli -= 1000;
    return true;
}

bool quota_take(struct gateway_shared *s, size_t seat, char kind, const char *name,
                const struct quota_limits *limits, uint64_t now_ms, uint32_t *slot)
{
    struct quota_slot *q;
    char text[128];
    bool ok = false;
    uint64_t key;

    *slot = 0;
    if (limits->connections == 0 && limits->rate == 0)
        return true;
    snprintf(text, sizeof text, "%016llx%c%.100s", (unsigned long long)s->seed, kind, name);
    key = crypto_hash(text, strlen(text)) | 1;
    quota_lock(s);
    q = slot_find(s, key, limits->rate, now_ms);
    if (q != NULL) {
        ok = limits->connections == 0 || slot_held(q) < limits->connections;
        ok = ok && q->held[seat] < UINT16_MAX && bucket_take(q, limits->rate, now_ms);
        if (ok) {
            q->held[seat]++;
            *slot = (uint32_t)(q - s->quota) + 1;
        }
    }
    pthread_mutex_unlock(&s->lock);
    return ok;
}

void quota_give(struct gateway_shared *s, size_t seat, uint32_t *slot)
{
    if (*slot == 0)
        return;
    quota_lock(s);
    s->quota[*slot - 1].held[seat]--;
    pthread_mutex_unlock(&s->lock);
    *slot = 0;
}

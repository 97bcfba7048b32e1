/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claim.c - output reserved for clients that were cut off and may come back. Layer: engine.
 */
#include "engine/stream/claim.h"

#include <stddef.h>

static bool is_open(const struct claim *c, uint64_t now)
{
    return c->clients > 0 && c->until_ms > now;
}

/* A slot that is free or expired, else the one that would expire first. */
static struct claim *slot_for_one(struct claim *c, uint64_t now)
{
    struct claim *best = c;

    for (size_t i = 0; i < LIMIT_CLAIMS; i++) {
        if (!is_open(&c[i], now))
            return &c[i];
        if (c[i].until_ms < best->until_ms)
            best = &c[i];
    }
    return best;
}

/* The store that activates the claim comes last: a worker may be killed at any of them. */
void claims_add(struct claim *c, const struct claim *one, uint64_t now)
{
    struct claim *s = slot_for_one(c, now);
    volatile uint32_t *clients = &s->clients;

    *clients = 0;
    s->at = one->at;
    s->until_ms = one->until_ms;
    s->any = one->any;
    *clients = one->clients;
}

/*
 * Of several claims, settles the best match: the last one that does not start after the offset. A
 * client that resumes before all claimed offsets had received less than we assumed; then it is the
 * lowest one.
 */
bool claims_take(struct claim *c, uint64_t offset, uint64_t now)
{
    struct claim *best = NULL;

    for (size_t i = 0; i < LIMIT_CLAIMS; i++) {
        bool fits = c[i].at <= offset;

        if (!is_open(&c[i], now))
            continue;
        if (best == NULL || (fits ? best->at > offset || c[i].at > best->at : c[i].at < best->at))
            best = &c[i];
    }
    if (best != NULL)
        best->clients--;
    return best != NULL;
}

void claims_take_any(struct claim *c)
{
    for (size_t i = 0; i < LIMIT_CLAIMS; i++)
        if (c[i].any)
            c[i].clients = 0;
}

uint64_t claims_hold(const struct claim *c, uint64_t first, uint64_t hold, uint64_t now)
{
    for (size_t i = 0; i < LIMIT_CLAIMS; i++)
        if (is_open(&c[i], now) && c[i].at >= first && c[i].at < hold)
            hold = c[i].at;
    return hold;
}

uint64_t claims_next_end(const struct claim *c, uint64_t now)
{
    uint64_t end = 0;

    for (size_t i = 0; i < LIMIT_CLAIMS; i++)
        if (is_open(&c[i], now) && (end == 0 || c[i].until_ms < end))
            end = c[i].until_ms;
    return end;
}

void claims_renew(struct claim *c, uint64_t next, uint64_t now, uint64_t ms)
{
    for (size_t i = 0; i < LIMIT_CLAIMS; i++) {
        if (!is_open(&c[i], now) || c[i].at > next)
            c[i].clients = 0;
        c[i].until_ms = now + ms;
    }
}

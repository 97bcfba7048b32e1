/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flood.c - detects a process that writes as fast as it can. Layer: engine.
 */
#include "engine/stream/flood.h"

#include "engine/engine_own.h"

static void flood_report(struct process *p, bool on)
{
    struct k_flood m = {.type = K_FLOOD, .entry = p->entry, .on = on};

    (void)keeper_channel_send(p->engine->channel, &m, sizeof m, NULL, 0, NULL, 0, NULL, NULL);
}

static void flood_on_timer(struct timer *t, void *arg)
{
    struct process *p = arg;
    bool lasts = p->flood_bytes >= FLOOD_KEEP_BYTES;

    p->flood_bytes = 0;
    if (p->reaped)
        return;
    if (lasts)
        timer_start(t, FLOOD_CHECK_MS);
    else
        flood_report(p, false);
}

void flood_add(struct process *p, size_t n)
{
    bool reported = p->flood != NULL && timer_is_active(p->flood);
    uint64_t now = loop_now_ms(p->engine->loop);

    if (!reported && now - p->flood_since_ms > FLOOD_MS) {
        p->flood_since_ms = now;
        p->flood_bytes = 0;
    }
    p->flood_bytes += n;
    if (reported || p->reaped || p->flood_bytes < FLOOD_BYTES)
        return;
    if (p->flood == NULL)
        p->flood = timer_new(p->engine->loop, flood_on_timer, p);
    p->flood_bytes = 0;
    timer_start(p->flood, FLOOD_CHECK_MS);
    flood_report(p, true);
}

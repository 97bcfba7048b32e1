/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/stream/flood.h"

#include "engine/engine_own.h"

static void flood_tell(struct process *p, bool on)
{
    struct k_flood m = {.type = K_FLOOD, .entry = p->entry, .on = on};

    (void)keeper_channel_send(p->engine->line, &m, sizeof m, NULL, 0, NULL, 0, NULL, NULL);
}

static void flood_on_timer(struct timer *t, void *arg)
{
    struct process *p = arg;
    bool goes_on = p->flood_bytes >= FLOOD_KEEP_BYTES;

    p->flood_bytes = 0;
    if (p->reaped)
        return;
    if (goes_on)
        timer_start(t, FLOOD_LOOK_MS);
    else
        flood_tell(p, false);
}

void flood_took(struct process *p, size_t n)
{
    bool told = p->flood != NULL && timer_is_active(p->flood);
    uint64_t now = loop_now_ms(p->engine->loop);

    if (!told && now - p->flood_since_ms > FLOOD_MS) {
        p->flood_since_ms = now;
        p->flood_bytes = 0;
    }
    p->flood_bytes += n;
    if (told || p->reaped || p->flood_bytes < FLOOD_BYTES)
        return;
    if (p->flood == NULL)
        p->flood = timer_new(p->engine->loop, flood_on_timer, p);
    p->flood_bytes = 0;
    timer_start(p->flood, FLOOD_LOOK_MS);
    flood_tell(p, true);
}

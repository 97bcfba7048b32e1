/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flood.c - detects a process that writes as fast as it can. Layer: engine.
 */
#include "engine/stream/flood.h"

#include "engine/process_own.h"
#include "engine/spawn/keeper_channel.h"

static void flood_report(struct process *p, bool on)
{
    struct k_flood m = {.type = K_FLOOD, .entry = p->entry, .on = on};

    (void)keeper_channel_send(p->engine->channel, &m, sizeof m, NULL, 0, NULL, 0, NULL, NULL);
}

static void flood_on_timer(struct timer *t, void *arg)
{
    struct process *p = arg;
    bool lasts = p->flood.bytes >= FLOOD_KEEP_BYTES;

    p->flood.bytes = 0;
    if (exit_is_reaped(p))
        return;
    if (lasts)
        timer_start(t, FLOOD_CHECK_MS);
    else
        flood_report(p, false);
}

void flood_add(struct process *p, size_t n)
{
    bool reported = p->flood.timer != NULL && timer_is_active(p->flood.timer);
    uint64_t now = loop_now_ms(p->engine->loop);

    if (!reported && now - p->flood.since_ms > FLOOD_MS) {
        p->flood.since_ms = now;
        p->flood.bytes = 0;
    }
    p->flood.bytes += n;
    if (reported || exit_is_reaped(p) || p->flood.bytes < FLOOD_BYTES)
        return;
    if (p->flood.timer == NULL)
        p->flood.timer = timer_new(p->engine->loop, flood_on_timer, p);
    p->flood.bytes = 0;
    timer_start(p->flood.timer, FLOOD_CHECK_MS);
    flood_report(p, true);
}

void flood_fini(struct process *p)
{
    timer_close(p->flood.timer);
}

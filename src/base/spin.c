/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spin.c - decides whether to poll before going to sleep. Layer: base.
 */
#include "base/spin.h"

#include <sched.h>
#include <string.h>

#define SPIN_NS 50000         /* one poll: shorter than a sleep and wake-up of both sides */
#define SPIN_BURST_BYTES 1024 /* less than this is typing or a prompt */
#define SPIN_STREAK 4         /* consecutive bursts that make a flood */
#define SPIN_VERDICT 32       /* polls between two verdicts */
#define SPIN_PAUSE_MIN_NS 4000000u
#define SPIN_PAUSE_MAX_NS 250000000u

void spin_init(struct spin *s)
{
    cpu_set_t cpus;

    memset(s, 0, sizeof *s);
    s->pause_ns = SPIN_PAUSE_MIN_NS;
    CPU_ZERO(&cpus);
    s->allowed = sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) > 1;
}

void spin_burst(struct spin *s, const void *source, size_t n)
{
    if (source != s->source || n < SPIN_BURST_BYTES) {
        s->source = source;
        s->streak = 0;
    } else if (s->streak < SPIN_STREAK) {
        s->streak++;
    }
}

bool spin_in_flood(const struct spin *s, const void *source)
{
    return source == s->source && s->streak >= SPIN_STREAK;
}

uint64_t spin_budget_ns(struct spin *s, const void *source, uint64_t now_ns)
{
    if (!s->allowed || !spin_in_flood(s, source) || now_ns < s->off_until_ns)
        return 0;
    return SPIN_NS;
}

bool spin_is_worth(const struct spin *s, uint64_t now_ns)
{
    return s->allowed && now_ns >= s->off_until_ns;
}

void spin_result(struct spin *s, bool found, uint64_t now_ns)
{
    s->tries++;
    s->hits += found;
    if (s->tries < SPIN_VERDICT)
        return;
    /* Polls mostly fail: the writer is slow, or others want its CPU or ours. */
    if (s->hits * 2 < s->tries) {
        s->off_until_ns = now_ns + s->pause_ns;
        s->pause_ns = s->pause_ns * 2 > SPIN_PAUSE_MAX_NS ? SPIN_PAUSE_MAX_NS : s->pause_ns * 2;
    } else {
        s->pause_ns = SPIN_PAUSE_MIN_NS;
    }
    s->tries = s->hits = 0;
}

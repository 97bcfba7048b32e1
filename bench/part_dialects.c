/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part_dialects.c - what the protocols of other platforms cost whoever does not use them
 *
 * Two daemons beside each other, one with --no-dialects. A native call is asked of
 * both in turns. Asking and answering share one CPU: else the time of a call is that of
 * waking another CPU, which depends on where the scheduler has put the two and is
 * several times what the call itself takes. Memory is that of daemons nobody has asked anything.
 */
#include "parts.h"
#include "results.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define TURNS 20
#define ASKS 200 /* in each turn */
#define MEMORY_ROUNDS 2
#define SETTLE_MS 300

static const char *const kinds[] = {"all", "none"};

static void start(struct daemon *d, struct env *e, const struct env *env, unsigned kind)
{
    *e = *env;
    e->argument = kind == 1 ? "--no-dialects" : NULL;
    daemon_start(d, e);
}

/* The first CPU that we may use, for us and all that we start; `before` is where we were. */
static void share_one_cpu(cpu_set_t *before)
{
    cpu_set_t one;
    int cpu = 0;

    if (sched_getaffinity(0, sizeof(*before), before) != 0)
        die("sched_getaffinity: %s", strerror(errno));
    while (!CPU_ISSET(cpu, before))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0)
        die("sched_setaffinity: %s", strerror(errno));
}

static void calls(const struct env *env, unsigned round)
{
    static double us[2][TURNS * ASKS];
    struct daemon d[2];
    struct env e[2];
    cpu_set_t before;
    uint64_t cpu[2];

    share_one_cpu(&before);
    for (unsigned kind = 0; kind < 2; kind++) {
        start(&d[kind], &e[kind], env, kind);
        cpu[kind] = daemon_cpu_ns(&d[kind]);
    }
    for (unsigned i = 0; i < TURNS * 2; i++) {
        unsigned kind = (i + i / 2 + round) % 2;

        for (unsigned k = 0; k < ASKS; k++) {
            uint64_t begin = now_ns();

            daemon_ask(&d[kind], "GET", "/v1/processes", NULL, 200);
            us[kind][i / 2 * ASKS + k] = (double)(now_ns() - begin) / 1e3;
        }
    }
    for (unsigned kind = 0; kind < 2; kind++) {
        result_add(median(us[kind], TURNS * ASKS), "dialects.call_us.%s", kinds[kind]);
        result_add((double)(daemon_cpu_ns(&d[kind]) - cpu[kind]) / 1e3 / (TURNS * ASKS),
                   "dialects.call_cpu_us.%s", kinds[kind]);
        daemon_stop(&d[kind]);
    }
    sched_setaffinity(0, sizeof(before), &before);
}

static double idle_kib(const struct env *env, unsigned kind)
{
    struct daemon d;
    struct env e;
    long kib;

    start(&d, &e, env, kind);
    sleep_ms(SETTLE_MS);
    kib = daemon_pss_kib(&d);
    daemon_stop(&d);
    return (double)kib;
}

void part_dialects(const struct env *env, unsigned round)
{
    calls(env, round);
    if (round < MEMORY_ROUNDS)
        result_add(idle_kib(env, 0) - idle_kib(env, 1), "dialects.memory_kib");
}

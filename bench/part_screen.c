/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part_screen.c - what it costs to know a terminal's state
 *
 * Beside the daemon stands the same one built without the tracker
 * (-DHF_TRACKER=0), which bench/run makes for this. The screen is one of 80x24 with text in every
 * cell, built because somebody asked for it.
 */
#include "bulk.h"
#include "parts.h"
#include "results.h"

#include <stdio.h>
#include <string.h>

#define PASSES 4 /* in each round, the two taking turns */
#define MEMORY_ROUNDS 2
#define TERMINALS 50
#define SETTLE_MS 300

static const char *const kinds[] = {"tracked", "untracked"};

static struct env with_daemon(const struct env *env, unsigned kind)
{
    struct env e = *env;

    if (kind == 1)
        e.daemon = env->untracked;
    return e;
}

static void floods(const struct env *env, unsigned round)
{
    struct tally sums[2] = {{0, 0, 0}};

    for (unsigned i = 0; i < PASSES * 2; i++) {
        unsigned kind = (i + i / 2 + round) % 2;
        struct env e = with_daemon(env, kind);

        bulk(&e, WAY_DAEMON, true, bulk_pty_bytes(env), &sums[kind]);
    }
    for (unsigned kind = 0; kind < 2; kind++) {
        const struct tally *s = &sums[kind];

        result_add((double)s->bytes * 1e3 / (double)s->wall_ns, "screen.mb_s.%s", kinds[kind]);
        result_add((double)s->cpu_ns / (double)s->bytes, "screen.cpu_s_gb.%s", kinds[kind]);
    }
}

/* Lines of 79 and the cursor behind them: nothing scrolls. */
static const char *const painter[] = {
    "/bin/sh", "-c",
    "l=$(printf '%079d' 7); i=0; while [ $i -lt 23 ]; do echo $l; i=$((i+1)); done; exec sleep 1000",
    NULL};

static void paint(struct daemon *d, char ids[][ID_BYTES], unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        daemon_create(d, painter, true, ids[i]);
    for (unsigned i = 0; i < count; i++) {
        char path[ID_BYTES + 64];

        snprintf(path, sizeof(path), "/v1/processes/%s/wait", ids[i]);
        daemon_ask(d, "POST", path, "{\"until\":[{\"quiet_ms\":50}],\"timeout_ms\":20000}", 200);
    }
    sleep_ms(SETTLE_MS);
}

/* Per terminal, with what it painted. */
static double memory(const struct env *env, unsigned kind)
{
    static char ids[TERMINALS][ID_BYTES];
    struct env e = with_daemon(env, kind);
    struct daemon d;
    long idle;
    long painted;

    daemon_start(&d, &e);
    paint(&d, ids, 1); /* the program's own pages come with the first one */
    daemon_forget(&d, ids[0]);
    sleep_ms(SETTLE_MS);
    idle = daemon_pss_kib(&d);
    paint(&d, ids, TERMINALS);
    painted = daemon_pss_kib(&d);
    result_add((double)(painted - idle) / TERMINALS, "screen.terminal_kib.%s", kinds[kind]);
    for (unsigned i = 0; kind == 0 && i < TERMINALS; i++) {
        char path[ID_BYTES + 64];

        snprintf(path, sizeof(path), "/v1/processes/%s/screen?format=text", ids[i]);
        if (strstr(daemon_ask(&d, "GET", path, NULL, 200), "0000007") == NULL)
            die("the screen is not what was painted");
    }
    if (kind == 0) {
        sleep_ms(SETTLE_MS);
        result_add((double)(daemon_pss_kib(&d) - painted) / TERMINALS, "screen.built_kib");
    }
    daemon_stop(&d);
    return (double)(painted - idle) / TERMINALS;
}

void part_screen(const struct env *env, unsigned round)
{
    double tracked;

    if (env->untracked == NULL)
        return;
    floods(env, round);
    if (round >= MEMORY_ROUNDS)
        return;
    tracked = memory(env, 0);
    result_add(tracked - memory(env, 1), "screen.tracker_kib");
}

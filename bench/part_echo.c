/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part_echo.c - from a key pressed to its echo seen
 *
 * The far end is cat on a raw terminal: each byte goes through a process and
 * comes back, whatever is in between. All ways are open at once and take
 * turns in short batches, so that a slow moment of the machine hits them all.
 */
#include "parts.h"
#include "results.h"
#include "term.h"

#include <stdlib.h>
#include <string.h>

#define KEYS_PER_BATCH 1000
#define BATCHES 20
#define BATCHES_QUICK 8
#define WARM_UP_KEYS 200

struct echo {
    bool here;
    struct term term;
    double us[KEYS_PER_BATCH * BATCHES];
    size_t n;
};

struct expected {
    uint8_t key;
    size_t seen;
};

static void on_echo(void *arg, const uint8_t *p, size_t n, bool start)
{
    struct expected *e = arg;

    (void)start;
    if (n != 1 || *p != e->key)
        die("typed %02x, got %zu bytes beginning with %02x", e->key, n, *p);
    e->seen++;
}

static uint64_t press(struct term *t, uint8_t key)
{
    struct expected e = {.key = key};
    uint64_t start = now_ns();

    term_type(t, &key, 1);
    while (e.seen == 0)
        if (term_pump(t, on_echo, &e) < 0)
            die("%s: the terminal ended", way_name(t->way));
    return now_ns() - start;
}

static void echo_open(struct echo *e, enum way way, const struct env *env)
{
    const char *argv[] = {"/bin/sh", "-c", "stty raw -echo; printf R; exec cat", NULL};

    e->n = 0;
    /* A spinning reader of one byte measures nothing new. */
    e->here = way != WAY_SPIN && way != WAY_HASTE && way_is_here(way, env);
    if (!e->here)
        return;
    term_open(&e->term, way, env, true, argv);
    term_wait_ready(&e->term);
    for (int i = 0; i < WARM_UP_KEYS; i++)
        press(&e->term, 'w');
}

static void echo_batch(struct echo *e)
{
    for (size_t i = 0; e->here && i < KEYS_PER_BATCH; i++, e->n++)
        e->us[e->n] = (double)press(&e->term, (uint8_t)('a' + i % 26)) / 1000;
}

static void echo_finish(struct echo *e, enum way way)
{
    const char *name = way == WAY_SLEEP ? "direct" : way_name(way);

    if (!e->here)
        return;
    result_add(percentile(e->us, e->n, 50), "echo.p50_us.%s", name);
    result_add(percentile(e->us, e->n, 99), "echo.p99_us.%s", name);
    term_close(&e->term);
}

void part_echo(const struct env *env, unsigned round)
{
    static struct echo ways[WAY_COUNT];
    unsigned batches = env->quick ? BATCHES_QUICK : BATCHES;

    for (unsigned w = 0; w < WAY_COUNT; w++)
        echo_open(&ways[w], w, env);
    for (unsigned b = 0; b < batches; b++)
        for (unsigned w = 0; w < WAY_COUNT; w++)
            echo_batch(&ways[(w + b + round) % WAY_COUNT]);
    for (unsigned w = 0; w < WAY_COUNT; w++)
        echo_finish(&ways[w], w);
}

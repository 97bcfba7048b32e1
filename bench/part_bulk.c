/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part_bulk.c - how fast a flood comes through, and what it costs
 *
 * The writer is the same everywhere, and so is the client that counts. The
 * clock runs from the starting gun to the last byte; CPU is that of what
 * stands between writer and client, never of these two.
 */
#include "bulk.h"
#include "parts.h"
#include "results.h"

#include <stdio.h>
#include <string.h>

#define PASSES 3 /* in each round, the ways taking turns */
#define PIPE_BYTES (768u << 20)
#define PIPE_BYTES_QUICK (384u << 20)

/*
 * Checking every byte would make the client the slowest of the three, so it
 * looks at the beginning of each piece; a byte lost or doubled moves them all.
 */
#define LOOK_BYTES 64

static void on_bytes(void *arg, const uint8_t *p, size_t n, bool start)
{
    uint64_t *at = arg;

    (void)start;
    if (!pattern_matches(*at, p, n < LOOK_BYTES ? n : LOOK_BYTES))
        die("bulk: wrong bytes at offset %llu", (unsigned long long)*at);
    *at += n;
}

/* From the starting gun to the last byte; then to the end, where no more may come. */
static uint64_t bulk_read(struct term *t, uint64_t bytes, struct tally *sum)
{
    uint64_t at = 0;
    uint64_t cpu = term_cpu_ns(t);
    uint64_t wall = now_ns();

    term_type(t, "g", 1);
    while (at < bytes && term_pump(t, on_bytes, &at) >= 0)
        ;
    sum->wall_ns += now_ns() - wall;
    sum->cpu_ns += term_cpu_ns(t) - cpu;
    sum->bytes += bytes;
    if (at >= bytes)
        term_type(t, "q", 1);
    while (term_pump(t, on_bytes, &at) >= 0)
        ;
    return at;
}

void bulk(const struct env *env, enum way way, bool pty, uint64_t bytes, struct tally *sum)
{
    char path[PATH_BYTES];
    char count[32];
    const char *argv[] = {bench_program(env, "flood", path), count, NULL};
    struct term t;
    uint64_t got;

    snprintf(count, sizeof(count), "%llu", (unsigned long long)bytes);
    term_open(&t, way, env, pty, argv);
    term_wait_ready(&t);
    got = bulk_read(&t, bytes, sum);
    if (got != bytes || t.ws.gaps > 0)
        die("bulk through %s: %llu bytes of %llu, %u gaps", way_name(way), (unsigned long long)got,
            (unsigned long long)bytes, t.ws.gaps);
    term_close(&t);
}

uint64_t bulk_pty_bytes(const struct env *env)
{
    return (env->quick ? 20u : 48u) << 20;
}

static void report(const char *part, const struct tally *sums)
{
    for (unsigned way = 0; way < WAY_COUNT; way++) {
        const struct tally *s = &sums[way];

        if (s->bytes == 0)
            continue;
        result_add((double)s->bytes * 1e3 / (double)s->wall_ns, "%s.mb_s.%s", part, way_name(way));
        result_add((double)s->cpu_ns / (double)s->bytes, "%s.cpu_s_gb.%s", part, way_name(way));
    }
}

void part_bulk_pty(const struct env *env, unsigned round)
{
    struct tally sums[WAY_COUNT] = {{0, 0, 0}};
    uint64_t bytes = bulk_pty_bytes(env);

    for (unsigned i = 0; i < PASSES * WAY_COUNT; i++) {
        enum way way = (i + round) % WAY_COUNT;

        if (way_is_here(way, env))
            bulk(env, way, true, bytes, &sums[way]);
    }
    report("bulk_pty", sums);
}

void part_bulk_pipe(const struct env *env, unsigned round)
{
    struct tally sums[WAY_COUNT] = {{0, 0, 0}};
    uint64_t bytes = env->quick ? PIPE_BYTES_QUICK : PIPE_BYTES;

    for (unsigned i = 0; i < PASSES * 2; i++) {
        enum way way = (i + round) % 2 ? WAY_DAEMON : WAY_RELAY;

        bulk(env, way, false, bytes, &sums[way]);
    }
    report("bulk_pipe", sums);
}

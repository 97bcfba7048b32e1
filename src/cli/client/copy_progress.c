/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_progress.c - the bytes and the rate of a copy. Layer: cli.
 */
#include "cli/client/copy_progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

#define PROGRESS_FIRST_MS 500
#define PROGRESS_EVERY_MS 200

static void put_size(double n, const char *rest)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t i = 0;

    for (; n >= 1024 && i + 1 < sizeof units / sizeof *units; i++)
        n /= 1024;
    fprintf(stderr, i == 0 ? "%.0f %s%s" : "%.1f %s%s", n, units[i], rest);
}

static void show(struct copy_progress *p, uint64_t now_ms)
{
    uint64_t lasted_ms = now_ms > p->began_ms ? now_ms - p->began_ms : 1;

    fputc('\r', stderr);
    put_size((double)p->bytes, ", ");
    put_size((double)p->bytes * 1000 / (double)lasted_ms, "/s\033[K");
    fflush(stderr);
    p->shown = true;
    p->shown_ms = now_ms;
}

void copy_progress_begin(struct copy_progress *p, bool wanted)
{
    uint64_t now = clock_mono_ms();

    *p = (struct copy_progress){.wanted = wanted && isatty(STDERR_FILENO) == 1, .began_ms = now};
    p->shown_ms = now + PROGRESS_FIRST_MS - PROGRESS_EVERY_MS;
}

void copy_progress_add(struct copy_progress *p, size_t bytes)
{
    uint64_t now;

    p->bytes += bytes;
    if (!p->wanted)
        return;
    now = clock_mono_ms();
    if (now >= p->shown_ms + PROGRESS_EVERY_MS)
        show(p, now);
}

void copy_progress_end(struct copy_progress *p)
{
    if (p->shown) {
        show(p, clock_mono_ms());
        fputc('\n', stderr);
    }
    p->wanted = p->shown = false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flood.c - the writer at the far end of the bulk and fan-out measurements
 *
 *   flood BYTES [BYTES_PER_S]   says R, waits for a byte, writes, waits for another, exits
 *   flood hold BYTES            writes at once and then stays, idle
 *
 * It makes its own terminal raw, so that every way of reaching it carries the
 * very same bytes. R says that this is done; the byte it then waits for is
 * the starting gun, so that no reader misses the beginning. The second byte
 * lets it go: what a peer loses when its command exits is not measured here.
 */
#include "common.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define BLOCK_BYTES (64 * 1024)
#define PACED_BLOCK_BYTES 4096

static void terminal_make_raw(void)
{
    struct termios t;

    if (tcgetattr(1, &t) != 0)
        return; /* a pipe */
    cfmakeraw(&t);
    if (tcsetattr(1, TCSANOW, &t) != 0)
        die("tcsetattr: %s", strerror(errno));
}

static void wait_for_byte(void)
{
    char c;

    if (read(0, &c, 1) != 1)
        exit(0);
}

static void sleep_until(uint64_t at_ns)
{
    struct timespec ts = {(time_t)(at_ns / NS_PER_S), (long)(at_ns % NS_PER_S)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
        ;
}

static void flood(uint64_t bytes, uint64_t per_s)
{
    size_t block = per_s > 0 ? PACED_BLOCK_BYTES : BLOCK_BYTES;
    uint64_t start = now_ns();

    for (uint64_t at = 0; at < bytes; at += block) {
        size_t n = bytes - at < block ? (size_t)(bytes - at) : block;

        if (per_s > 0)
            sleep_until(start + (uint64_t)((double)at / (double)per_s * (double)NS_PER_S));
        fd_write_all(1, pattern_at(at), n);
    }
}

/*
 * R, at the end of a whole page in a bulk run. The kernel copies a pipe page by
 * page, and on some CPUs a copy to an odd address takes three times as long. A reader that
 * puts the bytes where they belong by their offset, as a journal does, would pay that for
 * our one byte, and one that reuses a buffer would not; programs that flood do so
 * in whole blocks from the beginning.
 */
static void say_ready(bool bulk)
{
    char page[4096];

    memset(page, '-', sizeof(page));
    page[sizeof(page) - 1] = 'R';
    if (bulk)
        fd_write_all(1, page, sizeof(page));
    else
        fd_write_all(1, "R", 1);
}

int main(int argc, char **argv)
{
    bool hold = argc == 3 && strcmp(argv[1], "hold") == 0;

    if (argc < 2 || argc > 3)
        die("usage: flood BYTES [BYTES_PER_S] | flood hold BYTES");
    terminal_make_raw();
    if (hold) {
        flood(strtoull(argv[2], NULL, 10), 0);
        for (;;)
            pause();
    }
    say_ready(argc == 2);
    wait_for_byte();
    flood(strtoull(argv[1], NULL, 10), argc == 3 ? strtoull(argv[2], NULL, 10) : 0);
    wait_for_byte();
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit.c - a program whose output is known at every offset
 *
 * Writes N bytes of the stream described in gen.mjs, in writes of a given
 * size, to standard output and optionally as much again (seed + 1) to standard
 * error, then ends as told. On a terminal the output is put in raw mode first, so
 * that what is read is what was written.
 *
 *   emit -n BYTES [-s SEED] [-c CHUNK] [-d DELAY_US] [-e] [-x CODE] [-k SIGNAL] [-w] [-W FIFO] [-g BYTES] [-H] [-f]
 *     -e  the same amount to standard error too, chunk by chunk
 *     -w  wait for one byte (or the end) of standard input first
 *     -W  the same with this FIFO: a terminal would echo what is typed before it is raw
 *     -g  wait for one byte of standard input before every so many bytes, a multiple of CHUNK
 *     -H  stay alive at the end until a signal comes
 *     -f  for ever: -n is ignored
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define CHUNK_MAX (1 << 20)

static uint32_t mix(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x85ebca6bU;
    x = (x ^ (x >> 13)) * 0xc2b2ae35U;
    return x ^ (x >> 16);
}

static void fill(unsigned char *out, uint32_t seed, uint64_t from, size_t len)
{
    size_t i = 0;

    while (i < len) {
        uint64_t at = from + i;
        uint32_t word = mix(seed + (uint32_t)(at >> 2) * 0x9e3779b9U);

        if ((at & 3) == 0 && len - i >= 4) {
            memcpy(out + i, &word, 4);
            i += 4;
        } else {
            out[i++] = (unsigned char)(word >> (8 * (at & 3)));
        }
    }
}

static void write_all(int fd, const unsigned char *from, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, from, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            _exit(99);
        from += n;
        len -= (size_t)n;
    }
}

static void raw_terminal(int fd)
{
    struct termios t;

    if (tcgetattr(fd, &t) == 0) {
        cfmakeraw(&t);
        tcsetattr(fd, TCSANOW, &t);
    }
}

int main(int argc, char **argv)
{
    static unsigned char chunk[CHUNK_MAX];
    uint64_t total = 0, done = 0, grant = 0;
    uint32_t seed = 1;
    size_t step = 4096;
    long delay_us = 0;
    int code = 0, kill_with = 0, both = 0, wait_first = 0, hold = 0, forever = 0, opt;
    const char *fifo = NULL;
    char one;

    while ((opt = getopt(argc, argv, "n:s:c:d:x:k:W:g:ewHf")) != -1) {
        switch (opt) {
        case 'n': total = strtoull(optarg, NULL, 10); break;
        case 's': seed = (uint32_t)strtoul(optarg, NULL, 10); break;
        case 'c': step = strtoul(optarg, NULL, 10); break;
        case 'd': delay_us = atol(optarg); break;
        case 'x': code = atoi(optarg); break;
        case 'k': kill_with = atoi(optarg); break;
        case 'e': both = 1; break;
        case 'w': wait_first = 1; break;
        case 'W': fifo = optarg; break;
        case 'g': grant = strtoull(optarg, NULL, 10); break;
        case 'H': hold = 1; break;
        case 'f': forever = 1; break;
        default: return 98;
        }
    }
    if (step == 0 || step > CHUNK_MAX)
        return 98;
    raw_terminal(1);
    if (wait_first && read(0, &one, 1) < 0)
        return 97;
    if (fifo != NULL &&
        open(fifo, O_RDONLY | O_CLOEXEC) < 0) /* until somebody opens it for writing */
        return 97;
    while (forever || done < total) {
        size_t n = forever || total - done > step ? step : (size_t)(total - done);

        if (grant > 0 && done % grant == 0 && read(0, &one, 1) < 0)
            return 97;
        fill(chunk, seed, done, n);
        write_all(1, chunk, n);
        if (both) {
            fill(chunk, seed + 1, done, n);
            write_all(2, chunk, n);
        }
        done += n;
        if (delay_us > 0) {
            struct timespec t = {delay_us / 1000000, delay_us % 1000000 * 1000};

            nanosleep(&t, NULL);
        }
    }
    while (hold)
        pause();
    if (kill_with) {
        signal(kill_with, SIG_DFL);
        raise(kill_with);
    }
    return code;
}

// SPDX-License-Identifier: Apache-2.0
/*
 * burn.c - uses a known amount of CPU time, memory and disk, and reports what the kernel counted
 *
 * burn CPU_MS MEMORY_MIB WRITE_MIB FILE [hold]: prints a line of JSON at the end; with `hold` it
 * then waits for a line of input.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MIB (1024 * 1024)

static long cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void report(void)
{
    struct rusage r;

    getrusage(RUSAGE_SELF, &r);
    printf("{\"cpu_us\":%lld,\"max_rss_bytes\":%lld,\"written_bytes\":%lld}\n",
           (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000LL + r.ru_utime.tv_usec +
               r.ru_stime.tv_usec,
           r.ru_maxrss * 1024LL, r.ru_oublock * 512LL);
    fflush(stdout);
}

static int put(const char *path, const char *from, size_t bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    for (size_t at = 0; fd >= 0 && at < bytes;) {
        ssize_t n = write(fd, from + at % MIB, MIB - at % MIB);

        if (n <= 0)
            return -1;
        at += (size_t)n;
    }
    return fd < 0 || fsync(fd) < 0 || close(fd) < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
    size_t memory = argc > 2 ? strtoul(argv[2], NULL, 10) * MIB : 0;
    char *room = malloc(memory + MIB), line[8];

    if (argc < 5 || room == NULL)
        return 2;
    memset(room, 1, memory + MIB);
    if (put(argv[4], room, strtoul(argv[3], NULL, 10) * MIB) < 0)
        return 3;
    while (cpu_ms() < strtol(argv[1], NULL, 10))
        ;
    report();
    if (argc > 5 && fgets(line, sizeof line, stdin) == NULL)
        return 4;
    return room[memory] - 1;
}

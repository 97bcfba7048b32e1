/* SPDX-License-Identifier: Apache-2.0 */
/* common.c - time, numbers, sockets and the known stream (see common.h) */
#include "common.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define READ_GIVES_UP_S 20

static uint64_t clock_ns(clockid_t id)
{
    struct timespec ts;

    if (clock_gettime(id, &ts) != 0)
        return 0;
    return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

uint64_t cpu_ns_self(void)
{
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/*
 * The CPU clock of a process is exact to the nanosecond and counts the slice
 * that is running now, which /proc/PID/stat and schedstat do not.
 */
uint64_t cpu_ns_of(pid_t pid)
{
    clockid_t id;

    if (clock_getcpuclockid(pid, &id) != 0)
        die("no CPU clock of process %d: it is gone", (int)pid);
    return clock_ns(id);
}

void sleep_ms(unsigned ms)
{
    struct timespec ts = {ms / 1000, (long)(ms % 1000) * 1000000};

    while (nanosleep(&ts, &ts) != 0 && errno == EINTR)
        ;
}

#define PATTERN_LINE 78

static uint8_t pattern[PATTERN_PERIOD + PATTERN_RUN];

/* A line in ten is coloured. */
static size_t pattern_line(uint8_t *at, size_t room, uint64_t *noise, unsigned number)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .";
    char line[PATTERN_LINE + 16];
    size_t n = 0;

    if (number % 10 == 0)
        n += (size_t)sprintf(line, "\033[%um", 31 + number / 10 % 7);
    while (n < PATTERN_LINE) {
        *noise ^= *noise << 13;
        *noise ^= *noise >> 7;
        *noise ^= *noise << 17;
        line[n++] = letters[*noise >> 32 & 63];
    }
    n += (size_t)sprintf(line + n, number % 10 == 0 ? "\033[m\r\n" : "\r\n");
    if (n > room)
        n = room;
    memcpy(at, line, n);
    return n;
}

static void pattern_fill(void)
{
    uint64_t noise = 88172645463325252ULL;
    unsigned number = 0;

    for (size_t i = 0; i < PATTERN_PERIOD; number++)
        i += pattern_line(pattern + i, PATTERN_PERIOD - i, &noise, number);
    for (size_t i = PATTERN_PERIOD; i < sizeof(pattern); i++)
        pattern[i] = pattern[i - PATTERN_PERIOD];
}

const uint8_t *pattern_at(uint64_t offset)
{
    static bool filled;

    if (!filled) {
        pattern_fill();
        filled = true;
    }
    return pattern + offset % PATTERN_PERIOD;
}

bool pattern_matches(uint64_t offset, const uint8_t *p, size_t n)
{
    while (n > 0) {
        size_t run = n < PATTERN_RUN ? n : PATTERN_RUN;

        if (memcmp(p, pattern_at(offset), run) != 0)
            return false;
        p += run;
        offset += run;
        n -= run;
    }
    return true;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

double percentile(double *v, size_t n, double p)
{
    size_t i = (size_t)(p / 100.0 * (double)n);

    qsort(v, n, sizeof(*v), compare_doubles);
    return v[i < n ? i : n - 1];
}

double median(double *v, size_t n)
{
    qsort(v, n, sizeof(*v), compare_doubles);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

void fd_set_nonblocking(int fd)
{
    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0)
        die("fcntl: %s", strerror(errno));
}

void fd_write_all(int fd, const void *p, size_t n)
{
    const char *at = p;

    while (n > 0) {
        ssize_t done = write(fd, at, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            die("write: %s", strerror(errno));
        at += done;
        n -= (size_t)done;
    }
}

void tcp_set_nodelay(int fd)
{
    int on = 1;

    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
        die("TCP_NODELAY: %s", strerror(errno));
}

int tcp_listen(int *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) != 0 || listen(fd, 16) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) != 0)
        die("cannot listen on loopback: %s", strerror(errno));
    *port = ntohs(at.sin_port);
    return fd;
}

int tcp_connect(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct timeval patience = {READ_GIVES_UP_S, 0};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0)
        die("socket: %s", strerror(errno));
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
        die("cannot connect to 127.0.0.1:%d: %s", port, strerror(errno));
    tcp_set_nodelay(fd);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return fd;
}

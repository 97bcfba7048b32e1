/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.c - the same work through each proxy: echo, bulk, requests, connections, idle tunnels
 *
 * Usage: bench upstream PORT                         serves until it is killed
 *        bench measure WORK PORT PREFIX HOST [PID…]  what it brings and costs; PIDs are the proxy's
 *
 * The upstream answers "/" with two bytes, "/bulk" with BULK bytes by length, "/echo" with a 101 and
 * then each byte, "/source" with a 101 and then BULK bytes of WebSocket frames of 64 KiB. One thread,
 * epoll, nothing clever.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FRAME (10 + 65536)
#define FRAMES_IN_BLOCK 4
#define BULK (8192LL * FRAME)
#define ROUNDS 4000
#define REQUESTS 20000
#define CONNECTIONS 3000
#define WIDTH 16
#define TUNNELS 500

static char block[FRAMES_IN_BLOCK * FRAME]; /* unmasked binary frames */

static char taken[256 * 1024]; /* what comes in */

static void fill_block(void)
{
    for (size_t i = 0; i < FRAMES_IN_BLOCK; i++)
        memcpy(block + i * FRAME, "\x82\x7f\0\0\0\0\0\1\0\0", 10);
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* --- upstream -------------------------------------------------------------------- */

struct peer {
    int fd;
    enum { HTTP, ECHO, SOURCE } mode;
    int64_t owed;
    char head[4096];
    size_t len;
};

static void arm(int ep, struct peer *p, int op)
{
    struct epoll_event e = {.events = EPOLLIN | (p->owed > 0 ? EPOLLOUT : 0), .data.ptr = p};

    epoll_ctl(ep, op, p->fd, &e);
}

static void say(struct peer *p, const char *text)
{
    if (send(p->fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        p->owed = 0;
}

static void answer(struct peer *p)
{
    char head[128];

    if (strncmp(p->head, "GET /bulk", 9) == 0) {
        snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %lld\r\n\r\n",
                 (long long)BULK);
        say(p, head);
        p->owed = BULK;
    } else if (strncmp(p->head, "GET /echo", 9) == 0 || strncmp(p->head, "GET /source", 11) == 0) {
        p->mode = p->head[5] == 'e' ? ECHO : SOURCE;
        say(p, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
               "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n");
        p->owed = p->mode == SOURCE ? BULK : 0;
    } else {
        say(p, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
    p->len = 0;
}

static int on_readable(struct peer *p)
{
    ssize_t n = p->mode == HTTP
                    ? recv(p->fd, p->head + p->len, sizeof p->head - 1 - p->len, MSG_DONTWAIT)
                    : recv(p->fd, taken, sizeof taken, MSG_DONTWAIT);

    if (n <= 0)
        return n < 0 && errno == EAGAIN ? 0 : -1;
    if (p->mode == ECHO)
        return send(p->fd, taken, (size_t)n, MSG_NOSIGNAL) < 0 ? -1 : 0;
    if (p->mode == SOURCE)
        return 0;
    p->len += (size_t)n;
    p->head[p->len] = '\0';
    if (strstr(p->head, "\r\n\r\n") != NULL)
        answer(p);
    return 0;
}

static int on_writable(struct peer *p)
{
    while (p->owed > 0) {
        size_t at = (size_t)((BULK - p->owed) % (int64_t)sizeof block);
        ssize_t n = send(p->fd, block + at, sizeof block - at, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0)
            return errno == EAGAIN ? 0 : -1;
        p->owed -= n;
    }
    if (p->mode == SOURCE)
        shutdown(p->fd, SHUT_WR);
    return 0;
}

static _Noreturn void upstream(int port)
{
    int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), ep = epoll_create1(0), on = 1;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct peer door = {.fd = s};

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(s, (struct sockaddr *)&a, sizeof a) < 0 || listen(s, 4096) < 0)
        die("listen");
    arm(ep, &door, EPOLL_CTL_ADD);
    for (;;) {
        struct epoll_event e[64];
        int n = epoll_wait(ep, e, 64, -1);

        for (int i = 0; i < n; i++) {
            struct peer *p = e[i].data.ptr;
            int fd, rc = 0;

            if (p == &door) {
                while ((fd = accept4(s, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
                    p = calloc(1, sizeof *p);
                    p->fd = fd;
                    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                    arm(ep, p, EPOLL_CTL_ADD);
                }
                continue;
            }
            if (e[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                rc = on_readable(p);
            if (rc == 0)
                rc = on_writable(p);
            if (rc < 0) {
                close(p->fd);
                free(p);
            } else {
                arm(ep, p, EPOLL_CTL_MOD);
            }
        }
    }
}

/* --- client ------------------------------------------------------------------------ */

static int port_g;
static const char *prefix_g, *host_g;

static int dial(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port_g)};
    int s = socket(AF_INET, SOCK_STREAM, 0), on = 1;

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(s, (struct sockaddr *)&a, sizeof a) < 0)
        die("connect");
    return s;
}

static void request(int s, const char *path, const char *extra)
{
    char text[512];
    int n = snprintf(text, sizeof text, "GET %s%s HTTP/1.1\r\nHost: %s\r\n%s\r\n", prefix_g, path,
                     host_g, extra);

    if (send(s, text, (size_t)n, MSG_NOSIGNAL) != n)
        die("send");
}

/* Reads the head byte by byte: nothing behind it is taken. */
static void head(int s, const char *want)
{
    char text[4096];
    size_t n = 0;

    while (n < sizeof text - 1 && (n < 4 || memcmp(text + n - 4, "\r\n\r\n", 4) != 0)) {
        if (recv(s, text + n, 1, 0) != 1)
            die("head");
        n++;
    }
    text[n] = '\0';
    if (strncmp(text + 9, want, 3) != 0) {
        fprintf(stderr, "%s\n", text);
        exit(1);
    }
}

#define UPGRADE                                                                                    \
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"                   \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

static int tunnel(const char *path)
{
    int s = dial();

    request(s, path, UPGRADE);
    head(s, "101");
    return s;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double echo_us(void)
{
    static double took[ROUNDS];
    int s = tunnel("/echo");
    char byte[64] = {(char)0x82, 62}; /* a frame; it comes back as it is */

    for (int i = 0; i < ROUNDS; i++) {
        double t = now_s();

        if (send(s, byte, sizeof byte, 0) != sizeof byte ||
            recv(s, byte, sizeof byte, MSG_WAITALL) != sizeof byte)
            die("echo");
        took[i] = (now_s() - t) * 1e6;
    }
    close(s);
    qsort(took, ROUNDS, sizeof *took, by_value);
    return took[ROUNDS / 2];
}

static double bulk_mbs(int s)
{
    int64_t left = BULK;
    double t = now_s();

    while (left > 0) {
        ssize_t n = recv(s, taken, sizeof taken, 0);

        if (n <= 0)
            die("bulk");
        left -= n;
    }
    close(s);
    return (double)BULK / 1e6 / (now_s() - t);
}

static double tunnel_mbs(void)
{
    return bulk_mbs(tunnel("/source"));
}

static double http_mbs(void)
{
    int s = dial();

    request(s, "/bulk", "");
    head(s, "200");
    return bulk_mbs(s);
}

static void take_answer(int s)
{
    char text[2048];
    size_t n = 0;

    for (;;) {
        ssize_t got = recv(s, text + n, sizeof text - n, 0);

        if (got <= 0)
            die("answer");
        n += (size_t)got;
        if (n > 6 && memcmp(text + n - 6, "\r\n\r\nok", 6) == 0)
            return;
        if (n > 7 && memmem(text, n, "\r\nok\r\n0\r\n\r\n", 11) != NULL)
            return;
    }
}

static double requests_s(void)
{
    int s[WIDTH];
    double t;

    for (int i = 0; i < WIDTH; i++)
        s[i] = dial();
    t = now_s();
    for (int n = 0; n < REQUESTS; n += WIDTH) {
        for (int i = 0; i < WIDTH; i++)
            request(s[i], "/", "");
        for (int i = 0; i < WIDTH; i++)
            take_answer(s[i]);
    }
    t = now_s() - t;
    for (int i = 0; i < WIDTH; i++)
        close(s[i]);
    return REQUESTS / t;
}

static double connections_s(void)
{
    double t = now_s();

    for (int n = 0; n < CONNECTIONS; n += WIDTH) {
        int s[WIDTH];

        for (int i = 0; i < WIDTH; i++) {
            s[i] = dial();
            request(s[i], "/", "Connection: close\r\n");
        }
        for (int i = 0; i < WIDTH; i++) {
            take_answer(s[i]);
            close(s[i]);
        }
    }
    return CONNECTIONS / (now_s() - t);
}

/* --- the proxy's processes ------------------------------------------------------------ */

static int pid_count;
static char **pids;

/* By the scheduler's own count, in nanoseconds: a tick is too coarse. Each has one thread. */
static double cpu_s(void)
{
    double sum = 0;

    for (int i = 0; i < pid_count; i++) {
        char path[64], text[128];
        FILE *f;

        snprintf(path, sizeof path, "/proc/%s/schedstat", pids[i]);
        f = fopen(path, "r");
        if (f == NULL || fgets(text, sizeof text, f) == NULL)
            die(path);
        fclose(f);
        sum += strtod(text, NULL) / 1e9;
    }
    return sum;
}

static double pss_kb(void)
{
    double sum = 0;

    for (int i = 0; i < pid_count; i++) {
        char path[64], line[256];
        FILE *f;

        snprintf(path, sizeof path, "/proc/%s/smaps_rollup", pids[i]);
        f = fopen(path, "r");
        while (f != NULL && fgets(line, sizeof line, f) != NULL)
            sum += strncmp(line, "Pss:", 4) == 0 ? atof(line + 4) : 0;
        if (f != NULL)
            fclose(f);
    }
    return sum;
}

static double tunnel_bytes(void)
{
    static int s[TUNNELS];
    double was = pss_kb(), now;
    char frame[2] = {(char)0x82, 0};

    for (int i = 0; i < TUNNELS; i++) {
        s[i] = tunnel("/echo");
        if (send(s[i], frame, 2, 0) != 2 || recv(s[i], frame, 2, MSG_WAITALL) != 2)
            die("echo");
    }
    now = pss_kb();
    for (int i = 0; i < TUNNELS; i++)
        close(s[i]);
    return (now - was) * 1024 / TUNNELS;
}

static double idle_bytes(void)
{
    return pid_count > 0 ? tunnel_bytes() : 0;
}

static const struct work {
    const char *name;
    double (*run)(void);
    double units; /* in one run: the CPU is told for one of them */
    double cpu_scale;
} works[] = {
    {"idle", idle_bytes, TUNNELS, 1e6},      {"echo", echo_us, ROUNDS, 1e6},
    {"tunnel", tunnel_mbs, BULK / 1e9, 1},   {"http", http_mbs, BULK / 1e9, 1},
    {"requests", requests_s, REQUESTS, 1e6}, {"connections", connections_s, CONNECTIONS, 1e6},
};

/* What the work brings, and what it costs the proxy. */
static int measure(const char *name)
{
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        const struct work *w = &works[i];
        double was = cpu_s(), result;

        if (strcmp(w->name, name) != 0)
            continue;
        result = w->run();
        printf("%.1f %.3f\n", result, (cpu_s() - was) / w->units * w->cpu_scale);
        return 0;
    }
    return 2;
}

int main(int argc, char **argv)
{
    fill_block();
    if (argc == 3 && strcmp(argv[1], "upstream") == 0)
        upstream(atoi(argv[2]));
    if (argc < 6 || strcmp(argv[1], "measure") != 0)
        return 2;
    port_g = atoi(argv[3]);
    prefix_g = argv[4];
    host_g = argv[5];
    pids = argv + 6;
    pid_count = argc - 6;
    return measure(argv[2]);
}

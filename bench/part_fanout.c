/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part_fanout.c - one terminal at 2 MB/s, watched by 1 to 500 viewers; and one flat out,
 * watched by 80, alone and beside 20 that do not keep up
 *
 * Every viewer must get every byte: each piece is compared whole with what
 * the writer is known to write at that offset. A viewer that was told of a
 * gap, got a wrong byte or did not get all is not complete; only CPU for
 * bytes that did arrive is reckoned.
 */
#include "parts.h"
#include "results.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define RATE_BYTES_S 2000000u
#define FLOOD_S 2
#define FLOOD_BYTES (FLOOD_S * RATE_BYTES_S)
#define FLAT_VIEWERS 80
#define FLAT_SLOW 20 /* half of them never read, the others a byte a second */
#define FLAT_BYTES (96u << 20)
#define FLAT_RATE "4000000000" /* more than there is */
#define QUIET_MS 100
#define GIVES_UP_MS 60000

struct viewer {
    struct ws ws;
    uint64_t bytes; /* that are to come */
    uint64_t at;    /* bytes seen; the first is the writer's R */
    bool wrong;
    bool ended;
};

struct crowd {
    struct viewer *viewer;
    unsigned count;
    int loop;
};

static void on_bytes(void *arg, const uint8_t *p, size_t n, bool start)
{
    struct viewer *v = arg;

    (void)start;
    if (v->at == 0) {
        v->wrong = *p != 'R';
        v->at++, p++, n--;
    }
    if (!pattern_matches(v->at - 1, p, n))
        v->wrong = true;
    v->at += n;
}

static bool is_complete(const struct viewer *v)
{
    return v->at == 1 + v->bytes && !v->wrong && v->ws.gaps == 0;
}

static bool is_done(const struct viewer *v)
{
    return v->ended || v->at > v->bytes;
}

/* One turn; false when nothing came within the time. */
static bool crowd_turn(struct crowd *c, int ms)
{
    struct epoll_event ev[64];
    int n = epoll_wait(c->loop, ev, 64, ms);

    for (int i = 0; i < n; i++) {
        struct viewer *v = ev[i].data.ptr;

        if (ws_pump(&v->ws, MSG_DONTWAIT, on_bytes, v) < 0) {
            v->ended = true;
            epoll_ctl(c->loop, EPOLL_CTL_DEL, v->ws.fd, NULL);
        }
    }
    return n > 0;
}

static unsigned crowd_count(const struct crowd *c, bool (*is)(const struct viewer *v))
{
    unsigned n = 0;

    for (unsigned i = 0; i < c->count; i++)
        n += is(&c->viewer[i]);
    return n;
}

static bool has_begun(const struct viewer *v)
{
    return v->at > 0;
}

static void crowd_open(struct crowd *c, struct daemon *d, const char *id, unsigned count,
                       uint64_t bytes)
{
    c->count = count;
    c->viewer = calloc(count, sizeof(*c->viewer));
    c->loop = epoll_create1(EPOLL_CLOEXEC);
    if (c->viewer == NULL || c->loop < 0)
        die("no room for %u viewers", count);
    for (unsigned i = 0; i < count; i++) {
        struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &c->viewer[i]};

        c->viewer[i].bytes = bytes;
        daemon_view(d, id, "since=0&terminal=0", &c->viewer[i].ws);
        if (epoll_ctl(c->loop, EPOLL_CTL_ADD, c->viewer[i].ws.fd, &ev) != 0)
            die("epoll_ctl: %s", strerror(errno));
    }
    while (crowd_count(c, has_begun) < count)
        if (!crowd_turn(c, GIVES_UP_MS))
            die("not all of %u viewers saw the beginning", count);
    /* Greetings, and news of those who came later, are not what is measured. */
    while (crowd_turn(c, QUIET_MS))
        ;
}

static void crowd_close(struct crowd *c)
{
    for (unsigned i = 0; i < c->count; i++)
        ws_close(&c->viewer[i].ws);
    close(c->loop);
    free(c->viewer);
}

static void crowd_report(const struct crowd *c, uint64_t wall, uint64_t cpu)
{
    uint64_t delivered = 0;

    for (unsigned i = 0; i < c->count; i++)
        delivered += c->viewer[i].at - 1;
    if (delivered == 0)
        die("fan-out: %u viewers got nothing", c->count);
    result_add(crowd_count(c, is_complete), "fanout.complete.%u", c->count);
    result_add((double)cpu / (double)delivered, "fanout.cpu_s_gb.%u", c->count);
    result_add((double)delivered / 1e6 / ((double)wall / 1e9), "fanout.delivered_mb_s.%u",
               c->count);
}

static void fan_out(const struct env *env, unsigned count)
{
    char path[PATH_BYTES];
    char bytes[32];
    char rate[32];
    const char *argv[] = {bench_program(env, "flood", path), bytes, rate, NULL};
    char id[ID_BYTES];
    struct daemon d;
    struct crowd c;
    uint64_t wall;
    uint64_t cpu;

    snprintf(bytes, sizeof(bytes), "%u", FLOOD_BYTES);
    snprintf(rate, sizeof(rate), "%u", RATE_BYTES_S);
    daemon_start(&d, env);
    daemon_create(&d, argv, true, id);
    crowd_open(&c, &d, id, count, FLOOD_BYTES);
    cpu = daemon_cpu_ns(&d);
    wall = now_ns();
    ws_send(&c.viewer[0].ws, WS_BINARY, "g", 1);
    while (crowd_count(&c, is_done) < count && crowd_turn(&c, GIVES_UP_MS))
        ;
    wall = now_ns() - wall;
    cpu = daemon_cpu_ns(&d) - cpu;
    crowd_report(&c, wall, cpu);
    crowd_close(&c);
    daemon_stop(&d);
}

/* Those that do not keep up. */
struct slow {
    struct ws ws[FLAT_SLOW];
    unsigned count;
    uint64_t next_ns;
};

static void slow_turn(struct slow *s)
{
    char byte;

    if (now_ns() < s->next_ns)
        return;
    s->next_ns = now_ns() + 1000000000u;
    for (unsigned i = 0; i < s->count / 2; i++)
        (void)!recv(s->ws[i].fd, &byte, 1, MSG_DONTWAIT);
}

static bool has_half(const struct viewer *v)
{
    return v->ended || v->at > v->bytes / 2;
}

/* Until all have `is`; returns when that was. */
static uint64_t flat_until(struct crowd *c, struct slow *s, bool (*is)(const struct viewer *v))
{
    while (crowd_count(c, is) < c->count && crowd_turn(c, GIVES_UP_MS))
        slow_turn(s);
    return now_ns();
}

static void flat_out(const struct env *env, unsigned slow_count)
{
    char path[PATH_BYTES];
    char bytes[32];
    const char *argv[] = {bench_program(env, "flood", path), bytes, FLAT_RATE, NULL};
    struct slow s = {.count = slow_count};
    char id[ID_BYTES];
    struct daemon d;
    struct crowd c;
    uint64_t begin, half, end;

    snprintf(bytes, sizeof(bytes), "%u", FLAT_BYTES);
    daemon_start(&d, env);
    daemon_create(&d, argv, true, id);
    for (unsigned i = 0; i < slow_count; i++)
        daemon_view(&d, id, "since=0&terminal=0", &s.ws[i]);
    crowd_open(&c, &d, id, FLAT_VIEWERS, FLAT_BYTES);
    begin = now_ns();
    ws_send(&c.viewer[0].ws, WS_BINARY, "g", 1);
    half = flat_until(&c, &s, has_half);
    end = flat_until(&c, &s, is_done);
    result_add(crowd_count(&c, is_complete), "fanout.flat_complete.%u", slow_count);
    result_add(FLAT_BYTES * 1e3 / (double)(end - begin), "fanout.flat_mb_s.%u", slow_count);
    result_add(FLAT_BYTES / 2 * 1e3 / (double)(end - half), "fanout.flat_rest_mb_s.%u", slow_count);
    crowd_close(&c);
    for (unsigned i = 0; i < slow_count; i++)
        ws_close(&s.ws[i]);
    daemon_stop(&d);
}

void part_fanout(const struct env *env, unsigned round)
{
    static const unsigned counts[] = {1, 10, 100, 500};

    for (unsigned i = 0; i < 4; i++)
        fan_out(env, counts[(i + round) % 4]);
    for (unsigned i = 0; i < 2; i++)
        flat_out(env, (i + round) % 2 ? FLAT_SLOW : 0);
}

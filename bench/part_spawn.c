/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part_spawn.c - programs started, read to the end and reaped, per second
 *
 * The floor is posix_spawn, a pipe for the output that is read to its end,
 * and waitid. The daemon does that, keeps a record and answers over HTTP.
 * Floor, small daemon and a daemon with a worker of 500 MB take turns.
 *
 * One at a time there is a second floor: the same spawn, in a session of its own, behind two
 * processes that do nothing but pass a message on and its answer back, as worker and keeper
 * must. What it loses beside the first is the price of a session and of waking processes, which
 * no program with these properties can get below.
 */
#include "parts.h"
#include "results.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define IN_FLIGHT 16
#define SLICES 8
#define SLICE_SPAWNS 96
#define SLICE_SPAWNS_QUICK 48
#define LARGE_KIB (500L * 1000 * 1000 / 1024)
#define LARGE_PROCESSES 800 /* of 1 MiB of output each, at most */
#define LARGE_STEP 32

extern char **environ;

/* --- the floor -------------------------------------------------------------- */

struct bare {
    const char *program;
    int null;
    bool session; /* gets one of its own */
    pid_t pid[IN_FLIGHT];
    struct pollfd out[IN_FLIGHT];
};

static void bare_spawn(struct bare *b, unsigned slot)
{
    const char *argv[] = {b->program, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int out[2];
    int rc;

    if (pipe2(out, O_CLOEXEC) != 0)
        die("pipe: %s", strerror(errno));
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, b->session ? POSIX_SPAWN_SETSID : 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, b->null, 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    rc =
        posix_spawn(&b->pid[slot], b->program, &actions, &attributes, (char *const *)argv, environ);
    if (rc != 0)
        die("posix_spawn %s: %s", b->program, strerror(rc));
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(out[1]);
    b->out[slot] = (struct pollfd){.fd = out[0], .events = POLLIN};
}

/* True when the output has ended and the child is reaped. */
static bool bare_read(struct bare *b, unsigned slot)
{
    char buf[4096];
    siginfo_t info;

    if (read(b->out[slot].fd, buf, sizeof(buf)) > 0)
        return false;
    close(b->out[slot].fd);
    b->out[slot].fd = -1;
    if (waitid(P_PID, (id_t)b->pid[slot], &info, WEXITED) != 0 || info.si_code != CLD_EXITED ||
        info.si_status != 0)
        die("%s did not end well", b->program);
    return true;
}

static uint64_t bare_run(struct bare *b, unsigned total, unsigned in_flight)
{
    uint64_t begin = now_ns();
    unsigned started = 0;
    unsigned done = 0;

    while (started < in_flight)
        bare_spawn(b, started++);
    while (done < total) {
        /* One alone needs no poll: the read itself waits. */
        if (in_flight > 1 && poll(b->out, in_flight, -1) <= 0)
            die("poll: %s", strerror(errno));
        for (unsigned i = 0; i < in_flight; i++) {
            if (b->out[i].fd < 0 || (in_flight > 1 && b->out[i].revents == 0) || !bare_read(b, i))
                continue;
            done++;
            if (started < total)
                bare_spawn(b, i), started++;
        }
    }
    return now_ns() - begin;
}

/* --- the floor behind two processes ------------------------------------------- */

#define HOP_BYTES 300 /* about what a request has */

struct hops {
    pid_t pid[2];
    int fd;
};

/* Passes on what comes, and the answer back; `next` < 0: spawns instead. */
static void hop_serve(struct bare *b, int from, int next)
{
    char message[HOP_BYTES];

    b->session = true; /* in this process alone */
    while (read(from, message, sizeof(message)) == HOP_BYTES) {
        if (next < 0)
            bare_run(b, 1, 1);
        else if (write(next, message, sizeof(message)) != HOP_BYTES ||
                 read(next, message, sizeof(message)) != HOP_BYTES)
            break;
        if (write(from, message, sizeof(message)) != HOP_BYTES)
            break;
    }
    _exit(0);
}

/* A hop in a process of its own; returns our end. */
static int hop_start(struct bare *b, int next, pid_t *pid)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 || (*pid = fork()) < 0)
        die("a hop: %s", strerror(errno));
    if (*pid == 0) {
        close(pair[0]);
        hop_serve(b, pair[1], next);
    }
    close(pair[1]);
    return pair[0];
}

/* They end when nobody is left to ask them. */
static void hops_start(struct hops *h, struct bare *b)
{
    int keeper = hop_start(b, -1, &h->pid[0]);

    h->fd = hop_start(b, keeper, &h->pid[1]);
    close(keeper);
}

static void hops_stop(struct hops *h)
{
    close(h->fd);
    waitpid(h->pid[1], NULL, 0);
    waitpid(h->pid[0], NULL, 0);
}

static uint64_t hops_run(struct hops *h, unsigned total)
{
    uint64_t begin = now_ns();
    char message[HOP_BYTES] = {0};

    for (unsigned i = 0; i < total; i++)
        if (write(h->fd, message, sizeof(message)) != HOP_BYTES ||
            read(h->fd, message, sizeof(message)) != HOP_BYTES)
            die("a hop has ended");
    return now_ns() - begin;
}

/* --- the daemon ------------------------------------------------------------- */

struct asked {
    struct daemon daemon;
    struct http *conn[IN_FLIGHT];
    char request[4096];
    size_t request_len;
};

static void asked_start(struct asked *a, const struct env *env)
{
    daemon_start(&a->daemon, env);
    for (unsigned i = 0; i < IN_FLIGHT; i++)
        a->conn[i] = http_new(a->daemon.port);
}

static void asked_stop(struct asked *a)
{
    for (unsigned i = 0; i < IN_FLIGHT; i++)
        http_free(a->conn[i]);
    daemon_stop(&a->daemon);
}

static void asked_prepare(struct asked *a, const char *program)
{
    const char *argv[] = {program, NULL};
    char body[2048];

    json_command(body, sizeof(body), argv, "");
    a->request_len = http_format(a->request, sizeof(a->request), "POST", "/v1/processes/run",
                                 a->daemon.port, a->daemon.env->token, body);
}

static void asked_send(struct asked *a, unsigned slot)
{
    http_send(a->conn[slot], a->request, a->request_len);
}

static bool asked_read(struct asked *a, unsigned slot)
{
    struct answer answer;

    if (!http_pump(a->conn[slot], &answer))
        return false;
    if (answer.status != 200 || (strstr(answer.body, "\"exit_code\":0") == NULL &&
                                 strstr(answer.body, "\"exit_code\": 0") == NULL))
        die("run: %d %s", answer.status, answer.body);
    return true;
}

static uint64_t asked_run(struct asked *a, unsigned total, unsigned in_flight)
{
    struct pollfd polled[IN_FLIGHT];
    uint64_t begin = now_ns();
    unsigned started = 0;
    unsigned done = 0;

    for (; started < in_flight; started++) {
        polled[started] = (struct pollfd){.fd = a->conn[started]->fd, .events = POLLIN};
        asked_send(a, started);
    }
    while (done < total) {
        if (in_flight > 1 && poll(polled, in_flight, -1) <= 0)
            die("poll: %s", strerror(errno));
        for (unsigned i = 0; i < in_flight; i++) {
            if ((in_flight > 1 && polled[i].revents == 0) || !asked_read(a, i))
                continue;
            done++;
            if (started < total)
                asked_send(a, i), started++;
        }
    }
    return now_ns() - begin;
}

/* Fills journals of living processes until the worker is as large as wanted. */
static void asked_grow(struct asked *a, const struct env *env)
{
    char path[PATH_BYTES];
    const char *argv[] = {bench_program(env, "flood", path), "hold", "1048576", NULL};
    char id[ID_BYTES];

    for (unsigned n = 0; n < LARGE_PROCESSES; n += LARGE_STEP) {
        for (unsigned i = 0; i < LARGE_STEP; i++)
            daemon_create(&a->daemon, argv, false, id);
        sleep_ms(20); /* the last of them may still be writing */
        if (daemon_pss_kib(&a->daemon) >= LARGE_KIB)
            return;
    }
    die("the worker has %ld KiB after %d processes of 1 MiB", daemon_pss_kib(&a->daemon),
        LARGE_PROCESSES);
}

/* --- taking turns ----------------------------------------------------------- */

struct spawners {
    struct bare bare;
    struct asked small;
    struct asked large;
    unsigned slice;
};

static void measure(struct spawners *s, const char *name, const char *program, unsigned in_flight)
{
    double total = (double)s->slice * SLICES * 1e9;
    uint64_t bare = 0;
    uint64_t small = 0;
    uint64_t large = 0;
    uint64_t hops = 0;
    struct hops h;

    s->bare.program = program;
    hops_start(&h, &s->bare);
    asked_prepare(&s->small, program);
    asked_prepare(&s->large, program);
    for (unsigned i = 0; i < SLICES; i++) {
        bare += bare_run(&s->bare, s->slice, in_flight);
        hops += in_flight == 1 ? hops_run(&h, s->slice) : 0;
        small += asked_run(&s->small, s->slice, in_flight);
        large += asked_run(&s->large, s->slice, in_flight);
    }
    hops_stop(&h);
    result_add(total / (double)bare, "spawn.%s_%u.bare", name, in_flight);
    if (hops > 0)
        result_add(total / (double)hops, "spawn.%s_%u.hops", name, in_flight);
    result_add(total / (double)small, "spawn.%s_%u.daemon", name, in_flight);
    result_add(total / (double)large, "spawn.%s_%u.large", name, in_flight);
}

void part_spawn(const struct env *env, unsigned round)
{
    static struct spawners s;
    char path[PATH_BYTES];

    (void)round;
    s.slice = env->quick ? SLICE_SPAWNS_QUICK : SLICE_SPAWNS;
    s.bare.null = open("/dev/null", O_RDWR | O_CLOEXEC);
    asked_start(&s.small, env);
    asked_start(&s.large, env);
    asked_grow(&s.large, env);
    bench_program(env, "true", path);
    measure(&s, "static", path, 1);
    measure(&s, "static", path, IN_FLIGHT);
    measure(&s, "true", "/bin/true", 1);
    measure(&s, "true", "/bin/true", IN_FLIGHT);
    asked_stop(&s.small);
    asked_stop(&s.large);
    close(s.bare.null);
}

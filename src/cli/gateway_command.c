/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway_command.c - the gateway's parent process: sockets, workers, signals
 *
 * The parent serves no clients. It opens the sockets, forks a worker for each set of them and
 * replaces workers that die. On SIGHUP it starts a new worker beside each old one, then drains the
 * old one. Layer: cli.
 */
#include "cli/gateway_command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/signals.h"
#include "cli/token_file.h"
#include "gateway/gateway_shared.h"
#include "gateway/redis.h"

#define READY_MS 10000 /* for a new worker to become ready */
#define BACKOFF_MS 500 /* between two deaths of one worker */

struct seat {
    pid_t pid; /* 0: free */
    size_t index;
    bool leaving;
};

struct parent {
    struct gateway_run *run;
    struct seat seats[SHARED_SEATS];
    uint64_t died_ms[GATEWAY_WORKERS_MAX];
    int signal_fd;
    bool stopping;
};

/* --- sockets --------------------------------------------------------------------------- */

static int fail(const struct hf_error *err)
{
    return cli_complain("gateway", 1, "%s", err->detail);
}

/* The address of the first socket, with its port; the others listen there, too. */
static const char *same_address(const struct listen_socket *first)
{
    return strncmp(first->url, "http://", 7) == 0 ? first->url + 7 : first->url;
}

static int open_door(struct gateway_run *run, const char *address)
{
    struct listen_socket *door = run->doors[run->door_count];
    struct hf_error err = {0};
    bool shared = strncmp(address, "unix:", 5) != 0 && strncmp(address, "fd:", 3) != 0;

    if (listen_open_shared(address, shared, &door[0], &err) < 0)
        return fail(&err);
    for (size_t i = 1; i < (size_t)run->cli.workers; i++) {
        if (!shared)
            door[i] = door[0];
        else if (listen_open_shared(same_address(&door[0]), true, &door[i], &err) < 0)
            return fail(&err);
    }
    run->door_count++;
    return 0;
}

static int open_sockets(struct gateway_run *run)
{
    struct hf_error err = {0};
    int rc = 0;

    if (run->cli.listen.count > GATEWAY_LISTEN_MAX || run->cli.admin.count > GATEWAY_LISTEN_MAX)
        return cli_complain("gateway", 2, "too many addresses");
    for (size_t i = 0; rc == 0 && i < run->cli.listen.count; i++)
        rc = open_door(run, run->cli.listen.items[i]);
    for (size_t i = 0; rc == 0 && i < run->cli.admin.count; i++) {
        if (listen_open(run->cli.admin.items[i], &run->admin[run->admin_count], &err) < 0)
            return fail(&err);
        run->admin_count++;
    }
    return rc;
}

static void announce(const struct gateway_run *run)
{
    char line[256];

    for (size_t i = 0; i < run->door_count; i++) {
        const char *url = run->doors[i][0].url;
        bool tls = run->cli.tls_cert != NULL && strncmp(url, "http://", 7) == 0;
        int n = snprintf(line, sizeof line, "listening on %s%s\n", tls ? "https://" : "",
                         tls ? url + 7 : url);

        io_write_all(STDOUT_FILENO, line, (size_t)n);
    }
    for (size_t i = 0; i < run->admin_count; i++) {
        int n = snprintf(line, sizeof line, "admin on %s\n", run->admin[i].url);

        io_write_all(STDOUT_FILENO, line, (size_t)n);
    }
}

/* --- workers ----------------------------------------------------------------------------- */

static bool wait_ready(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char byte;

    return poll(&p, 1, READY_MS) == 1 && hf_read(fd, &byte, 1) == 1;
}

/* False: it did not start. */
static bool worker_start(struct parent *p, size_t index)
{
    int seat = shared_take_seat(p->run->shared), ready[2];
    bool up;
    pid_t pid;

    if (seat < 0 || pipe2(ready, O_CLOEXEC) < 0)
        return false;
    pid = fork();
    if (pid == 0) {
        close(ready[0]);
        close(p->signal_fd);
        _exit(gateway_worker_main(p->run, index, (size_t)seat, ready[1]));
    }
    close(ready[1]);
    up = pid > 0 && wait_ready(ready[0]);
    close(ready[0]);
    if (pid > 0)
        p->seats[seat] = (struct seat){.pid = pid, .index = index};
    else
        shared_leave_seat(p->run->shared, (size_t)seat);
    return up;
}

static void worker_leave(struct seat *s)
{
    s->leaving = true;
    kill(s->pid, SIGTERM);
}

static void on_dead(struct parent *p, pid_t pid, int status)
{
    for (size_t i = 0; i < SHARED_SEATS; i++) {
        struct seat *s = &p->seats[i];
        bool leaving = s->leaving || p->stopping;
        size_t index = s->index;

        if (s->pid != pid)
            continue;
        *s = (struct seat){0};
        shared_leave_seat(p->run->shared, i);
        if (leaving)
            return;
        log_error("worker %d ended with status %d", (int)pid, status);
        if (clock_mono_ms() - p->died_ms[index] < BACKOFF_MS)
            poll(NULL, 0, BACKOFF_MS);
        p->died_ms[index] = clock_mono_ms();
        worker_start(p, index);
        return;
    }
}

static void reap(struct parent *p)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        on_dead(p, pid, status);
}

/* New workers start first, so that connections are always accepted. */
static void reload(struct parent *p)
{
    struct seat *old[SHARED_SEATS];
    size_t count = 0;

    log_info("reloading");
    if (gateway_worker_check(p->run) != 0) {
        log_error("keeping the old workers");
        return;
    }
    for (size_t i = 0; i < SHARED_SEATS; i++) {
        if (p->seats[i].pid != 0 && !p->seats[i].leaving)
            old[count++] = &p->seats[i];
    }
    for (size_t i = 0; i < count; i++) {
        if (worker_start(p, old[i]->index))
            worker_leave(old[i]);
    }
}

static bool any_left(const struct parent *p)
{
    for (size_t i = 0; i < SHARED_SEATS; i++) {
        if (p->seats[i].pid != 0)
            return true;
    }
    return false;
}

/* No worker will accept any more: let connections be refused at once. */
static void close_sockets(struct gateway_run *run)
{
    for (size_t i = 0; i < run->door_count; i++) {
        for (size_t w = 0; w < (size_t)run->cli.workers; w++) {
            if (w == 0 || run->doors[i][w].fd != run->doors[i][0].fd)
                io_close(&run->doors[i][w].fd);
        }
    }
    for (size_t i = 0; i < run->admin_count; i++)
        io_close(&run->admin[i].fd);
}

static void stop(struct parent *p)
{
    if (!p->stopping)
        close_sockets(p->run);
    p->stopping = true;
    for (size_t i = 0; i < SHARED_SEATS; i++) {
        if (p->seats[i].pid != 0)
            worker_leave(&p->seats[i]);
    }
}

static void parent_loop(struct parent *p)
{
    struct signalfd_siginfo info;

    while (any_left(p)) {
        if (hf_read(p->signal_fd, &info, sizeof info) != (ssize_t)sizeof info)
            continue;
        if (info.ssi_signo == SIGCHLD)
            reap(p);
        else if (info.ssi_signo == SIGHUP)
            reload(p);
        else
            stop(p);
        reap(p); /* one SIGCHLD may stand for several */
    }
}

/* --- the command ---------------------------------------------------------------------------- */

static void write_pid(const char *path)
{
    FILE *f = path != NULL ? fopen(path, "we") : NULL;

    if (f == NULL)
        return;
    fprintf(f, "%d\n", (int)getpid());
    fclose(f);
}

static int run_workers(struct gateway_run *run)
{
    static const int wanted[] = {SIGCHLD, SIGHUP, SIGTERM, SIGINT, 0};
    struct parent p = {.run = run, .signal_fd = signals_open(wanted, 0)};

    for (size_t i = 0; i < (size_t)run->cli.workers; i++) {
        if (!worker_start(&p, i)) {
            stop(&p);
            parent_loop(&p);
            return 1;
        }
    }
    write_pid(run->cli.pid_file);
    announce(run);
    parent_loop(&p);
    close(p.signal_fd);
    return 0;
}

int gateway_main(int argc, char **argv)
{
    static struct gateway_run run;
    int rc = gateway_cli_parse(&run.cli, argc, argv);

    if (rc >= 0)
        return rc;
    log_set_part("gateway");
    token_take_env(REDIS_PASSWORD_ENV, &run.redis_password);
    run.shared = shared_new();
    rc = gateway_worker_check(&run);
    rc = rc != 0 ? rc : gateway_confine_check(&run) < 0;
    rc = rc != 0 ? rc : open_sockets(&run);
    if (rc == 0 && run.cli.to.no_auth)
        log_warn("--no-auth: anyone who can reach this gateway can reach every allowed port");
    if (rc == 0 && run.cli.to.registration.takes_unsigned)
        log_warn(
            "--unsigned-registrations: anyone who can write to Redis can impersonate any sandbox");
    rc = rc != 0 ? rc : run_workers(&run);
    buf_wipe(&run.redis_password);
    shared_free(run.shared);
    return rc;
}

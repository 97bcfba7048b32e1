/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway_worker.c - a worker of the gateway: reads files, serves its sockets, runs the loop
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/program.h"
#include "base/signals.h"
#include "cli/confine.h"
#include "cli/gateway_command.h"
#include "gateway/gateway_shared.h"
#include "transport/origin.h"

#define FILE_MAX_BYTES 65536

struct gateway_worker {
    struct gateway_run *run;
    struct loop *loop;
    struct gateway *gateway;
    struct gateway_options o;
    struct origin *origin;
    struct tls_context *tls;
    struct watch *signals;
    int signal_fd, log_fd;
    bool leaving;
};

static int complain(const struct hf_error *err)
{
    log_error("%s", err->detail);
    return 1;
}

static int read_secret(const char *path, struct buf *out)
{
    int rc = path != NULL ? io_read_file(path, FILE_MAX_BYTES, out) : 0;

    if (rc < 0)
        log_error("cannot read %s: %s", path, strerror(-rc));
    return rc < 0 ? 1 : 0;
}

/*
 * A log whose reader stalls must not block the worker. O_NONBLOCK on standard output would affect
 * every process that shares it, so a pipe or terminal is reopened. A file never blocks, and on a
 * socket each call can be non-blocking.
 */
static int open_stdout(void)
{
    struct stat st;
    int fd = -1;

    if (fstat(STDOUT_FILENO, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISSOCK(st.st_mode))
        fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd >= 0 ? fd : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
}

/* A fifo is opened for reading and writing: it may have no reader yet, or lose it. */
static int open_log_file(const char *path)
{
    struct stat st;
    bool fifo = stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
    int flags = (fifo ? O_RDWR : O_WRONLY | O_CREAT) | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

    return open(path, flags, 0640);
}

static int open_log(struct gateway_worker *w)
{
    const char *path = w->run->cli.access_log;
    struct stat st;

    w->log_fd = -1;
    if (path == NULL)
        return 0;
    w->log_fd = strcmp(path, "-") == 0 ? open_stdout() : open_log_file(path);
    if (w->log_fd < 0) {
        log_error("cannot write %s: %s", path, strerror(errno));
        return 1;
    }
    w->o.access_log = w->log_fd;
    w->o.access_log_socket = fstat(w->log_fd, &st) == 0 && S_ISSOCK(st.st_mode);
    return 0;
}

/* Two descriptors per request; nothing else in this process needs the old limit. */
static void raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Everything but sockets. */
static int worker_make(struct gateway_worker *w, size_t seat)
{
    const struct gateway_cli *cli = &w->run->cli;
    struct hf_error err = {0};
    int rc;

    w->o = cli->to;
    raise_descriptors();
    http_options_fit(&w->o.http);
    w->log_fd = w->signal_fd = -1;
    w->o.worker = seat;
    w->o.shared = w->run->shared;
    rc = read_secret(cli->token_file, &w->o.tokens);
    rc = rc != 0 ? rc : read_secret(cli->link_key_file, &w->o.link_key);
    rc = rc != 0 ? rc : read_secret(cli->register_key_file, &w->o.registration.key);
    w->o.redis_password = w->run->redis_password.len > 0 ? buf_cstr(&w->run->redis_password) : NULL;
    rc = rc != 0 ? rc : open_log(w);
    w->o.origin = w->origin = origin_new();
    rc = rc != 0 ? rc : opt_allow_origins(&cli->cors_origin, w->origin) < 0;
    if (rc == 0 && cli->tls_cert != NULL &&
        (w->tls = tls_context_new(cli->tls_cert, cli->tls_key, &err)) == NULL)
        return complain(&err);
    if (rc != 0)
        return rc;
    w->loop = loop_new();
    w->gateway = gateway_new(w->loop, &w->o, &err);
    return w->gateway != NULL ? 0 : complain(&err);
}

static void worker_free(struct gateway_worker *w)
{
    watch_close(w->signals);
    gateway_free(w->gateway);
    loop_free(w->loop);
    origin_free(w->origin);
    tls_context_free(w->tls);
    buf_wipe(&w->o.tokens);
    buf_wipe(&w->o.link_key);
    buf_wipe(&w->o.registration.key);
    io_close(&w->signal_fd);
    io_close(&w->log_fd);
}

int gateway_worker_check(struct gateway_run *run)
{
    struct gateway_shared *ours = run->shared; /* set aside: the check must not use its counters */
    struct gateway_worker w = {.run = run};
    int rc = 1;

    run->shared = shared_new();
    if (run->shared != NULL)
        rc = worker_make(&w, 0);
    worker_free(&w);
    shared_free(run->shared);
    run->shared = ours;
    return rc;
}

static void worker_on_drained(void *arg)
{
    loop_stop(((struct gateway_worker *)arg)->loop);
}

static void worker_on_signal(struct watch *watch, int events, void *arg)
{
    struct gateway_worker *w = arg;
    struct signalfd_siginfo info;

    (void)watch, (void)events;
    while (hf_read(w->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (w->leaving) {
            gateway_cut(w->gateway);
            loop_stop(w->loop); /* second signal: stop now */
            return;
        }
        w->leaving = true;
        gateway_drain(w->gateway, (uint32_t)w->run->cli.drain_ms, worker_on_drained, w);
    }
}

static void worker_watch_signals(struct gateway_worker *w)
{
    static const int wanted[] = {SIGTERM, SIGINT, 0};

    w->signal_fd = signals_open(wanted, SFD_NONBLOCK);
    w->signals = watch_new(w->loop, w->signal_fd, worker_on_signal, w);
    watch_set(w->signals, LOOP_READ);
}

static void worker_listen(struct gateway_worker *w, size_t index)
{
    const struct gateway_run *run = w->run;

    for (size_t i = 0; i < run->door_count; i++)
        gateway_listen(w->gateway, &run->doors[i][index], w->tls);
    for (size_t i = 0; i < run->admin_count; i++)
        gateway_listen_admin(w->gateway, &run->admin[i]);
}

int gateway_worker_main(struct gateway_run *run, size_t index, size_t seat, int ready_fd)
{
    struct gateway_worker w = {.run = run};
    int rc;

    log_set_part("gateway");
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    signal(SIGPIPE, SIG_IGN);
    program_tune_heap();
    rc = worker_make(&w, seat);
    if (rc == 0) {
        worker_watch_signals(&w);
        worker_listen(&w, index);
        rc = gateway_confine(run, seat == 0) < 0 ? 1 : 0;
    }
    if (rc == 0) {
        io_write_all(ready_fd, "r", 1);
        close(ready_fd);
        loop_run(w.loop);
    }
    worker_free(&w);
    program_check_leaks();
    return rc;
}

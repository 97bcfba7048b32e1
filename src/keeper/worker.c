/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.c - starts the worker, and another one when it dies
 *
 * A new worker is forked in the same turn in which the old one is found dead. Only when workers
 * repeatedly fail right after their start does the keeper wait before the next one; the wait
 * doubles up to a bound. A worker that became ready and was killed from outside (by an operator, or
 * by the OOM killer) has not failed: the next one starts at once, or after a short wait if this
 * keeps happening. Layer: keeper.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/signals.h"
#include "keeper/flood_weight.h"
#include "keeper/keeper_own.h"
#include "keeper/keeper_proto.h"
#include "keeper/spawn.h"

#define WORKER_FAST_MS 100  /* a death within this time after being ready is early */
#define WORKER_FAULTS_MAX 3 /* early deaths by its own fault before there is a wait */
#define WORKER_EARLY_MAX 10 /* early deaths by any cause before there is a wait */
#define WORKER_EARLY_WAIT_MS 50
#define WORKER_CRASHES_MAX 5 /* then the shared state may be the cause and is renewed */
#define WORKER_IO_TRIES 3 /* to read a dead worker's I/O counts, which are lost once it is reaped */
#define WORKER_WAIT_MS 100
#define WORKER_WAIT_MAX_MS 5000

void worker_init(struct keeper *k)
{
    k->worker = (struct worker){.start_at_ms = 0};
    channel_init(&k->worker.channel);
}

unsigned worker_backoff_ms(unsigned faults, unsigned early_ends)
{
    unsigned wait = WORKER_WAIT_MS;

    if (faults < WORKER_FAULTS_MAX)
        return early_ends < WORKER_EARLY_MAX ? 0 : WORKER_EARLY_WAIT_MS;
    for (unsigned i = WORKER_FAULTS_MAX; i < faults && wait < WORKER_WAIT_MAX_MS; i++)
        wait *= 2;
    return wait < WORKER_WAIT_MAX_MS ? wait : WORKER_WAIT_MAX_MS;
}

/* --- in the child --------------------------------------------------------- */

/* Closes what only the keeper needs. The entries' descriptors and the carried ones stay. */
static void worker_close_inherited(struct keeper *k)
{
    struct list *it, *tmp;

    io_close(&k->signal_fd);
    io_close(&k->guard.oom_fd);
    io_close(&k->reload.fd);
    io_close(&k->upgrade.report_fd);
    channel_close(&k->worker.channel);
    deposit_detach(k);
    inherited_fini(k);
    io_close(&k->spawns.null_fd);
    /* A copy here would delay the end of output of the process that gets them. */
    spare_streams_fini(&k->spawns.spares);
    io_close(&k->cgroup.dir_fd);
    list_for_each (it, tmp, &k->cgroup.idle)
        io_close(&list_entry(it, struct cgroup_slot, link)->dir_fd);
    list_for_each (it, tmp, &k->spawns.flying)
        spawn_close_fds(list_entry(it, struct spawn, link));
}

/*
 * The keeper decides when the worker exits, so signals that a terminal or an operator sends to the
 * whole group do not reach it. The worker dies with the keeper.
 */
static void worker_set_signals(const struct keeper *k)
{
    static const int blocked[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    sigset_t set;

    if (keeper_guard_worker(k->pid) < 0)
        _exit(0);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof blocked / sizeof *blocked; i++)
        sigaddset(&set, blocked[i]);
    sigprocmask(SIG_SETMASK, &set, NULL);
}

int keeper_guard_worker(pid_t keeper_pid)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return -errno;
    /* It may have died before the call. */
    return getppid() == keeper_pid ? 0 : -ESRCH;
}

static struct keeper_entry *worker_copy_entries(const struct keeper *k)
{
    struct keeper_entry *copy = hf_xalloc((k->table.count + 1) * sizeof *copy);
    size_t n = 0;

    for (struct entry *e = table_first(&k->table); e != NULL; e = table_next(&k->table, e))
        copy[n++] = e->pub;
    return copy;
}

__attribute__((noreturn)) static void worker_run(struct keeper *k, int channel_fd)
{
    struct keeper_boot boot = {
        .channel_fd = channel_fd,
        .state_fd = k->state_fd,
        .siding = {k->siding[0], k->siding[1]},
        .entry_count = k->table.count,
        .generation = k->worker.generation,
        .keeper_pid = k->pid,
        .has_cgroup = k->cgroup.dir_fd >= 0,
        .is_first = !k->deposit.well_sent,
    };

    (void)prctl(PR_SET_NAME, "holdfast-worker", 0, 0, 0);
    log_set_part("worker");
    worker_set_signals(k);
    deposit_worker_started(k);
    worker_close_inherited(k);
    /* Our memory is private now, whatever a child did to the keeper's. */
    (void)prctl(PR_SET_DUMPABLE, k->guard.dumpable, 0, 0, 0);
    boot.entries = worker_copy_entries(k);
    memcpy(boot.past, k->worker.past, sizeof boot.past);
    _exit(k->options->worker_main(&boot, k->options->arg));
}

/* --- in the keeper -------------------------------------------------------- */

static void worker_try_later(struct keeper *k, const char *what, int error)
{
    log_error("cannot start a worker: %s: %s", what, strerror(error));
    k->worker.start_at_ms = clock_mono_ms() + WORKER_WAIT_MS;
}

static void worker_start(struct keeper *k)
{
    struct worker *w = &k->worker;
    int worker_end, rc;
    pid_t pid;

    /* The new worker does not know the requests of these children. */
    spawns_abandon(k);
    rc = channel_open(&w->channel, &worker_end);
    if (rc < 0) {
        worker_try_later(k, "socket", -rc);
        return;
    }
    w->generation++;
    guard_lift(&k->guard);
    deferred_wake(k);
    pid = fork();
    if (pid == 0)
        worker_run(k, worker_end);
    rc = errno;
    close(worker_end);
    if (pid < 0) {
        channel_close(&w->channel);
        worker_try_later(k, "fork", rc);
        return;
    }
    w->pid = pid;
    w->ready = w->refused = w->inherited = false;
    w->start_at_ms = DEADLINE_NONE;
    log_debug("worker %d started", (int)pid);
}

void worker_step(struct keeper *k, uint64_t now_ms)
{
    if (k->worker.pid != 0 || k->shutdown.phase != SHUTDOWN_NONE ||
        k->upgrade.phase >= UPGRADE_RETIRE)
        return;
    if (now_ms >= k->worker.start_at_ms)
        worker_start(k);
}

void worker_kill(struct keeper *k, const char *why)
{
    if (k->worker.pid <= 0)
        return;
    if (why != NULL) {
        log_error("killing worker %d: %s", (int)k->worker.pid, why);
        k->worker.refused = true;
    }
    kill(k->worker.pid, SIGKILL);
    channel_close(&k->worker.channel);
}

/* A closed channel means a dead worker. */
void worker_kill_for_channel(struct keeper *k, int rc)
{
    if (rc == -ENOBUFS)
        worker_kill(k, "it stopped reading from the keeper");
    else
        worker_kill(k, rc == -EPIPE || rc == -ECONNRESET ? NULL : strerror(-rc));
}

void worker_on_ready(struct keeper *k)
{
    if (!k->worker.ready)
        k->worker.ready_ms = clock_mono_ms();
    k->worker.ready = true;
    deposit_well(k);
}

/* The counts of earlier workers stay: this one may have died before it processed them. */
void worker_note_io(struct keeper *k)
{
    struct worker *w = &k->worker;

    memmove(w->past + 1, w->past, sizeof w->past - sizeof *w->past);
    w->past[0].pid = w->pid;
    w->past[0].known = false;
    for (int i = 0; i < WORKER_IO_TRIES && !w->past[0].known; i++)
        w->past[0].known =
            io_count_of(w->pid, k->options->worker_uid, k->options->worker_gid, &w->past[0].count);
    deposit_worker_io(k);
}

static void worker_log_exit(pid_t pid, int status)
{
    if (WIFSIGNALED(status))
        log_warn("worker %d was killed by %s", (int)pid, signal_name(WTERMSIG(status)));
    else
        log_warn("worker %d ended with code %d", (int)pid, WEXITSTATUS(status));
}

/* Signals that a process causes by its own faults, and exits with an error. */
static bool status_is_crash(int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status) != 0;
    switch (WTERMSIG(status)) {
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGABRT:
    case SIGSYS: return true;
    default: return false;
    }
}

/* Decides when the next one starts. */
static void worker_plan_next(struct keeper *k, int status, uint64_t now_ms)
{
    struct worker *w = &k->worker;
    bool early = !w->ready || now_ms - w->ready_ms < WORKER_FAST_MS;
    bool fault = early && (!w->ready || w->refused || status_is_crash(status));
    unsigned wait;

    w->early_ends = early ? w->early_ends + 1 : 0;
    w->faults = fault ? w->faults + 1 : 0;
    w->crashes = fault && WIFSIGNALED(status) && status_is_crash(status) ? w->crashes + 1 : 0;
    if (w->crashes == WORKER_CRASHES_MAX)
        keeper_renew_state(k);
    wait = worker_backoff_ms(w->faults, w->early_ends);
    if (wait > 0)
        log_warn("worker died %u times in a row, waiting %u ms before the next", w->early_ends,
                 wait);
    w->start_at_ms = now_ms + wait;
}

void worker_on_exit(struct keeper *k, int status)
{
    struct worker *w = &k->worker;
    bool orderly = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    pid_t pid = w->pid;

    requests_drain(k);
    flood_weight_end(k);
    channel_close(&w->channel);
    w->pid = 0;
    if (k->shutdown.phase != SHUTDOWN_NONE || k->upgrade.phase == UPGRADE_RETIRE) {
        k->shutdown.orderly = orderly;
        if (!orderly)
            worker_log_exit(pid, status);
        w->start_at_ms = 0;
        return;
    }
    worker_log_exit(pid, status);
    worker_plan_next(k, status, clock_mono_ms());
}

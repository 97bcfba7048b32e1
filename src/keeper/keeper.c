/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper.c - the keeper's life: set-up, the loop and shutdown
 *
 * The loop uses poll(2): there are three descriptors, plus one per child that has not been executed
 * yet, and those change with every spawn. With nothing to do it sleeps in one call without a
 * timeout. Layer: keeper.
 */
#include "keeper/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/program.h"
#include "keeper/flood_weight.h"
#include "keeper/keeper_own.h"
#include "keeper/spawn.h"
#include "keeper/tree_signal.h"
#include "keeper/upgrade_state.h"

#define LOOP_OWN_POLLS 3   /* signals, worker, vault */
#define FDS_MARK_MAX 65536 /* without close_range(2): highest inherited descriptor considered */

/* --- set-up --------------------------------------------------------------- */

/* A child's descriptors are moved to 0, 1 and 2, so nothing else may be there. */
static void setup_standard_fds(void)
{
    while (true) {
        int fd = streams_open_null();

        if (fd > 2) {
            close(fd);
            return;
        }
        if (fd < 0)
            return;
        (void)fcntl(fd, F_SETFD, 0);
    }
}

/* Children must not get descriptors that we inherited. The carried ones stay for workers. */
static void setup_inherited_fds(void)
{
#ifdef CLOSE_RANGE_CLOEXEC
    if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
        return;
#endif
    for (int fd = 3; fd < FDS_MARK_MAX; fd++)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/*
 * Uses the system call: the C library reserves two signals and hides that our parent ignored them.
 * A handler stays.
 */
static void setup_default(int sig)
{
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        uint64_t mask;
    } now = {0};

    if (syscall(SYS_rt_sigaction, sig, NULL, &now, sizeof now.mask) < 0 || now.handler != SIG_IGN)
        return;
    memset(&now, 0, sizeof now);
    (void)syscall(SYS_rt_sigaction, sig, &now, NULL, sizeof now.mask);
}

/*
 * Blocks all signals except those that report our own faults; the ones we act on arrive through a
 * descriptor. None stays ignored: children inherit that, and so need not reset anything.
 */
static int setup_signals(struct keeper *k)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
    static const int wanted[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    sigset_t set;

    sigfillset(&set);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&set, faults[i]);
    sigprocmask(SIG_SETMASK, &set, NULL);
    for (int sig = 1; sig < NSIG; sig++)
        setup_default(sig);
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        sigaddset(&set, wanted[i]);
    k->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return k->signal_fd < 0 ? -errno : 0;
}

/* Three or four descriptors per process add up; children get the old limit back. */
static void setup_limits(struct keeper *k)
{
    struct rlimit raised;

    if (getrlimit(RLIMIT_NOFILE, &k->nofile) < 0)
        return;
    raised = k->nofile;
    raised.rlim_cur = raised.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &raised);
}

/* Without it, floods are read like any other output. */
static void setup_siding(struct keeper *k)
{
    deposit_take_siding(k);
    if (k->siding[0] >= 0)
        return;
    if (pipe2(k->siding, O_CLOEXEC | O_NONBLOCK) == 0 &&
        fcntl(k->siding[0], F_SETPIPE_SZ, KEEPER_SIDING_BYTES) > 0)
        return;
    io_close(&k->siding[0]);
    io_close(&k->siding[1]);
}

static void setup_pid_file(const struct keeper *k)
{
    const char *path = k->options->pid_file;
    hf_autoclose int fd = -1;
    char text[16];
    int len;

    if (path == NULL)
        return;
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    len = snprintf(text, sizeof text, "%d\n", (int)deposit_main_pid(k));
    if (fd < 0 || hf_write(fd, text, (size_t)len) != len)
        log_warn("cannot write %s: %s", path, strerror(errno));
}

static int setup(struct keeper *k, const struct keeper_options *options, int resume_fd)
{
    int rc;

    *k = (struct keeper){.options = options,
                         .pid = getpid(),
                         .resumed = resume_fd >= 0,
                         .signal_fd = -1,
                         .state_fd = -1,
                         .siding = {-1, -1},
                         .reload = {.fd = -1},
                         .upgrade = {.report_fd = -1},
                         .flood_retry_at_ms = DEADLINE_NONE,
                         .deposit = {.ends = {-1, -1, -1}}};
    channel_init(&k->deposit.channel);
    log_set_part("keeper");
    (void)prctl(PR_SET_NAME, "holdfast-keeper", 0, 0, 0);
    setup_standard_fds();
    setup_inherited_fds();
    setup_limits(k);
    guard_begin(&k->guard);
    table_init(&k->table);
    (void)cgroup_resume(&k->cgroup, "", 0);
    spawns_init(k);
    deferred_init(k);
    tree_signal_init(k);
    worker_init(k);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    rc = setup_signals(k);
    if (rc == 0)
        rc = deposit_attach(k, options->vault);
    if (resume_fd >= 0) {
        unsetenv(KEEPER_RESUME_ENV);
        rc = rc < 0 ? rc : state_load(k, resume_fd);
        close(resume_fd);
    } else {
        cgroup_init(&k->cgroup, k->pid);
    }
    if (rc == 0)
        rc = keeper_open_state(k);
    if (rc == 0) {
        setup_siding(k);
        setup_pid_file(k);
        deposit_adopt(k);
        deposit_daemon(k);
    }
    return rc;
}

/* --- the loop ------------------------------------------------------------- */

/* A signal meant for the programs: sent to every leader's group. */
static void signals_forward(struct keeper *k, int signum)
{
    for (struct entry *e = table_first(&k->table); e != NULL; e = table_next(&k->table, e)) {
        if (!e->pub.exited && e->spawn == NULL)
            (void)kill(-e->pub.pid, signum);
    }
}

static void signal_handle(struct keeper *k, const struct signalfd_siginfo *info, bool *reap)
{
    switch ((int)info->ssi_signo) {
    case SIGCHLD:
        reap_hinted(k, (pid_t)info->ssi_pid);
        *reap = true;
        break;
    case SIGTERM:
    case SIGINT: keeper_shutdown_begin(k); break;
    case SIGHUP:
        reload_begin(k, NULL);
        upgrade_begin(k);
        break;
    default: signals_forward(k, (int)info->ssi_signo);
    }
}

/* Repeated signals of one kind are merged, so reap every dead child. */
static void signals_read(struct keeper *k)
{
    struct signalfd_siginfo info[4];
    bool reap = false;
    ssize_t n = hf_read(k->signal_fd, info, sizeof info);

    for (ssize_t i = 0; i < n / (ssize_t)sizeof *info; i++)
        signal_handle(k, &info[i], &reap);
    if (reap)
        reap_children(k);
}

static void channel_retry(struct keeper *k)
{
    int rc = channel_flush(&k->worker.channel);

    if (rc < 0)
        worker_kill_for_channel(k, rc);
}

static void channel_on_event(struct keeper *k, short events)
{
    if (events & POLLOUT)
        channel_retry(k);
    if (events & ~POLLOUT)
        requests_read(k);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static int loop_timeout(const struct keeper *k)
{
    uint64_t deadline = earlier(keeper_shutdown_deadline(k), upgrade_deadline(k));
    uint64_t now;

    deadline = earlier(deadline, deferred_deadline(k));
    deadline = earlier(deadline, reload_deadline(k));
    deadline = earlier(deadline, deposit_deadline(k));
    deadline = earlier(deadline, k->flood_retry_at_ms);
    if (k->worker.channel.stalled)
        deadline = earlier(deadline, clock_mono_ms() + CHANNEL_RETRY_MS);
    if (k->spawns.count > 0)
        deadline = earlier(deadline, spawns_deadline(k));
    if (k->worker.pid == 0 && k->shutdown.phase == SHUTDOWN_NONE &&
        k->upgrade.phase < UPGRADE_RETIRE)
        deadline = earlier(deadline, k->worker.start_at_ms);
    if (deadline == DEADLINE_NONE)
        return -1;
    now = clock_mono_ms();
    if (deadline <= now)
        return 0;
    return deadline - now > INT_MAX ? INT_MAX : (int)(deadline - now);
}

static struct pollfd loop_channel_poll(const struct channel *l)
{
    return (struct pollfd){.fd = l->fd,
                           .events = (short)(POLLIN | (channel_wants_write(l) ? POLLOUT : 0))};
}

/* Signals, worker, vault, inherited processes, then children before exec; returns their number. */
static size_t loop_set_polls(struct keeper *k)
{
    size_t count = LOOP_OWN_POLLS + k->inherited.count + k->spawns.count;

    if (count > k->poll_cap) {
        k->poll_cap = count * 2;
        k->polls = hf_xrealloc(k->polls, k->poll_cap * sizeof *k->polls);
    }
    k->polls[0] = (struct pollfd){.fd = k->signal_fd, .events = POLLIN};
    k->polls[1] = loop_channel_poll(&k->worker.channel);
    k->polls[2] = loop_channel_poll(&k->deposit.channel);
    inherited_poll_set(k, k->polls + LOOP_OWN_POLLS);
    spawns_poll_set(k, k->polls + LOOP_OWN_POLLS + k->inherited.count);
    return count;
}

static void loop_run(struct keeper *k)
{
    while (k->shutdown.phase < SHUTDOWN_DONE) {
        size_t count = loop_set_polls(k), first = LOOP_OWN_POLLS + k->inherited.count;
        uint64_t now;

        if (io_poll(k->polls, count, loop_timeout(k)) > 0) {
            /* In this order: an exec comes before the exit of the same child. */
            spawns_poll_done(k, k->polls + first, count - first);
            if (k->polls[0].revents != 0)
                signals_read(k);
            if (k->polls[1].revents != 0)
                channel_on_event(k, k->polls[1].revents);
            if (k->polls[2].revents != 0)
                deposit_read(k);
            inherited_poll_done(k, k->polls + LOOP_OWN_POLLS, first - LOOP_OWN_POLLS);
        }
        inherited_step(k);
        if (k->worker.channel.stalled)
            channel_retry(k);
        /* A shutdown may be requested: check before another worker is started. */
        if (k->worker.pid == 0)
            signals_read(k);
        now = clock_mono_ms();
        spawns_step(k, now);
        deferred_step(k, now);
        flood_weight_step(k, now);
        keeper_shutdown_step(k, now);
        upgrade_step(k, now);
        reload_step(k, now);
        deposit_step(k, now);
        worker_step(k, now);
    }
}

/* --- shutdown -------------------------------------------------------------- */

/* The vault keeps everything when we leave, so the cgroups stay as well. */
static void teardown_cgroups(struct keeper *k)
{
    bool left = k->shutdown.phase == SHUTDOWN_LEFT;

    for (struct entry *e = table_first(&k->table); e != NULL; e = table_next(&k->table, e)) {
        if (e->slot != NULL && !left)
            cgroup_release(&k->cgroup, e->slot);
        else if (e->slot != NULL)
            cgroup_abandon(e->slot);
        e->slot = NULL;
    }
    cgroup_fini(&k->cgroup, !left);
}

/* Releases what only we own: descriptors, memory, process settings. */
static void teardown(struct keeper *k)
{
    channel_close(&k->worker.channel);
    spawns_abandon(k);
    teardown_cgroups(k);
    table_fini(&k->table);
    spawns_fini(k);
    deposit_detach(k);
    inherited_fini(k);
    guard_end(&k->guard); /* LeakSanitizer could not trace us otherwise */
    io_close(&k->signal_fd);
    io_close(&k->state_fd);
    io_close(&k->reload.fd);
    io_close(&k->upgrade.report_fd);
    io_close(&k->siding[0]);
    io_close(&k->siding[1]);
    free(k->polls);
    tree_signal_once_fini(&k->shutdown.term);
}

/*
 * A first keeper that fails ends the daemon, which has not begun. Any later one leaves everything
 * as it found it, even children that have died since: the vault starts another keeper, which takes
 * them over.
 */
static int cannot_start(struct keeper *k, int rc)
{
    log_error("the keeper cannot start: %s", strerror(-rc));
    if (k->resumed)
        k->shutdown.phase = SHUTDOWN_LEFT;
    else
        deposit_done(k, 1);
    teardown(k);
    return 1;
}

int keeper_run(const struct keeper_options *options, int resume_fd)
{
    struct keeper k;
    int rc = setup(&k, options, resume_fd);

    if (rc < 0)
        return cannot_start(&k, rc);
    /* Children that died while an older keeper was being replaced. */
    reap_children(&k);
    inherited_check(&k);
    if (deposit_is_end_ordered(&k))
        keeper_shutdown_begin(&k);
    worker_step(&k, clock_mono_ms());
    /* The files may have changed between the old binary's last read and now. */
    if (resume_fd >= 0)
        reload_begin(&k, NULL);
    program_release_pages();
    loop_run(&k);
    if (options->pid_file != NULL)
        (void)unlink(options->pid_file);
    if (k.shutdown.phase == SHUTDOWN_LEFT)
        deposit_keep(&k);
    else
        deposit_done(&k, k.shutdown.code);
    reap_children(&k);
    teardown(&k);
    return k.shutdown.code;
}

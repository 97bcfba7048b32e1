/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade.c - replaces the keeper's binary, with the same pid and children
 *
 * First the new binary goes through a trial: it runs beside us with a copy of our state, does
 * everything it would do in our place before serving, and reports whether it could take over. Then
 * the worker leaves, started children finish their exec, and the keeper executes the new binary in
 * its own place. Listening sockets stay open all the time, so clients that connect meanwhile wait
 * in their queue. If anything fails before the exec, the old binary keeps running. After the exec
 * there is no old binary in this process: without a vault, a candidate that passes its trial and
 * then dies ends everything. Layer: keeper.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/signals.h"
#include "keeper/keeper_own.h"
#include "keeper/keeper_proto.h"
#include "keeper/spawn.h"
#include "keeper/upgrade_state.h"

#define UPGRADE_RETIRE_MS 1000
#define UPGRADE_SETTLE_MS 1000
#define UPGRADE_WELL_MS 200 /* upgrade_well_ms() */
#define UPGRADE_WELL_WORK 8

/* `upgrade-check VERSION` and the command line that it would be executed with. */
static void upgrade_check_argv(const struct keeper *k, char *version, char **out, size_t max)
{
    static char check[] = "upgrade-check";
    char *const *argv = k->options->argv;
    size_t n = 3;

    out[0] = (char *)(uintptr_t)k->options->exe_path;
    out[1] = check;
    out[2] = version;
    while (*argv != NULL && n + 1 < max)
        out[n++] = *argv++;
    out[n] = NULL;
}

static size_t argv_count(char *const *argv)
{
    size_t n = 0;

    while (argv[n] != NULL)
        n++;
    return n;
}

/* In the child. It gets a copy of the state and its descriptors, our working directory and our
 * environment, so it does exactly what it would do in our place. */
__attribute__((noreturn)) static void upgrade_exec_check(const struct keeper *k, int report_fd)
{
    size_t max = argv_count(k->options->argv) + 4;
    char **argv = calloc(max, sizeof *argv);
    char version[16], number[16];
    sigset_t none;
    int fd;

    snprintf(version, sizeof version, "%d", KEEPER_STATE_VERSION);
    (void)dup2(k->spawns.null_fd, STDIN_FILENO);
    (void)dup2(report_fd, STDOUT_FILENO);
    (void)dup2(report_fd, STDERR_FILENO);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (argv == NULL || state_save(k, &fd) < 0)
        _exit(127);
    snprintf(number, sizeof number, "%d", fd);
    if (setenv(KEEPER_RESUME_ENV, number, 1) < 0)
        _exit(127);
    state_lend(k);
    upgrade_check_argv(k, version, argv, max);
    execv(argv[0], argv);
    dprintf(STDERR_FILENO, "%s", strerror(errno));
    _exit(127);
}

/* 0 or -errno. */
static int upgrade_start_check(struct keeper *k)
{
    int ends[2], rc;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    pid = fork();
    if (pid == 0)
        upgrade_exec_check(k, ends[1]);
    rc = pid < 0 ? -errno : 0;
    close(ends[1]);
    if (rc < 0) {
        close(ends[0]);
        return rc;
    }
    k->upgrade.report_fd = ends[0];
    k->upgrade.check_pid = pid;
    return 0;
}

void upgrade_begin(struct keeper *k)
{
    int rc;

    if (k->upgrade.phase != UPGRADE_NOT || k->upgrade.check_pid != 0 ||
        k->shutdown.phase != SHUTDOWN_NONE)
        return;
    log_info("upgrade: checking %s", k->options->exe_path);
    rc = upgrade_start_check(k);
    if (rc < 0) {
        log_error("upgrade: fork: %s", strerror(-rc));
        deposit_refused(k);
        return;
    }
    k->upgrade.phase = UPGRADE_CHECK;
    k->upgrade.began_ms = clock_mono_ms();
    k->upgrade.deadline_ms = k->upgrade.began_ms + LIMIT_UPGRADE_CHECK_MS;
}

/* The daemon is shutting down: a worker that has left already is not replaced. */
void upgrade_cancel(struct keeper *k)
{
    if (k->upgrade.check_pid > 0)
        kill(k->upgrade.check_pid, SIGKILL);
    k->upgrade.phase = UPGRADE_NOT;
}

static void upgrade_retire_worker(struct keeper *k)
{
    struct k_simple m = {.type = K_RETIRE};
    int rc;

    k->upgrade.phase = UPGRADE_RETIRE;
    k->upgrade.deadline_ms = clock_mono_ms() + UPGRADE_RETIRE_MS;
    rc = channel_send(&k->worker.channel, &m, sizeof m, NULL, 0);
    if (rc < 0)
        worker_kill_for_channel(k, rc);
}

/* No upgrade may be in progress while we leave. */
void upgrade_leave(struct keeper *k)
{
    if (k->shutdown.phase != SHUTDOWN_NONE || k->upgrade.phase >= UPGRADE_RETIRE)
        return;
    upgrade_cancel(k);
    log_info("exiting; the vault keeps %zu processes", k->table.count);
    k->upgrade.leaving = true;
    upgrade_retire_worker(k);
}

/* Logs the candidate's output line by line, since nothing else shows it. The last line is the
 * reason. */
static void upgrade_read_report(struct keeper *k, char *last, size_t size)
{
    char text[LIMIT_UPGRADE_REPORT_BYTES + 1], *line, *save = NULL;
    ssize_t n = hf_read(k->upgrade.report_fd, text, sizeof text - 1);

    io_close(&k->upgrade.report_fd);
    text[n > 0 ? n : 0] = '\0';
    last[0] = '\0';
    for (line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
        if (last[0] != '\0')
            log_warn("upgrade: the candidate: %s", last);
        snprintf(last, size, "%s", line);
    }
}

static void upgrade_refuse(struct keeper *k, int status, const char *said)
{
    if (WIFSIGNALED(status))
        log_error("upgrade: %s was killed by %s in its trial%s%s; nothing has changed",
                  k->options->exe_path, signal_name(WTERMSIG(status)), said[0] ? ": " : "", said);
    else
        log_error("upgrade: %s cannot take over%s%s; nothing has changed", k->options->exe_path,
                  said[0] ? ": " : "", said);
}

/*
 * How long the new binary may take from its exec until it serves. Clients wait meanwhile, so one
 * that hangs must be given up soon. The trial has just done the same work on the same machine,
 * beside the same load, so a multiple of its time is enough for a good one. A trial that only
 * waited for a processor says less about that: what it waited for counts once.
 */
static int32_t upgrade_well_ms(const struct keeper *k, const struct usage *u)
{
    uint64_t trial = clock_mono_ms() - k->upgrade.began_ms;
    uint64_t work = (u->user_us + u->system_us) / 1000 * UPGRADE_WELL_WORK;

    return (int32_t)(UPGRADE_WELL_MS + trial + (work < 2 * trial ? work : 2 * trial));
}

bool upgrade_on_exit(struct keeper *k, const struct zombie *d)
{
    char said[LIMIT_UPGRADE_REPORT_BYTES + 1];

    if (d->pid != k->upgrade.check_pid)
        return false;
    k->upgrade.check_pid = 0;
    upgrade_read_report(k, said, sizeof said);
    if (k->upgrade.phase != UPGRADE_CHECK)
        return true;
    if (WIFEXITED(d->status) && WEXITSTATUS(d->status) == KEEPER_CHECK_YES) {
        if (said[0] != '\0')
            log_warn("upgrade: the candidate: %s", said);
        k->upgrade.well_ms = upgrade_well_ms(k, &d->usage);
        upgrade_retire_worker(k);
    } else {
        upgrade_refuse(k, d->status, said);
        k->upgrade.phase = UPGRADE_NOT;
        deposit_refused(k);
    }
    return true;
}

/* Returns only on failure, with -errno. */
static int upgrade_exec(struct keeper *k)
{
    char number[16];
    int fd, rc, left = 0;

    /* The last worker died, and only the next one can recover what it was copying. */
    if (k->siding[0] >= 0 && ioctl(k->siding[0], FIONREAD, &left) == 0 && left > 0)
        return -EBUSY;
    rc = state_save(k, &fd);
    if (rc < 0)
        return rc;
    snprintf(number, sizeof number, "%d", fd);
    if (setenv(KEEPER_RESUME_ENV, number, 1) < 0) {
        close(fd);
        return -ENOMEM;
    }
    state_set_cloexec(k, false);
    rc = deposit_trial(k, true);
    if (rc == 0) {
        guard_end(&k->guard);
        execv(k->options->exe_path, k->options->argv);
        rc = -errno;
        guard_begin(&k->guard);
        (void)deposit_trial(k, false);
    }
    state_set_cloexec(k, true);
    unsetenv(KEEPER_RESUME_ENV);
    close(fd);
    return rc;
}

static void upgrade_stay(struct keeper *k)
{
    k->upgrade.phase = UPGRADE_NOT;
    k->upgrade.leaving = false;
    k->worker.start_at_ms = 0;
    deposit_refused(k);
    reload_restart(k);
}

static void upgrade_finish(struct keeper *k)
{
    int rc;

    spawns_abandon(k);
    reload_cancel(k);
    if (k->upgrade.leaving) {
        /* Without a vault nothing would keep the processes. */
        if (deposit_is_complete(k))
            k->shutdown.phase = SHUTDOWN_LEFT;
        else
            upgrade_stay(k);
        return;
    }
    log_info("upgrade: executing %s with a time limit of %d ms", k->options->exe_path,
             (int)k->upgrade.well_ms);
    rc = upgrade_exec(k);
    log_error("upgrade: %s: %s; continuing with the old binary", k->options->exe_path,
              strerror(-rc));
    upgrade_stay(k);
}

void upgrade_step(struct keeper *k, uint64_t now_ms)
{
    bool late = now_ms >= k->upgrade.deadline_ms;

    switch (k->upgrade.phase) {
    case UPGRADE_CHECK:
        if (late) {
            log_error("upgrade: %s did not finish its trial in time; nothing has changed",
                      k->options->exe_path);
            upgrade_cancel(k);
            deposit_refused(k);
        }
        break;
    case UPGRADE_RETIRE:
        if (late)
            worker_kill(k, "it did not exit for the upgrade in time");
        if (k->worker.pid == 0) {
            k->upgrade.phase = UPGRADE_SETTLE;
            k->upgrade.deadline_ms = now_ms + UPGRADE_SETTLE_MS;
        }
        if (late)
            k->upgrade.deadline_ms = now_ms + UPGRADE_RETIRE_MS;
        break;
    case UPGRADE_SETTLE:
        if (late || spawns_are_settled(k))
            upgrade_finish(k);
        break;
    case UPGRADE_NOT: break;
    }
}

uint64_t upgrade_deadline(const struct keeper *k)
{
    if (k->upgrade.phase == UPGRADE_SETTLE && spawns_are_settled(k))
        return 0;
    return k->upgrade.phase == UPGRADE_NOT ? DEADLINE_NONE : k->upgrade.deadline_ms;
}

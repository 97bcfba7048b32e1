/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade.c - the way into another binary, with the same pid and children
 *
 * First the new binary is asked whether it can take over our state; then the
 * worker leaves, children under way finish their exec, and the keeper
 * executes the new binary in its own place. Listening sockets stay open all
 * the time, so whoever connects meanwhile waits in their queue. Whatever
 * fails, the old binary goes on. Layer: keeper.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "keeper/core.h"
#include "keeper/proto.h"
#include "keeper/spawn.h"
#include "keeper/state.h"

#define UPGRADE_CHECK_MS 5000
#define UPGRADE_RETIRE_MS 1000
#define UPGRADE_SETTLE_MS 1000

/* In the child. Descriptors beyond 2 are close-on-exec. */
__attribute__((noreturn)) static void upgrade_exec_check(const struct keeper *k)
{
    const char *exe = k->options->exe_path;
    char version[16];
    sigset_t none;

    snprintf(version, sizeof version, "%d", KEEPER_STATE_VERSION);
    (void)dup2(k->spawns.null_fd, STDIN_FILENO);
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execl(exe, exe, "upgrade-check", version, (char *)NULL);
    _exit(127);
}

void upgrade_begin(struct keeper *k)
{
    pid_t pid;

    if (k->upgrade.phase != UPGRADE_NOT || k->upgrade.check_pid != 0 ||
        k->ending.phase != ENDING_NOT)
        return;
    log_info("upgrade: asking %s", k->options->exe_path);
    pid = fork();
    if (pid == 0)
        upgrade_exec_check(k);
    if (pid < 0) {
        log_error("upgrade: fork: %s", strerror(errno));
        return;
    }
    k->upgrade.check_pid = pid;
    k->upgrade.phase = UPGRADE_CHECK;
    k->upgrade.deadline_ms = clock_mono_ms() + UPGRADE_CHECK_MS;
}

/* The daemon is to end: a worker that has left already is not missed. */
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
    rc = link_send(&k->worker.link, &m, sizeof m, NULL, 0);
    if (rc < 0)
        worker_kill_for_link(k, rc);
}

bool upgrade_on_exit(struct keeper *k, pid_t pid, int status)
{
    if (pid != k->upgrade.check_pid)
        return false;
    k->upgrade.check_pid = 0;
    if (k->upgrade.phase != UPGRADE_CHECK)
        return true;
    if (WIFEXITED(status) && WEXITSTATUS(status) == KEEPER_CHECK_YES) {
        upgrade_retire_worker(k);
    } else {
        log_error("upgrade: %s cannot take over; nothing is changed", k->options->exe_path);
        k->upgrade.phase = UPGRADE_NOT;
    }
    return true;
}

/* Returns only on failure, with -errno. */
static int upgrade_exec(struct keeper *k)
{
    char number[16];
    int fd, rc, left = 0;

    /* The last worker died, and only the next one can bring home what it was copying. */
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
    guard_end(k);
    execv(k->options->exe_path, k->options->argv);
    rc = -errno;
    guard_begin(k);
    state_set_cloexec(k, true);
    unsetenv(KEEPER_RESUME_ENV);
    close(fd);
    return rc;
}

static void upgrade_finish(struct keeper *k)
{
    int rc;

    spawns_abandon(k);
    log_info("upgrade: executing %s", k->options->exe_path);
    rc = upgrade_exec(k);
    log_error("upgrade: %s: %s; going on with the old binary", k->options->exe_path, strerror(-rc));
    k->upgrade.phase = UPGRADE_NOT;
    k->worker.start_at_ms = 0;
}

void upgrade_step(struct keeper *k, uint64_t now_ms)
{
    bool late = now_ms >= k->upgrade.deadline_ms;

    switch (k->upgrade.phase) {
    case UPGRADE_CHECK:
        if (late) {
            log_error("upgrade: %s does not answer; nothing is changed", k->options->exe_path);
            upgrade_cancel(k);
        }
        break;
    case UPGRADE_RETIRE:
        if (late)
            worker_kill(k, "it does not leave for the upgrade");
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

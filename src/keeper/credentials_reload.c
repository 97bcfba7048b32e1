/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credentials_reload.c - reads the credentials again without interrupting the service
 *
 * A forked child reads the files: it has the keeper's rights, which a confined worker lacks, and a
 * file that hangs or is malformed affects only this child. The keeper passes the result to the
 * worker. If the child fails, the credentials in use stay valid. Layer: keeper.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "keeper/keeper_own.h"
#include "keeper/keeper_proto.h"

static void reload_reply(struct keeper *k, uint32_t req, int error, int fd)
{
    struct k_credentials m = {.type = K_CREDENTIALS, .req = req, .error = error};
    int rc = channel_send(&k->worker.channel, &m, sizeof m, &fd, error == 0 ? 1 : 0);

    if (rc < 0)
        worker_kill_for_channel(k, rc);
}

/* Closes all but the standard ones and `kept`, which are in ascending order. */
static void reload_close_others(const int kept[2])
{
    int from = STDERR_FILENO + 1;

    for (int i = 0; i < 2; i++) {
        if (kept[i] > from)
            (void)close_range((unsigned)from, (unsigned)kept[i] - 1, 0);
        if (kept[i] >= from)
            from = kept[i] + 1;
    }
    (void)close_range((unsigned)from, ~0U, 0);
}

/* A reader that hangs must not hold the input of a process open, nor a connection or a terminal. */
static void reload_close_inherited(const struct keeper *k)
{
    const int *keep = k->options->reload.keep_fd;
    int own = k->reload.fd, theirs = keep != NULL ? *keep : -1;

    reload_close_others(own < theirs ? (int[]){own, theirs} : (int[]){theirs, own});
}

__attribute__((noreturn)) static void reload_child(struct keeper *k, int64_t grace_ms)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    (void)prctl(PR_SET_NAME, "holdfast-reload", 0, 0, 0);
    log_set_part("reload");
    reload_close_inherited(k);
    _exit(k->options->reload.read(k->reload.fd, grace_ms, k->options->arg));
}

static void reload_start(struct keeper *k, uint32_t req, int64_t grace_ms)
{
    struct reload *r = &k->reload;
    int rc;

    r->req = req;
    r->again = r->cancelled = false;
    r->grace_ms = grace_ms;
    r->fd = memfd_create("holdfast-credentials", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    rc = r->fd < 0 ? errno : 0;
    if (rc == 0) {
        r->pid = fork();
        if (r->pid == 0)
            reload_child(k, grace_ms);
        rc = r->pid < 0 ? errno : 0;
    }
    if (rc == 0) {
        r->deadline_ms = clock_mono_ms() + LIMIT_RELOAD_MS;
        return;
    }
    r->pid = 0;
    io_close(&r->fd);
    log_error("cannot reload the credentials: %s", strerror(rc));
    reload_reply(k, req, rc, -1);
}

void reload_begin(struct keeper *k, const struct k_reload *m)
{
    struct reload *r = &k->reload;
    uint32_t req = m == NULL ? 0 : m->req;
    int64_t grace_ms = m == NULL || m->grace_ms == K_GRACE_UNSET ? -1 : (int64_t)m->grace_ms;

    if (k->options->reload.read == NULL || k->shutdown.phase != SHUTDOWN_NONE) {
        if (m != NULL)
            reload_reply(k, req, ENOSYS, -1);
        return;
    }
    if (r->pid == 0) {
        reload_start(k, req, grace_ms);
        return;
    }
    /* It may have read the file before the change. One reply serves several requests. */
    r->next_req = req != 0 ? req : r->again ? r->next_req : 0;
    r->grace_ms = m != NULL || !r->again ? grace_ms : r->grace_ms;
    r->again = true;
}

static void reload_finish(struct keeper *k, int error)
{
    struct reload *r = &k->reload;
    int fd = r->fd;

    r->pid = 0;
    r->fd = -1;
    if (error != 0)
        log_error("cannot reload the credentials; keeping the current ones");
    reload_reply(k, r->req, error, fd);
    if (error == 0) {
        k->options->reload.take(fd, k->options->arg);
        deposit_carry(k);
    } else {
        close(fd);
    }
    if (r->again && k->shutdown.phase == SHUTDOWN_NONE)
        reload_start(k, r->next_req, r->grace_ms);
}

bool reload_on_exit(struct keeper *k, pid_t pid, int status)
{
    if (pid != k->reload.pid || pid == 0)
        return false;
    reload_finish(k, WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : EIO);
    return true;
}

/* The keeper that takes over reads them again. */
void reload_cancel(struct keeper *k)
{
    if (k->reload.pid == 0)
        return;
    (void)kill(k->reload.pid, SIGKILL);
    k->reload.pid = 0;
    k->reload.cancelled = true;
    io_close(&k->reload.fd);
}

/* The worker that requested it has left, so nobody waits for the reply. */
void reload_restart(struct keeper *k)
{
    if (k->reload.cancelled)
        reload_start(k, 0, k->reload.grace_ms);
}

void reload_step(struct keeper *k, uint64_t now_ms)
{
    if (k->reload.pid == 0 || now_ms < k->reload.deadline_ms)
        return;
    log_error("reading the credentials timed out");
    (void)kill(k->reload.pid, SIGKILL);
    reload_finish(k, ETIMEDOUT);
}

uint64_t reload_deadline(const struct keeper *k)
{
    return k->reload.pid == 0 ? DEADLINE_NONE : k->reload.deadline_ms;
}

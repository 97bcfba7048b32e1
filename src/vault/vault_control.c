/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_control.c - the vault's sockets
 *
 * The name of the listening socket is abstract, built from the user and the address at which the
 * daemon listens. It has the scope of that address (the network namespace), needs no directory and
 * leaves no file behind. Only root and the vault's own user may connect, and no program that the
 * daemon runs: the socket gives access to everything a keeper has. Layer: vault.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "vault/vault_store.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* --- one packet ----------------------------------------------------------------- */

int vault_send(int fd, const struct v_message *m, const int *fds)
{
    const struct iovec iov = {(void *)(uintptr_t)m, sizeof *m};

    return fd_message_send(fd, &iov, 1, fds, fds != NULL ? m->count : 0);
}

/* The descriptors are inheritable, as those of the store must be. */
int vault_receive(int fd, struct v_message *m, struct fd_message *attached)
{
    int rc = fd_message_receive(fd, m, sizeof *m, V_PUT_MAX, true, attached);

    if (rc > 0 && attached->len != sizeof *m) {
        fd_message_close(attached);
        rc = -EMSGSIZE;
    }
    return rc == -EMSGSIZE ? -EPROTO : rc;
}

/* --- the name ------------------------------------------------------------------- */

static socklen_t make_name(struct sockaddr_un *a, unsigned uid, const char *name)
{
    int n;

    memset(a, 0, sizeof *a);
    a->sun_family = AF_UNIX;
    n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "holdfast/%u/%s", uid, name);
    if (n < 0 || (size_t)n >= sizeof a->sun_path - 1)
        return 0;
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static bool peer_is_allowed(int fd, pid_t *pid)
{
    struct ucred peer;
    socklen_t len = sizeof peer;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return false;
    *pid = peer.pid;
    return peer.uid == 0 || peer.uid == geteuid();
}

/* 0: its parent is not visible from here; -1: unknown. */
static pid_t parent_of(pid_t pid)
{
    char path[32], text[512], *end;
    hf_autoclose int fd = -1;
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    /* "PID (NAME) STATE PARENT": a name may contain anything. */
    end = strrchr(text, ')');
    return end == NULL || strlen(end) < 5 ? -1 : (pid_t)strtol(end + 4, NULL, 10);
}

/* Does the process that connected still exist, so that its pid has not been reused? A kernel
 * before Linux 6.5 cannot say. A peer of root, or of an outer pid namespace, cannot be signalled
 * but exists. */
static bool peer_is_there(int fd)
{
    hf_autoclose int pidfd = -1;
    socklen_t len = sizeof pidfd;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) < 0)
        return errno == ENOPROTOOPT;
    return syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0 || errno != ESRCH;
}

/* Is the peer a program that the daemon runs? A peer that has exited since it connected may have
 * been one. Without /proc this cannot be determined. */
static bool is_below_us(pid_t pid)
{
    if (pid == getpid() || access("/proc/self/stat", R_OK) < 0)
        return false;
    while (pid > 1 && pid != getpid())
        pid = parent_of(pid);
    return pid < 0 || pid == getpid();
}

void vault_listen(struct vault *v, const char *name)
{
    struct sockaddr_un a;
    socklen_t len = make_name(&a, geteuid(), name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (len > 0 && fd >= 0 && bind(fd, (struct sockaddr *)&a, len) == 0 &&
        listen(fd, VAULT_CLIENTS_MAX) == 0) {
        v->listen_fd = fd;
        return;
    }
    log_warn("holdfast stop and restart will not find this daemon: %s",
             len == 0 ? "its address is too long" : strerror(errno));
    io_close(&fd);
}

int vault_connect(const char *name)
{
    struct sockaddr_un a;
    socklen_t len = make_name(&a, geteuid(), name);
    int fd = len == 0 ? -1 : socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), rc;
    pid_t pid;

    if (fd < 0)
        return len == 0 ? -ENAMETOOLONG : -errno;
    if (connect(fd, (struct sockaddr *)&a, len) == 0) {
        if (peer_is_allowed(fd, &pid))
            return fd;
        errno = EPERM;
    }
    rc = -errno;
    close(fd);
    return rc;
}

/* --- clients -------------------------------------------------------------------- */

void control_accept(struct vault *v)
{
    int fd = accept4(v->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    pid_t pid;

    if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        v->accept_at_ms = clock_mono_ms() + VAULT_ACCEPT_PAUSE_MS;
    for (size_t i = 0; fd >= 0 && i < VAULT_CLIENTS_MAX; i++) {
        if (v->clients[i] >= 0)
            continue;
        if (!peer_is_allowed(fd, &pid) || is_below_us(pid) || !peer_is_there(fd))
            break;
        v->clients[i] = fd;
        return;
    }
    io_close(&fd);
}

static struct v_message control_status(const struct vault *v)
{
    return (struct v_message){.type = V_STATUS,
                              .pid = v->keeper,
                              .status = v->code,
                              .phase = v->phase,
                              .starts = v->starts,
                              .launcher = v->launcher,
                              .upgrades = v->upgrades,
                              .refusals = v->refusals,
                              .late = v->late};
}

/* A client that does not read misses updates: each update replaces all earlier ones. */
void control_broadcast(struct vault *v)
{
    struct v_message m = control_status(v);

    for (size_t i = 0; i < VAULT_CLIENTS_MAX; i++) {
        if (v->clients[i] >= 0)
            (void)vault_send(v->clients[i], &m, NULL);
    }
}

void control_reply(struct vault *v, int fd)
{
    struct v_message m = control_status(v);

    m.count = 1;
    (void)vault_send(fd, &m, &v->own.ledger_fd);
}

void control_close(struct vault *v, size_t i)
{
    if (v->clients[i] == v->launcher_fd) {
        v->launcher_fd = -1;
        v->launcher = 0;
    }
    io_close(&v->clients[i]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tty_probe.c - probes what a process does with its terminal, and which tree has a socket open
 *
 * A process waits for input when one of its threads sleeps in read(2) of the terminal, or in poll,
 * select or epoll_wait with the terminal in its set. /proc shows the call and its arguments to an
 * ancestor that may trace the process; descriptor sets are read from its memory, up to a bound.
 * Layer: keeper.
 */
#include "keeper/tty_probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/io.h"
#include "keeper/keeper_own.h"
#include "keeper/procfs.h"
#include "keeper/tree.h"

#define PROBE_THREADS_MAX 64
#define PROBE_PROCESSES_MAX 64
#define PROBE_FDS_MAX 64 /* of one poll, select or epoll */
#define PROBE_SELECT_MAX 1024
#define PROBE_PTS_MAJOR 136

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

/* One process, and the terminal in question. */
struct subject {
    pid_t pid;
    unsigned pts; /* number of the terminal */
};

/* --- parsing ---------------------------------------------------------------------------- */

bool tty_probe_parse_syscall(const char *text, struct tty_probe_call *out)
{
    char *end;

    out->nr = strtol(text, &end, 10);
    if (end == text || out->nr < 0)
        return false; /* "running", or "-1": stopped outside of any */
    for (int i = 0; i < 6; i++) {
        text = end;
        out->args[i] = strtoull(text, &end, 16);
        if (end == text)
            return false;
    }
    return true;
}

size_t tty_probe_parse_epoll(const char *text, int *fds, size_t max)
{
    size_t n = 0;

    for (const char *at = strstr(text, "tfd:"); at != NULL && n < max; at = strstr(at, "tfd:")) {
        unsigned long events;
        const char *word;
        long fd;

        at += 4;
        fd = strtol(at, NULL, 10);
        word = strstr(at, "events:");
        if (word == NULL)
            break;
        events = strtoul(word + 7, NULL, 16);
        if (fd >= 0 && fd <= INT32_MAX && (events & EPOLLIN))
            fds[n++] = (int)fd;
    }
    return n;
}

/* Reads a small file of /proc, NUL-terminated; the length or -errno. */
static int read_text(const char *path, char *to, size_t size)
{
    hf_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return -errno;
    n = hf_read(fd, to, size - 1);
    if (n < 0)
        return (int)n;
    to[n] = '\0';
    return (int)n;
}

/* --- is it this terminal? ----------------------------------------------------------------- */

/* /dev/tty counts as well: the process was selected because this is its terminal. */
static bool is_terminal(const struct subject *s, int fd)
{
    struct stat st;
    char path[48];

    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)s->pid, fd);
    if (fd < 0 || stat(path, &st) < 0 || !S_ISCHR(st.st_mode))
        return false;
    if (major(st.st_rdev) == 5 && minor(st.st_rdev) == 0)
        return true;
    return major(st.st_rdev) == PROBE_PTS_MAJOR && minor(st.st_rdev) == s->pts;
}

static bool any_is_terminal(const struct subject *s, const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_terminal(s, fds[i]))
            return true;
    }
    return false;
}

static size_t read_memory(const struct subject *s, uint64_t at, void *to, size_t len)
{
    struct iovec local = {to, len}, remote = {(void *)(uintptr_t)at, len};
    ssize_t n = process_vm_readv(s->pid, &local, 1, &remote, 1, 0);

    return n < 0 ? 0 : (size_t)n;
}

static bool in_poll(const struct subject *s, uint64_t at, uint64_t count)
{
    struct pollfd polls[PROBE_FDS_MAX];
    int fds[PROBE_FDS_MAX] = {0};
    size_t n = 0, got;

    if (count > PROBE_FDS_MAX)
        count = PROBE_FDS_MAX;
    got = read_memory(s, at, polls, (size_t)count * sizeof *polls) / sizeof *polls;
    for (size_t i = 0; i < got; i++) {
        if (polls[i].events & POLLIN)
            fds[n++] = polls[i].fd;
    }
    return any_is_terminal(s, fds, n);
}

static bool in_select(const struct subject *s, uint64_t count, uint64_t at)
{
    unsigned char set[PROBE_SELECT_MAX / 8];
    int fds[PROBE_FDS_MAX] = {0};
    size_t n = 0, got;

    if (at == 0)
        return false;
    if (count > PROBE_SELECT_MAX)
        count = PROBE_SELECT_MAX;
    got = read_memory(s, at, set, (size_t)(count + 7) / 8) * 8;
    for (size_t i = 0; i < got && i < count && n < PROBE_FDS_MAX; i++) {
        if (set[i / 8] & (1 << (i % 8)))
            fds[n++] = (int)i;
    }
    return any_is_terminal(s, fds, n);
}

static bool in_epoll(const struct subject *s, int epoll)
{
    char path[56], text[4096];
    int fds[PROBE_FDS_MAX];
    size_t n;

    snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)s->pid, epoll);
    if (read_text(path, text, sizeof text) <= 0)
        return false;
    n = tty_probe_parse_epoll(text, fds, PROBE_FDS_MAX);
    return any_is_terminal(s, fds, n);
}

static bool call_waits(const struct subject *s, const struct tty_probe_call *c)
{
    switch (c->nr) {
    case SYS_read:
    case SYS_readv: return is_terminal(s, (int)c->args[0]);
#ifdef SYS_poll
    case SYS_poll:
#endif
    case SYS_ppoll: return in_poll(s, c->args[0], (uint32_t)c->args[1]);
#ifdef SYS_select
    case SYS_select:
#endif
    case SYS_pselect6: return in_select(s, (uint32_t)c->args[0], c->args[1]);
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
    case SYS_epoll_pwait: return in_epoll(s, (int)c->args[0]);
    default: return false;
    }
}

/* --- which process reads? ------------------------------------------------------------ */

/* A thread that has exited does not read; one that may not be inspected is unknown. */
static uint32_t thread_reads(const struct subject *s, const char *tid)
{
    struct tty_probe_call call;
    char path[64], text[256];
    int n;

    snprintf(path, sizeof path, "/proc/%d/task/%.20s/syscall", (int)s->pid, tid);
    n = read_text(path, text, sizeof text);
    if (n == -EACCES || n == -EPERM || n == -ENOSYS)
        return K_LOOK_UNKNOWN;
    if (n == -ENOENT) {
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/stat", (int)s->pid, tid);
        return access(path, F_OK) == 0 ? K_LOOK_UNKNOWN : K_LOOK_NO;
    }
    if (n <= 0 || !tty_probe_parse_syscall(text, &call))
        return K_LOOK_NO;
    return call_waits(s, &call) ? K_LOOK_YES : K_LOOK_NO;
}

static uint32_t worse(uint32_t a, uint32_t b)
{
    return a == K_LOOK_YES || b == K_LOOK_NO ? a : b;
}

static uint32_t process_reads(const struct subject *s)
{
    uint32_t found = K_LOOK_NO;
    struct dirent *d;
    char path[40];
    int count = 0;
    DIR *dir;

    snprintf(path, sizeof path, "/proc/%d/task", (int)s->pid);
    dir = opendir(path);
    if (dir == NULL)
        return errno == EACCES ? K_LOOK_UNKNOWN : K_LOOK_NO;
    while (found != K_LOOK_YES && count < PROBE_THREADS_MAX && (d = readdir(dir)) != NULL) {
        if (d->d_name[0] < '1' || d->d_name[0] > '9')
            continue;
        found = worse(found, thread_reads(s, d->d_name));
        count++;
    }
    closedir(dir);
    return found;
}

/* Other members of the group: `sh -c 'cat; date'`, or the far end of a pipeline. */
static uint32_t group_reads(const struct subject *first, uint32_t tty_nr, uint32_t found)
{
    struct subject s = *first;
    struct proc_list l;
    int count = 0;

    if (procfs_list_read(&l) < 0) {
        procfs_list_fini(&l);
        return found;
    }
    for (size_t i = 0; i < l.count && found != K_LOOK_YES && count < PROBE_PROCESSES_MAX; i++) {
        const struct proc *p = &l.procs[i];

        if (p->pgrp != first->pid || p->tty_nr != tty_nr || p->pid == first->pid || p->state != 'S')
            continue;
        s.pid = p->pid;
        found = worse(found, process_reads(&s));
        count++;
    }
    procfs_list_fini(&l);
    return found;
}

/*
 * Input written to our end waits in a buffer until a kernel worker moves it to the other end.
 * poll(2) of the other end first does that. True: there is input that no process has read.
 */
static bool input_is_pending(int master)
{
    hf_autoclose int peer =
        ioctl(master, TIOCGPTPEER, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    struct pollfd p = {.fd = peer, .events = POLLIN};

    return peer >= 0 && poll(&p, 1, 0) > 0 && (p.revents & POLLIN);
}

static void probe_cwd(pid_t pid, char *to, size_t size)
{
    static const char gone[] = " (deleted)";
    char path[40];
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
    n = readlink(path, to, size);
    if (n <= 0 || (size_t)n >= size || to[0] != '/') {
        to[0] = '\0';
        return;
    }
    to[n] = '\0';
    if ((size_t)n >= sizeof gone && strcmp(to + n - (sizeof gone - 1), gone) == 0)
        to[0] = '\0';
}

void tty_probe_terminal(const struct entry *e, struct k_probed *out)
{
    struct subject s = {0};
    pid_t group = 0;
    char path[40], text[1024];
    struct proc leader;
    int n;

    if (e->pub.tty_fd < 0 || e->pub.exited || ioctl(e->pub.tty_fd, TIOCGPTN, &s.pts) < 0)
        return;
    if (ioctl(e->pub.tty_fd, TIOCGPGRP, &group) < 0 || group <= 0)
        return;
    out->group = s.pid = group;
    probe_cwd(group, out->cwd, sizeof out->cwd);
    if (input_is_pending(e->pub.tty_fd))
        return;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)group);
    n = read_text(path, text, sizeof text);
    if (n > 0 && procfs_parse_stat(text, (size_t)n, &leader) && leader.state == 'S')
        out->reading = process_reads(&s);
    if (out->reading != K_LOOK_YES)
        out->reading = group_reads(
            &s, (s.pts & 0xff) | PROBE_PTS_MAJOR << 8 | (s.pts & ~0xffU) << 12, out->reading);
}

/* --- sockets -------------------------------------------------------------------------------- */

static bool is_one_of(const char *link, const uint64_t *inodes, size_t count)
{
    unsigned long long inode;

    if (strncmp(link, "socket:[", 8) != 0)
        return false;
    inode = strtoull(link + 8, NULL, 10);
    for (size_t i = 0; i < count; i++) {
        if (inodes[i] == inode)
            return true;
    }
    return false;
}

static bool process_holds(pid_t pid, const uint64_t *inodes, size_t count)
{
    struct dirent *d;
    char path[40];
    bool found = false;
    DIR *dir;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    dir = opendir(path);
    if (dir == NULL)
        return false;
    while (!found && (d = readdir(dir)) != NULL) {
        char link[64];
        ssize_t n = readlinkat(dirfd(dir), d->d_name, link, sizeof link - 1);

        if (n <= 0)
            continue;
        link[n] = '\0';
        found = is_one_of(link, inodes, count);
    }
    closedir(dir);
    return found;
}

struct holds {
    const uint64_t *inodes;
    size_t count;
};

static bool member_holds(void *arg, pid_t pid)
{
    const struct holds *h = arg;

    return process_holds(pid, h->inodes, h->count);
}

bool tty_probe_holds(struct keeper *k, struct entry *e, const uint64_t *inodes, size_t count)
{
    struct holds h = {inodes, count};

    return tree_any(k, e, member_holds, &h);
}

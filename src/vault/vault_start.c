/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_start.c - starts keepers
 *
 * The first one is a fork that continues with what the command has prepared. All others are
 * executed, from a descriptor of a binary that is known to work, and find the ledger, the index and
 * their channel through V_ENV. Everything after the fork happens in the child: a failure there is
 * the death of a keeper like any other. Layer: vault.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "vault/vault_store.h"

/* --- in the child --------------------------------------------------------------- */

/* Restores the daemon's initial settings. */
static void child_restore(const struct vault *v)
{
    struct rlimit nofile = {.rlim_cur = v->nofile_cur, .rlim_max = v->nofile_max};

    guard_end_in_child(&v->guard);
    if (v->nofile_max != 0) /* else it was never read, nor raised */
        (void)setrlimit(RLIMIT_NOFILE, &nofile);
}

static void child_close_own(struct vault *v)
{
    io_close(&v->signal_fd);
    io_close(&v->listen_fd);
    io_close(&v->own.channel_fd);
    io_close(&v->guard.oom_fd);
    for (size_t i = 0; i < VAULT_CLIENTS_MAX; i++)
        io_close(&v->clients[i]);
}

/* Pointers to `count` strings from *at on, with room for one more; *at moves behind the last. */
static char **split(char **at, const char *end, size_t count)
{
    char **list = calloc(count + 2, sizeof *list);

    for (size_t i = 0; list != NULL && i < count && *at < end; i++) {
        list[i] = *at;
        *at += strlen(*at) + 1;
    }
    return list;
}

static size_t count_until_empty(const char *at, const char *end)
{
    size_t n = 0;

    for (; at < end && *at != '\0'; at += strlen(at) + 1)
        n++;
    return n;
}

/* Reads what vault_put_args() wrote. False: it cannot be read. */
static bool child_read_args(int fd, char ***argv, char ***envp)
{
    struct stat st;
    uint32_t count;
    char *bytes, *at;
    const char *end;

    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < (off_t)sizeof count + 2)
        return false;
    bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return false;
    end = bytes + st.st_size;
    memcpy(&count, bytes, sizeof count);
    at = bytes + sizeof count;
    *argv = split(&at, end, count);
    at++;
    *envp = at < end ? split(&at, end, count_until_empty(at, end)) : NULL;
    return *argv != NULL && *envp != NULL;
}

static void child_set_env(char **envp, char *setting)
{
    const size_t len = strlen(V_ENV "=");
    size_t n = 0;

    while (envp[n] != NULL && strncmp(envp[n], setting, len) != 0)
        n++;
    envp[n] = setting;
}

__attribute__((noreturn)) static void child_exec(struct vault *v, int channel_fd)
{
    int output = store_fd(v, V_KEY_OUTPUT), errors = store_fd(v, V_KEY_ERRORS);
    int exe = store_fd(v, V_KEY_EXE), cwd = store_fd(v, V_KEY_CWD);
    char **argv, **envp, setting[64];

    child_close_own(v);
    (void)fcntl(channel_fd, F_SETFD, 0);
    (void)fcntl(v->own.ledger_fd, F_SETFD, 0);
    (void)fcntl(v->own.index_fd, F_SETFD, 0);
    if (output >= 0)
        (void)dup2(output, STDOUT_FILENO);
    if (errors >= 0)
        (void)dup2(errors, STDERR_FILENO);
    if (cwd >= 0)
        (void)!fchdir(cwd);
    snprintf(setting, sizeof setting, V_ENV "=%d,%d,%d", channel_fd, v->own.ledger_fd,
             v->own.index_fd);
    if (child_read_args(store_fd(v, V_KEY_ARGS), &argv, &envp)) {
        child_set_env(envp, setting);
        (void)syscall(SYS_execveat, exe, "", argv, envp, AT_EMPTY_PATH);
    }
    log_error("cannot execute a keeper: %s", strerror(errno));
    _exit(127);
}

/* --- in the vault --------------------------------------------------------------- */

/* The other end, or -errno. */
static int open_channel(struct vault *v)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return -errno;
    v->own.channel_fd = pair[0];
    return pair[1];
}

static pid_t start(struct vault *v, int *channel_fd)
{
    pid_t pid = -1;

    *channel_fd = open_channel(v);
    if (*channel_fd >= 0)
        pid = fork();
    if (pid == 0) {
        child_restore(v);
        atomic_store(&v->ledger->keeper_pid, getpid());
        return 0;
    }
    if (*channel_fd >= 0)
        close(*channel_fd);
    if (pid < 0) {
        log_error("cannot start a keeper: %s", strerror(*channel_fd < 0 ? -*channel_fd : errno));
        io_close(&v->own.channel_fd);
        v->start_at_ms = clock_mono_ms() + VAULT_WAIT_MS;
        return -1;
    }
    v->keeper = pid;
    v->reported_pid = 0;
    v->starts++;
    v->keep = v->done = v->well = v->on_trial = v->killed = v->leaving = v->start_next = false;
    v->since_ms = clock_mono_ms();
    v->start_at_ms = UINT64_MAX;
    v->well_by_ms = v->starts == 1 ? UINT64_MAX : v->since_ms + VAULT_START_MS;
    v->phase = atomic_load(&v->ledger->order) == ORDER_END ? V_ENDING : V_STARTING;
    control_broadcast(v);
    return pid;
}

void start_first(struct vault *v, vault_first_fn *first, void *arg)
{
    struct vault_ends ends = {-1, -1, -1};

    if (start(v, &ends.channel_fd) != 0)
        return;
    child_close_own(v);
    /* The command's descriptors are still open; the store has duplicates. */
    store_close_copies(v);
    ends.ledger_fd = v->own.ledger_fd;
    ends.index_fd = v->own.index_fd;
    exit(first(&ends, arg));
}

void start_next(struct vault *v)
{
    int channel_fd;

    if (start(v, &channel_fd) == 0)
        child_exec(v, channel_fd);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_rig.h - a real keeper under a test that plays the worker
 *
 * The keeper runs in a child of the test. Its workers do nothing but hand
 * their end of the channel over to the test and wait, so that a test reads as one
 * conversation: rig_start, rig_worker, send, expect. Include after test.h.
 */
#ifndef HF_KEEPER_RIG_H
#define HF_KEEPER_RIG_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/fd_message.h"
#include "base/log.h"
#include "keeper/keeper.h"
#include "keeper/keeper_proto.h"

#define RIG_WAIT_MS 60000 /* for a hang; a busy machine may take a while */
#define RIG_ENTRIES_MAX 16

struct rig {
    pid_t keeper;
    int control; /* the test's end */
    int workers; /* the workers' end, for the keeper's child */
    struct keeper_options options;
    int (*worker_main)(const struct keeper_boot *boot, void *arg);
    void (*before)(void); /* in the keeper's child, before it runs */
    bool skip_leaks;      /* where the sanitizer cannot look for them */
};

/* What a worker tells about its start. */
struct rig_boot {
    pid_t pid, keeper_pid;
    uint32_t generation;
    bool prev_io_known, has_cgroup;
    struct io_count prev_io, io_before; /* of the last worker, and of the one before it */
    uint32_t entry_count;
    struct keeper_entry entries[RIG_ENTRIES_MAX];
};

/* A worker as the test holds it. */
struct rig_worker {
    struct rig_boot boot;
    int channel, state;
    bool has_exit; /* it came with K_SPAWNED */
    struct k_exited exit;
};

static inline void rig_send(int fd, const void *bytes, size_t len, const int *fds, size_t fd_count)
{
    const struct iovec iov = {(void *)(uintptr_t)bytes, len};

    for (int i = 0; i < 1000; i++) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        int rc = fd_message_send(fd, &iov, 1, fds, fd_count);

        if (rc == 0)
            return;
        /* The second is for descriptors in flight, of all processes together. */
        REQUIRE(rc == -EAGAIN || rc == -ETOOMANYREFS);
        poll(&p, 1, RIG_WAIT_MS);
        usleep(1000);
    }
    REQUIRE(!"sent");
}

/* One packet, at most RIG_WAIT_MS; -1: none came, 0: the other side is gone. */
static inline ssize_t rig_receive(int fd, void *to, size_t max, int fds[8], size_t *fd_count)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    struct fd_message m;

    *fd_count = 0;
    if (poll(&p, 1, RIG_WAIT_MS) <= 0)
        return -1;
    if (fd_message_receive(fd, to, max, FD_MESSAGE_MAX, false, &m) <= 0)
        return 0;
    *fd_count = m.fd_count;
    memcpy(fds, m.fds, m.fd_count * sizeof(int));
    return (ssize_t)m.len;
}

/* --- in the worker -------------------------------------------------------- */

static inline int rig_worker_main(const struct keeper_boot *boot, void *arg)
{
    struct rig_boot b = {.pid = getpid(),
                         .keeper_pid = boot->keeper_pid,
                         .generation = boot->generation,
                         .prev_io_known = boot->past[0].known,
                         .prev_io = boot->past[0].count,
                         .io_before = boot->past[1].count,
                         .has_cgroup = boot->has_cgroup,
                         .entry_count = (uint32_t)boot->entry_count};
    int fds[2] = {boot->channel_fd, boot->state_fd};
    int control = *(int *)arg;
    int code = 1;

    for (size_t i = 0; i < boot->entry_count && i < RIG_ENTRIES_MAX; i++)
        b.entries[i] = boot->entries[i];
    rig_send(control, &b, sizeof b, fds, 2);
    while (recv(control, &code, sizeof code, 0) < 0 && errno == EINTR)
        ;
    return code;
}

/* --- in the test ---------------------------------------------------------- */

static inline void rig_init(struct rig *r)
{
    int pair[2];

    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    *r = (struct rig){.control = pair[0], .workers = pair[1], .worker_main = rig_worker_main};
    r->options = (struct keeper_options){
        .worker_main = rig_worker_main,
        .state_bytes = 4096,
        .grace_ms = 500,
        .exe_path = "/nonexistent",
        .worker_uid = geteuid(),
        .worker_gid = getegid(),
    };
}

static inline void rig_start(struct rig *r)
{
    fflush(NULL);
    r->keeper = fork();
    REQUIRE(r->keeper >= 0);
    if (r->keeper == 0) {
        int code;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(r->control);
        log_set_level(getenv("RIG_LOG") != NULL ? LOG_DEBUG : LOG_ERROR);
        if (r->before != NULL)
            r->before();
        r->options.worker_main = r->worker_main;
        r->options.arg = &r->workers;
        code = keeper_run(&r->options, -1);
        close(r->workers);
        if (r->skip_leaks)
            _exit(code);
        exit(code); /* with the look for leaks */
    }
    close(r->workers);
}

/* The next worker that comes up. */
static inline void rig_worker(struct rig *r, struct rig_worker *w)
{
    size_t count;
    int fds[8];

    REQUIRE(rig_receive(r->control, &w->boot, sizeof w->boot, fds, &count) == sizeof w->boot);
    REQUIRE(count == 2);
    w->channel = fds[0];
    w->state = fds[1];
}

static inline void rig_begin(struct rig *r, struct rig_worker *w)
{
    rig_init(r);
    rig_start(r);
    rig_worker(r, w);
}

static inline void rig_drop(struct rig_worker *w)
{
    close(w->channel);
    close(w->state);
}

static inline void rig_kill_worker(struct rig_worker *w)
{
    kill(w->boot.pid, SIGKILL);
    rig_drop(w);
}

static inline void rig_exit_worker(struct rig *r, struct rig_worker *w, int code)
{
    rig_send(r->control, &code, sizeof code, NULL, 0);
    rig_drop(w);
}

/* Waits for the keeper to end; its exit code, or -signal. */
static inline int rig_wait_keeper(struct rig *r)
{
    uint64_t until = clock_mono_ms() + RIG_WAIT_MS;
    int status = 0;
    pid_t pid = 0;

    while (pid == 0 && clock_mono_ms() < until) {
        pid = waitpid(r->keeper, &status, WNOHANG);
        if (pid == 0)
            usleep(1000);
    }
    REQUIRE(pid == r->keeper);
    close(r->control);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* The usual end: SIGTERM, the worker obeys, and the keeper ends with code 0. */
static inline void rig_end(struct rig *r, struct rig_worker *w)
{
    kill(r->keeper, SIGTERM);
    rig_exit_worker(r, w, 0);
    EXPECT_INT(rig_wait_keeper(r), 0);
}

static inline void rig_ready(struct rig_worker *w)
{
    struct k_simple m = {.type = K_READY};

    rig_send(w->channel, &m, sizeof m, NULL, 0);
}

/* --- spawning ------------------------------------------------------------- */

struct rig_spec {
    struct k_spawn m;
    const char *cwd;
    const char *const *paths;
    const char *const *argv;
    const char *const *envp;
    bool by_memfd;
};

static inline void rig_spec_init(struct rig_spec *s, const char *const *argv)
{
    static const char *const no_env[] = {"PATH=/usr/bin:/bin", NULL};

    memset(s, 0, sizeof *s);
    s->m.type = K_SPAWN;
    s->m.req = 7;
    strcpy(s->m.id, "proc_rig");
    s->m.rows = 24;
    s->m.cols = 80;
    s->m.cpu_s = s->m.memory_bytes = s->m.processes = s->m.open_files = s->m.file_bytes = K_UNSET;
    s->cwd = "";
    s->paths = argv; /* the first of it, see rig_add */
    s->argv = argv;
    s->envp = no_env;
}

static inline uint32_t rig_add(char *strings, size_t max, uint32_t *len, const char *const *list,
                               uint32_t most)
{
    uint32_t n = 0;

    for (; n < most && list[n] != NULL; n++) {
        size_t one = strlen(list[n]) + 1;

        REQUIRE(*len + one <= max);
        memcpy(strings + *len, list[n], one);
        *len += (uint32_t)one;
    }
    return n;
}

static inline void rig_spawn(struct rig_worker *w, struct rig_spec *s)
{
    size_t max = 256 * 1024;
    char *packet = malloc(sizeof s->m + max);
    char *strings = packet + sizeof s->m;
    int fds[2] = {memfd_create("record", MFD_CLOEXEC), -1};
    uint32_t len = 0;

    rig_add(strings, max, &len, &s->cwd, 1);
    s->m.path_count = rig_add(strings, max, &len, s->paths, s->paths == s->argv ? 1 : UINT32_MAX);
    s->m.arg_count = rig_add(strings, max, &len, s->argv, UINT32_MAX);
    s->m.env_count = rig_add(strings, max, &len, s->envp, UINT32_MAX);
    s->m.strings_len = len;
    memcpy(packet, &s->m, sizeof s->m);
    if (s->by_memfd) {
        fds[1] = memfd_create("strings", MFD_CLOEXEC);
        REQUIRE(write(fds[1], strings, len) == (ssize_t)len);
        rig_send(w->channel, packet, sizeof s->m, fds, 2);
        close(fds[1]);
    } else {
        rig_send(w->channel, packet, sizeof s->m + len, fds, 1);
    }
    close(fds[0]);
    free(packet);
}

/* --- expecting ------------------------------------------------------------ */

/* The next message must be of this type. */
static inline void rig_expect(struct rig_worker *w, uint32_t type, void *out, size_t len,
                              int fds[8], size_t *fd_count)
{
    struct k_surveyed room;
    ssize_t n = rig_receive(w->channel, &room, sizeof room, fds, fd_count);

    if (n != (ssize_t)len || room.type != type)
        fprintf(stderr, "got %zd bytes of type %u, not %zu of %u\n", n, n > 0 ? room.type : 0, len,
                type);
    REQUIRE(n == (ssize_t)len && room.type == type);
    memcpy(out, &room, len);
}

static inline struct k_spawned rig_spawned(struct rig_worker *w, int fds[8])
{
    struct k_surveyed room;
    const struct k_ran *m = (const struct k_ran *)&room;
    size_t count;
    ssize_t n = rig_receive(w->channel, &room, sizeof room, fds, &count);

    REQUIRE(room.type == K_SPAWNED && (n == sizeof m->spawned || n == sizeof *m));
    EXPECT_U64(count, (uint64_t)__builtin_popcount(m->spawned.fds));
    w->has_exit = n == sizeof *m;
    w->exit = m->exited;
    return m->spawned;
}

static inline struct k_exited rig_exited(struct rig_worker *w)
{
    struct k_exited m;
    size_t count;
    int fds[8];

    if (w->has_exit) {
        w->has_exit = false;
        return w->exit;
    }
    rig_expect(w, K_EXITED, &m, sizeof m, fds, &count);
    return m;
}

static inline struct k_signaled rig_signal(struct rig_worker *w, uint32_t entry, int signum,
                                           uint32_t target)
{
    struct k_signal m = {
        .type = K_SIGNAL, .req = 5, .entry = entry, .signum = signum, .target = target};
    struct k_signaled answer;
    size_t count;
    int fds[8];

    rig_send(w->channel, &m, sizeof m, NULL, 0);
    rig_expect(w, K_SIGNALED, &answer, sizeof answer, fds, &count);
    EXPECT_U64(answer.req, 5);
    EXPECT_U64(answer.entry, entry);
    return answer;
}

static inline struct k_surveyed rig_survey(struct rig_worker *w, uint32_t entry)
{
    struct k_simple m = {.type = K_SURVEY, .req = 6, .entry = entry};
    struct k_surveyed answer;
    size_t count;
    int fds[8];

    rig_send(w->channel, &m, sizeof m, NULL, 0);
    rig_expect(w, K_SURVEYED, &answer, sizeof answer, fds, &count);
    EXPECT_U64(answer.req, 6);
    return answer;
}

static inline void rig_forget(struct rig_worker *w, uint32_t entry)
{
    struct k_simple m = {.type = K_FORGET, .entry = entry};

    rig_send(w->channel, &m, sizeof m, NULL, 0);
}

/* Until the end, or until `until` has been seen (NULL: the end). Returns the length. */
static inline size_t rig_read_until(int fd, char *to, size_t max, const char *until)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    size_t len = 0;

    to[0] = '\0';
    while (len + 1 < max && poll(&p, 1, RIG_WAIT_MS) > 0) {
        ssize_t n = read(fd, to + len, max - 1 - len);

        if (n < 0 && errno == EAGAIN)
            continue;
        if (n <= 0)
            break;
        len += (size_t)n;
        to[len] = '\0';
        if (until != NULL && strstr(to, until) != NULL)
            break;
    }
    return len;
}

/*
 * A pipe process from beginning to end: its standard output in `out`. The
 * entry is forgotten.
 */
static inline struct k_exited rig_run(struct rig_worker *w, struct rig_spec *s, char *out,
                                      size_t max)
{
    struct k_spawned m;
    struct k_exited x;
    int fds[8];

    rig_spawn(w, s);
    m = rig_spawned(w, fds);
    REQUIRE(m.error == 0 && m.fds == (K_FD_STDOUT | K_FD_STDERR));
    rig_read_until(fds[0], out, max, NULL);
    close(fds[0]);
    close(fds[1]);
    x = rig_exited(w);
    EXPECT_U64(x.entry, m.entry);
    rig_forget(w, m.entry);
    return x;
}

/* A spawn that must fail in this way. */
static inline void rig_fail(struct rig_worker *w, struct rig_spec *s, uint32_t stage, int error,
                            uint32_t path)
{
    struct k_spawned m;
    int fds[8];

    rig_spawn(w, s);
    m = rig_spawned(w, fds);
    EXPECT_U64(m.req, s->m.req);
    EXPECT_U64(m.entry, 0);
    EXPECT_U64(m.stage, stage);
    EXPECT_INT(m.error, error);
    EXPECT_U64(m.path, path);
    EXPECT_U64(m.fds, 0);
}

/* --- looking -------------------------------------------------------------- */

static inline int rig_count_fds(pid_t pid)
{
    char path[64];
    int n = 0;
    DIR *dir;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    dir = opendir(path);
    while (dir != NULL && readdir(dir) != NULL)
        n++;
    if (dir != NULL)
        closedir(dir);
    return n;
}

/* The state letter of /proc/PID/stat; 0: no such process. */
static inline char rig_state(pid_t pid)
{
    char path[64], text[512];
    const char *at;
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    at = strrchr(text, ')');
    return at == NULL ? 0 : at[2];
}

/* Asleep, and if in poll(2), without a time-out: nothing is deferred and nothing is due. If the kernel
 * does not show the call (/proc/PID/syscall is missing or unreadable), being asleep has to do. */
static inline bool rig_is_idle(pid_t pid)
{
    unsigned long args[3] = {0};
    char path[64], text[256] = "";
    FILE *f;
    long call;
    int n;

    snprintf(path, sizeof path, "/proc/%d/syscall", (int)pid);
    f = fopen(path, "re");
    if (f != NULL && fgets(text, sizeof text, f) == NULL)
        text[0] = '\0';
    if (f != NULL)
        fclose(f);
    n = sscanf(text, "%ld %lx %lx %lx", &call, &args[0], &args[1], &args[2]);
    if (n < 4)
        return rig_state(pid) == 'S' && strncmp(text, "running", 7) != 0;
#ifdef SYS_poll
    if (call == SYS_poll)
        return (int)args[2] < 0;
#endif
    return call != SYS_ppoll || args[2] == 0;
}

/* The number once the process is idle, so that it cannot be one that waits for a processor. */
static inline int rig_steady_fds(pid_t pid)
{
    uint64_t until = clock_mono_ms() + RIG_WAIT_MS / 4;
    int count = rig_count_fds(pid), same = 0;

    while (same < 10 && clock_mono_ms() < until) {
        int now = rig_count_fds(pid);

        same = now == count && rig_is_idle(pid) ? same + 1 : 0;
        count = now;
        usleep(1000);
    }
    return count;
}

/* Exactly so many, within the usual wait. */
static inline bool rig_has_fds(pid_t pid, int count)
{
    uint64_t until = clock_mono_ms() + RIG_WAIT_MS / 4;

    while (clock_mono_ms() < until) {
        if (rig_count_fds(pid) == count)
            return true;
        usleep(1000);
    }
    return false;
}

/* Asleep, within the usual wait: alive, and with nothing to do. */
static inline bool rig_sleeps(pid_t pid)
{
    uint64_t until = clock_mono_ms() + RIG_WAIT_MS;

    while (clock_mono_ms() < until) {
        if (rig_state(pid) == 'S')
            return true;
        usleep(1000);
    }
    return false;
}

/* Gone, within the usual wait. */
static inline bool rig_gone(pid_t pid)
{
    uint64_t until = clock_mono_ms() + RIG_WAIT_MS;

    while (clock_mono_ms() < until) {
        if (rig_state(pid) == 0)
            return true;
        usleep(1000);
    }
    return false;
}

#endif

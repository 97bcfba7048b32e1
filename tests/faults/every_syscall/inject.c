/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject.c - runs a daemon and strikes one of its processes at one system call
 *
 * Usage: inject [-k] [-l LOG] [-p POINT]... REPORT -- COMMAND ...
 *
 *   -p POINT    ROLE/CALL:K:ACTION. At the K-th CALL of the role (worker, keeper or vault), counted from 1 over all processes that
 *               have the role one after the other, ACTION: kill-before, kill-after, fail=ERRNO (not made),
 *               failed=ERRNO (made, result replaced) or short (one byte). The calls of a second point are counted from the first blow on.
 *   -k          the first process may die, and others go on: waits for the last one
 *   -l LOG      writes "ROLE CALL" for each call of any role behind the last blow, in order
 *
 * REPORT gets "fired PID" for each point that was met and "left PID NAME" for each process that outlived the daemon; those are
 * killed. The exit status is the daemon's. A process shows its role by the name that it gives itself with prctl(2): calls
 * before that are nobody's. The first process is the launcher. After the last blow, and in
 * processes of no role, nothing is traced: the rest of the run has its usual speed.
 *
 * Calls of one name on different kinds of descriptors are different calls ("sendmsg.packet"): what may happen to them differs.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef __x86_64__
#error "only x86-64 so far: registers are written here"
#endif

#define TRACEES_MAX 512 /* processes of one daemon at a time */
#define NAME_BYTES 64   /* of a call with the kind of its descriptor */
#define POINTS_MAX 4    /* blows in one run */
#define LEFT_MS 5000    /* how long processes may take to vanish behind their daemon */
#define TRACE_OPTIONS                                                                              \
    (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |      \
     PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)

enum role { ROLE_NONE, ROLE_WORKER, ROLE_KEEPER, ROLE_VAULT, ROLE_LAUNCHER, ROLE_COUNT };
static const char *const role_names[] = {"none", "worker", "keeper", "vault", "launcher"};

enum action { ACT_KILL_BEFORE, ACT_KILL_AFTER, ACT_FAIL, ACT_FAILED, ACT_SHORT };

enum fate { FATE_UNKNOWN, FATE_LET_GO, FATE_WATCH };

struct tracee {
    pid_t pid;
    enum role role;
    enum fate fate;
    bool stopped;   /* waits for its parent's event */
    bool candidate; /* a fork that has no name yet: it may turn out to have a role */
    bool fake;      /* the call under way was replaced; rax becomes result */
    bool kill_at_exit;
    long result;
    bool restore; /* memory that a short call had changed */
    uint64_t restore_at[2];
    unsigned char restore_bytes[2][64];
    size_t restore_len[2];
};

static struct tracee tracees[TRACEES_MAX];
static size_t tracee_count;

static struct point {
    enum role role;
    char call[NAME_BYTES];
    unsigned long number;
    enum action action;
    int error;
} points[POINTS_MAX];

static size_t point_count, point_next; /* the one that is waited for */
static unsigned long seen;             /* of its calls */
static bool finished;                  /* nothing is to be done or written down any more */
static FILE *log_file, *report_file;
static pid_t root_pid;
static int root_status;
static bool root_gone;
static bool until_last; /* -k */

static const struct {
    long nr;
    const char *name;
} calls[] = {
#include "calls.h"
};

static const struct {
    int number;
    const char *name;
} errors[] = {{EINTR, "EINTR"},   {EAGAIN, "EAGAIN"}, {ENOMEM, "ENOMEM"},   {EMFILE, "EMFILE"},
              {ENOSPC, "ENOSPC"}, {EIO, "EIO"},       {ENOBUFS, "ENOBUFS"}, {EPERM, "EPERM"}};

static void die(const char *what)
{
    fprintf(stderr, "inject: %s: %s\n", what, strerror(errno));
    exit(125);
}

/* --- the table --------------------------------------------------------------------------------- */

static struct tracee *find(pid_t pid)
{
    for (size_t i = 0; i < tracee_count; i++)
        if (tracees[i].pid == pid)
            return &tracees[i];
    return NULL;
}

static struct tracee *add(pid_t pid)
{
    struct tracee *t = find(pid);

    if (t != NULL)
        return t;
    if (tracee_count == TRACEES_MAX) {
        fprintf(stderr, "inject: more than %d processes\n", TRACEES_MAX);
        exit(125);
    }
    t = &tracees[tracee_count++];
    *t = (struct tracee){.pid = pid};
    return t;
}

static void drop(struct tracee *t)
{
    *t = tracees[--tracee_count];
}

static bool peek(pid_t pid, uint64_t at, void *to, size_t len)
{
    struct iovec mine = {to, len}, theirs = {(void *)(uintptr_t)at, len};

    return process_vm_readv(pid, &mine, 1, &theirs, 1, 0) == (ssize_t)len;
}

/* --- what a call is called -------------------------------------------------------------------------- */

static const char *fd_kind(pid_t pid, int fd)
{
    char path[64], to[64];
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
    n = readlink(path, to, sizeof to - 1);
    if (n < 0)
        return "none";
    to[n] = '\0';
    if (strncmp(to, "anon_inode:", 11) == 0)
        return "anon";
    if (strncmp(to, "pipe:", 5) == 0)
        return "pipe";
    if (strncmp(to, "socket:", 7) == 0)
        return "socket";
    if (strncmp(to, "/dev/p", 6) == 0)
        return "tty";
    if (strncmp(to, "/proc", 5) == 0 || strncmp(to, "/sys/", 5) == 0)
        return "proc";
    return "file";
}

static const char *socket_kind(pid_t pid, int fd)
{
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    int copy = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
    int type = 0;
    socklen_t len = sizeof type;

    if (copy >= 0)
        (void)getsockopt(copy, SOL_SOCKET, SO_TYPE, &type, &len);
    if (copy >= 0)
        close(copy);
    if (pidfd >= 0)
        close(pidfd);
    return type == SOCK_STREAM ? "stream" : "packet";
}

static const char *path_kind(pid_t pid, const uint64_t *args)
{
    char path[7] = "";

    if ((int)args[0] >= 0)
        return strcmp(fd_kind(pid, (int)args[0]), "proc") == 0 ? "proc" : NULL;
    return peek(pid, args[1], path, 6) && strncmp(path, "/proc/", 6) == 0 ? "proc" : NULL;
}

static const char *call_kind(pid_t pid, uint64_t nr, const uint64_t *args)
{
    switch (nr) {
    case SYS_close:
    case SYS_getdents64: {
        const char *kind = fd_kind(pid, (int)args[0]);

        return strcmp(kind, "proc") == 0 ? kind : NULL;
    }
    case SYS_openat: return path_kind(pid, args);
    case SYS_read:
    case SYS_write:
    case SYS_readv:
    case SYS_writev:
    case SYS_ioctl: return fd_kind(pid, (int)args[0]);
    case SYS_sendmsg:
    case SYS_recvmsg:
    case SYS_sendto:
    case SYS_recvfrom: return socket_kind(pid, (int)args[0]);
    case SYS_fcntl:
        if (args[1] == F_SETPIPE_SZ)
            return "pipe";
        return args[1] == F_DUPFD || args[1] == F_DUPFD_CLOEXEC ? "dup" : "other";
    case SYS_prctl: return args[0] == PR_SET_NAME ? "name" : NULL;
    case SYS_mmap: return (int)args[4] >= 0 ? "shared" : "memory";
    default: return NULL;
    }
}

static const char *bare_name(uint64_t nr)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if ((uint64_t)calls[i].nr == nr)
            return calls[i].name;
    return "unknown";
}

static void call_name(char *out, pid_t pid, uint64_t nr, const uint64_t *args)
{
    const char *kind = call_kind(pid, nr, args);

    snprintf(out, NAME_BYTES, "%s%s%s", bare_name(nr), kind != NULL ? "." : "",
             kind != NULL ? kind : "");
}

/* --- memory and registers ------------------------------------------------------------------------- */

static bool poke(pid_t pid, uint64_t at, const void *from, size_t len)
{
    struct iovec mine = {(void *)(uintptr_t)from, len}, theirs = {(void *)(uintptr_t)at, len};

    return process_vm_writev(pid, &mine, 1, &theirs, 1, 0) == (ssize_t)len;
}

static bool get_regs(pid_t pid, struct user_regs_struct *regs)
{
    return ptrace(PTRACE_GETREGS, pid, NULL, regs) == 0;
}

static void set_regs(pid_t pid, struct user_regs_struct *regs)
{
    (void)ptrace(PTRACE_SETREGS, pid, NULL, regs);
}

/* getpid(2) in its place: the worker's filter lets it pass, and it changes nothing. */
static void replace_call(struct tracee *t, long result)
{
    struct user_regs_struct regs;

    if (!get_regs(t->pid, &regs))
        return;
    regs.orig_rax = SYS_getpid;
    set_regs(t->pid, &regs);
    t->fake = true;
    t->result = result;
}

static void set_result(struct tracee *t, long result)
{
    struct user_regs_struct regs;

    if (!get_regs(t->pid, &regs))
        return;
    regs.rax = (unsigned long long)result;
    set_regs(t->pid, &regs);
}

/* --- short calls ------------------------------------------------------------------------------------ */

static bool change(struct tracee *t, int i, uint64_t at, const void *bytes, size_t len)
{
    t->restore_at[i] = at;
    t->restore_len[i] = len;
    return peek(t->pid, at, t->restore_bytes[i], len) && poke(t->pid, at, bytes, len);
}

/* One byte of the first part that has any. */
static bool shorten_vector(struct tracee *t, uint64_t at, size_t count, uint64_t *first)
{
    struct iovec iov;

    for (size_t i = 0; i < count; i++, at += sizeof iov) {
        if (!peek(t->pid, at, &iov, sizeof iov))
            return false;
        if (iov.iov_len > 1 || (iov.iov_len == 1 && i + 1 < count)) {
            iov.iov_len = 1;
            *first = at;
            return change(t, 0, at, &iov, sizeof iov);
        }
        if (iov.iov_len == 1)
            return false;
    }
    return false;
}

static bool shorten_message(struct tracee *t, uint64_t at)
{
    struct msghdr head;
    uint64_t first;

    if (!peek(t->pid, at, &head, sizeof head) ||
        !shorten_vector(t, (uint64_t)(uintptr_t)head.msg_iov, head.msg_iovlen, &first))
        return false;
    head.msg_iov = (void *)(uintptr_t)first;
    head.msg_iovlen = 1;
    return change(t, 1, at, &head, sizeof head);
}

static bool shorten(struct tracee *t, uint64_t nr)
{
    struct user_regs_struct regs;
    uint64_t first;
    bool done = false;

    if (!get_regs(t->pid, &regs))
        return false;
    switch (nr) {
    case SYS_read:
    case SYS_write:
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_sendto:
    case SYS_recvfrom:
        done = regs.rdx > 1;
        regs.rdx = 1;
        break;
    case SYS_splice:
        done = regs.r8 > 1;
        regs.r8 = 1;
        break;
    case SYS_readv:
    case SYS_writev:
        t->restore = done = shorten_vector(t, regs.rsi, regs.rdx, &first);
        regs.rsi = first;
        regs.rdx = 1;
        break;
    case SYS_sendmsg:
    case SYS_recvmsg: t->restore = shorten_message(t, regs.rsi); return t->restore;
    default: break;
    }
    if (done)
        set_regs(t->pid, &regs);
    return done;
}

static void restore(struct tracee *t)
{
    for (int i = 0; i < 2; i++)
        if (t->restore_len[i] > 0)
            (void)poke(t->pid, t->restore_at[i], t->restore_bytes[i], t->restore_len[i]);
    t->restore = false;
}

/* --- the blow ------------------------------------------------------------------------------------------ */

static void report_fired(const struct tracee *t)
{
    point_next++;
    seen = 0;
    finished = point_next == point_count && log_file == NULL;
    fprintf(report_file, "fired %d\n", (int)t->pid);
    fflush(report_file);
}

static void strike(struct tracee *t, const struct point *p, uint64_t nr)
{
    bool met = true;

    switch (p->action) {
    case ACT_KILL_BEFORE:
        replace_call(t, -EINTR);
        kill(t->pid, SIGKILL);
        break;
    case ACT_KILL_AFTER: t->kill_at_exit = true; break;
    case ACT_FAIL: replace_call(t, -p->error); break;
    case ACT_FAILED:
        t->fake = true;
        t->result = -p->error;
        break;
    case ACT_SHORT: met = shorten(t, nr); break;
    }
    if (met)
        report_fired(t);
}

static enum role role_of_name(const char *name)
{
    if (strncmp(name, "holdfast-", 9) != 0)
        return ROLE_NONE;
    for (int r = ROLE_WORKER; r < ROLE_COUNT; r++)
        if (strcmp(name + 9, role_names[r]) == 0)
            return (enum role)r;
    return ROLE_NONE;
}

/* True if the call is the one by which a process shows its role. */
static bool name_given(struct tracee *t, uint64_t nr, const uint64_t *args)
{
    char name[16];

    if (nr != SYS_prctl || args[0] != PR_SET_NAME || !peek(t->pid, args[1], name, sizeof name))
        return false;
    name[15] = '\0';
    t->role = role_of_name(name);
    t->candidate = false;
    return true;
}

static bool is_logging(void)
{
    return log_file != NULL && point_next == point_count;
}

static bool is_counted(const struct tracee *t)
{
    if (t->role == ROLE_NONE)
        return false;
    return is_logging() || (point_next < point_count && t->role == points[point_next].role);
}

static void on_entry(struct tracee *t, uint64_t nr, const uint64_t *args)
{
    char name[NAME_BYTES];

    const struct point *p = &points[point_next];

    (void)name_given(t, nr, args);
    if (finished || !is_counted(t))
        return;
    if (!is_logging() && strncmp(p->call, bare_name(nr), strlen(bare_name(nr))) != 0)
        return;
    call_name(name, t->pid, nr, args);
    if (is_logging())
        fprintf(log_file, "%s %s\n", role_names[t->role], name);
    else if (strcmp(name, p->call) == 0 && ++seen == p->number)
        strike(t, p, nr);
}

static void on_exit_of_call(struct tracee *t)
{
    if (t->fake)
        set_result(t, t->result);
    if (t->restore)
        restore(t);
    t->fake = false;
    if (t->kill_at_exit)
        kill(t->pid, SIGKILL);
}

/* --- stops ------------------------------------------------------------------------------------------------ */

/* Something of the call under way is still to be done at its end. */
static bool is_busy(const struct tracee *t)
{
    return t->fake || t->restore || t->kill_at_exit;
}

static void resume(struct tracee *t, int sig)
{
    bool trace = (t->candidate || is_counted(t)) && !finished;

    if (finished && !is_busy(t)) {
        pid_t pid = t->pid;

        if (pid != root_pid)
            drop(t);
        else
            t->fate = FATE_LET_GO;
        (void)ptrace(PTRACE_DETACH, pid, NULL, (void *)(long)sig);
        return;
    }
    (void)ptrace(trace || is_busy(t) ? PTRACE_SYSCALL : PTRACE_CONT, t->pid, NULL,
                 (void *)(long)sig);
}

static void on_call(struct tracee *t)
{
    struct __ptrace_syscall_info info = {0};

    if (ptrace(PTRACE_GET_SYSCALL_INFO, t->pid, (void *)sizeof info, &info) > 0) {
        if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
            on_entry(t, info.entry.nr, info.entry.args);
        else if (info.op == PTRACE_SYSCALL_INFO_EXIT)
            on_exit_of_call(t);
    }
    if (t->kill_at_exit && info.op == PTRACE_SYSCALL_INFO_EXIT)
        t->kill_at_exit = false;
    resume(t, 0);
}

/* A child that shares memory is a program on its way to execve(2); others may be a worker. */
static bool shares_memory(pid_t parent)
{
    struct user_regs_struct regs;
    uint64_t flags = 0;

    if (!get_regs(parent, &regs))
        return false;
    if (regs.orig_rax == SYS_clone)
        flags = regs.rdi;
    else if (regs.orig_rax == SYS_clone3)
        (void)peek(parent, regs.rdi, &flags, sizeof flags);
    else if (regs.orig_rax == SYS_vfork)
        flags = CLONE_VM;
    return flags & CLONE_VM;
}

static void settle(struct tracee *child)
{
    child->stopped = false;
    if (child->fate == FATE_LET_GO) {
        pid_t pid = child->pid;

        drop(child);
        (void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
    } else {
        resume(child, 0);
    }
}

static void on_child(pid_t parent)
{
    unsigned long pid = 0;
    struct tracee *child;
    bool program = shares_memory(parent);

    (void)ptrace(PTRACE_GETEVENTMSG, parent, NULL, &pid);
    child = add((pid_t)pid);
    child->fate = program ? FATE_LET_GO : FATE_WATCH;
    child->candidate = !program;
    if (child->stopped)
        settle(child);
}

/* Of /proc/PID/status; "" if it is gone. */
static void status_field(pid_t pid, const char *field, char *out, size_t size)
{
    char path[64], line[128];
    size_t len = strlen(field);
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    f = fopen(path, "r");
    out[0] = '\0';
    while (f != NULL && out[0] == '\0' && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, field, len) == 0)
            snprintf(out, size, "%s", line + len);
    if (f != NULL)
        fclose(f);
}

/*
 * Was the parent killed before it could report the fork? Then no event will tell what this child is,
 * and it must not wait for one. A child has its parent's name at first, and all roles have different
 * ones, so an orphan is known by whose child it is now.
 */
static bool is_orphan(pid_t pid)
{
    char parent[32], name[32], parents_name[32];

    status_field(pid, "PPid:", parent, sizeof parent);
    status_field(pid, "Name:", name, sizeof name);
    status_field((pid_t)atoi(parent), "Name:", parents_name, sizeof parents_name);
    return strcmp(name, parents_name) != 0;
}

static void settle_if_orphan(struct tracee *t)
{
    if (!t->stopped || t->fate != FATE_UNKNOWN || !is_orphan(t->pid))
        return;
    t->fate = FATE_WATCH;
    t->candidate = true;
    settle(t);
}

/* A binary that replaces the keeper goes on as keeper; what a fork executes may take a name yet. */
static void on_exec(struct tracee *t)
{
    if (t->pid == root_pid && t->role == ROLE_NONE)
        t->role = ROLE_LAUNCHER;
    resume(t, 0);
}

static void on_event(struct tracee *t, int event, int sig)
{
    switch (event) {
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE: {
        pid_t pid = t->pid;

        on_child(pid);
        resume(find(pid), 0);
        break;
    }
    case PTRACE_EVENT_EXEC: on_exec(t); break;
    case PTRACE_EVENT_STOP:
        if (t->fate == FATE_UNKNOWN && t->pid != root_pid) {
            t->stopped = true;
            settle_if_orphan(t);
        } else if (t->fate == FATE_LET_GO) {
            settle(t);
        } else if (sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU) {
            (void)ptrace(PTRACE_LISTEN, t->pid, NULL, NULL);
        } else {
            resume(t, 0);
        }
        break;
    default: resume(t, 0);
    }
}

static void on_stop(pid_t pid, int status)
{
    struct tracee *t = add(pid);
    int sig = WSTOPSIG(status), event = status >> 16;

    if (sig == (SIGTRAP | 0x80))
        on_call(t);
    else if (event != 0)
        on_event(t, event, sig);
    else
        resume(t, sig);
}

static void on_end(pid_t pid, int status)
{
    struct tracee *t = find(pid);

    if (t != NULL)
        drop(t);
    /* From the last one on: settling one may move the last into its place. */
    for (size_t i = tracee_count; i-- > 0;)
        settle_if_orphan(&tracees[i]);
    if (pid == root_pid) {
        root_gone = true;
        root_status = status;
    }
}

/* Once struck nobody else needs to be watched: those that run are asked to stop for a moment. */
static void let_all_go(void)
{
    static bool asked;

    if (!finished || asked)
        return;
    asked = true;
    for (size_t i = 0; i < tracee_count; i++)
        if (tracees[i].fate != FATE_UNKNOWN || tracees[i].pid == root_pid)
            (void)ptrace(PTRACE_INTERRUPT, tracees[i].pid, NULL, NULL);
}

/* --- the run -------------------------------------------------------------------------------------------------- */

/* All descendants; orphans are among them, because we are the subreaper. */
static void kill_tree(pid_t of)
{
    char path[64];
    FILE *list;
    int pid;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)of, (int)of);
    list = fopen(path, "r");
    while (list != NULL && fscanf(list, "%d", &pid) == 1) {
        kill_tree(pid);
        kill(pid, SIGKILL);
    }
    if (list != NULL)
        fclose(list);
}

static void start_root(char **command)
{
    int gate[2];
    char byte;

    if (pipe2(gate, O_CLOEXEC) < 0)
        die("pipe");
    root_pid = fork();
    if (root_pid < 0)
        die("fork");
    if (root_pid == 0) {
        close(gate[1]);
        if (read(gate[0], &byte, 1) < 0)
            _exit(126);
        execv(command[0], command);
        _exit(127);
    }
    close(gate[0]);
    add(root_pid)->fate = FATE_WATCH;
    if ((log_file != NULL || point_count > 0) &&
        ptrace(PTRACE_SEIZE, root_pid, NULL, (void *)(long)TRACE_OPTIONS) < 0)
        die("ptrace");
    close(gate[1]);
}

/* Whoever started us is gone, and with it the sense of it all. */
static volatile sig_atomic_t deserted;

static void on_desertion(int sig)
{
    (void)sig;
    deserted = 1;
}

static void follow(void)
{
    while (!root_gone || until_last) {
        int status;
        pid_t pid = waitpid(-1, &status, __WALL);

        if (deserted)
            kill_tree(getpid());
        if (pid < 0 && errno == ECHILD)
            break;
        if (pid < 0)
            continue;
        if (WIFSTOPPED(status))
            on_stop(pid, status);
        else
            on_end(pid, status);
        let_all_go();
    }
}

static uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Orphans are ours (subreaper), so this finds whoever outlived the daemon, whatever it did to itself. */
static bool report_children(bool kill_them)
{
    char path[64], name[32];
    FILE *list;
    int pid;
    bool any = false;

    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    list = fopen(path, "r");
    while (list != NULL && fscanf(list, "%d", &pid) == 1) {
        FILE *comm;

        any = true;
        snprintf(path, sizeof path, "/proc/%d/comm", pid);
        comm = fopen(path, "r");
        if (comm == NULL || fscanf(comm, "%31s", name) != 1)
            strcpy(name, "?");
        if (comm != NULL)
            fclose(comm);
        fprintf(report_file, "left %d %s\n", pid, name);
        if (kill_them)
            kill(pid, SIGKILL);
    }
    if (list != NULL)
        fclose(list);
    return any;
}

static void wait_for_rest(void)
{
    uint64_t until = now_ms() + LEFT_MS;
    int status;
    bool told = false;

    while (true) {
        pid_t pid = waitpid(-1, &status, __WALL | WNOHANG);

        if (pid < 0)
            return;
        if (pid > 0 && WIFSTOPPED(status))
            (void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
        if (pid > 0)
            continue;
        if (now_ms() > until) {
            (void)report_children(true);
            if (told)
                return;
            told = true;
            until = now_ms() + LEFT_MS;
        }
        usleep(500);
    }
}

static enum role parse_role(const char *text)
{
    for (int r = ROLE_WORKER; r < ROLE_COUNT; r++)
        if (strcmp(text, role_names[r]) == 0)
            return (enum role)r;
    errno = EINVAL;
    die(text);
    return ROLE_NONE;
}

static enum action parse_action(const char *text)
{
    if (strcmp(text, "kill-before") == 0)
        return ACT_KILL_BEFORE;
    if (strcmp(text, "kill-after") == 0)
        return ACT_KILL_AFTER;
    if (strcmp(text, "short") == 0)
        return ACT_SHORT;
    return strncmp(text, "failed=", 7) == 0 ? ACT_FAILED : ACT_FAIL;
}

static void parse_point(char *text)
{
    struct point *p = &points[point_count++];
    char *call = strchr(text, '/'), *number = call != NULL ? strchr(call, ':') : NULL;
    char *action = number != NULL ? strchr(number + 1, ':') : NULL;
    const char *error = action != NULL ? strchr(action, '=') : NULL;

    if (action == NULL || point_count == POINTS_MAX) {
        errno = EINVAL;
        die(text);
    }
    *call++ = *number++ = *action++ = '\0';
    snprintf(p->call, sizeof p->call, "%s", call);
    p->role = parse_role(text);
    p->number = strtoul(number, NULL, 10);
    p->action = parse_action(action);
    for (size_t i = 0; error != NULL && i < sizeof errors / sizeof *errors; i++)
        if (strcmp(errors[i].name, error + 1) == 0)
            p->error = errors[i].number;
}

int main(int argc, char **argv)
{
    int opt;

    while ((opt = getopt(argc, argv, "+kl:p:")) != -1) {
        if (opt == 'k')
            until_last = true;
        else if (opt == 'l')
            log_file = fopen(optarg, "w");
        else if (opt == 'p')
            parse_point(optarg);
        else
            return 125;
    }
    if (argc - optind < 3)
        return 125;
    report_file = fopen(argv[optind], "w");
    if (report_file == NULL)
        die(argv[optind]);
    setvbuf(report_file, NULL, _IOLBF, 0);
    (void)fcntl(fileno(report_file), F_SETFD, FD_CLOEXEC);
    if (log_file != NULL)
        (void)fcntl(fileno(log_file), F_SETFD, FD_CLOEXEC);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    (void)sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_desertion}, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    start_root(argv + optind + 2);
    fprintf(report_file, "pid %d\n", (int)root_pid);
    follow();
    wait_for_rest();
    if (WIFSIGNALED(root_status))
        return 128 + WTERMSIG(root_status);
    return WEXITSTATUS(root_status);
}

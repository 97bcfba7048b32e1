/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.c - the child between clone(2) and execve(2)
 *
 * Everything in the part "in the child" below runs in the child: raw system calls only, no C
 * library, no globals. Layer: keeper.
 */
#include "keeper/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include "keeper/high_fds.h"
#include "keeper/keeper_proto.h"
#include "keeper/rawsys.h"

/* Newer than some headers that we are built with. */
#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif

/* --- in the child --------------------------------------------------------- */

/* A pipe accepts two dozen bytes without blocking, each report in one piece. */
RAW_INLINE void child_report(struct child_plan *p, uint32_t stage, long rc, uint32_t path)
{
    struct child_report report;

    report.stage = stage;
    report.error = (int32_t)-rc;
    report.path = path;
    raw_call3(SYS_write, p->report_fd, (long)&report, sizeof report);
}

RAW_CODE __attribute__((noreturn)) static void child_fail(struct child_plan *p, long rc,
                                                          uint32_t path)
{
    child_report(p, p->stage, rc, path);
    for (;;)
        raw_call3(SYS_exit_group, 127, 0, 0);
}

RAW_INLINE void child_must(struct child_plan *p, long rc)
{
    if (rc < 0)
        child_fail(p, rc, 0);
}

/* Until this is done, every change of the table would change the keeper's table. */
RAW_INLINE void child_own_files(struct child_plan *p)
{
    p->stage = K_STAGE_FORK;
    if (!p->share_files)
        return;
    child_must(p, raw_call3(SYS_close_range, HIGH_FD, ~0U, CLOSE_RANGE_UNSHARE));
    child_report(p, K_STAGE_NONE, 0, 0);
}

/* Each may have the number that the other needs, so both move out of the way first. */
RAW_INLINE void child_side(struct child_plan *p)
{
    long side = raw_call3(SYS_fcntl, p->side, F_DUPFD_CLOEXEC, 5);
    long report = raw_call3(SYS_fcntl, p->report_fd, F_DUPFD_CLOEXEC, 5);

    child_must(p, side);
    child_must(p, report);
    child_must(p, raw_call3(SYS_dup3, side, 3, 0));
    child_must(p, raw_call3(SYS_dup3, report, 4, O_CLOEXEC));
    p->report_fd = 4;
    raw_call3(SYS_close_range, 5, ~0U, 0);
}

/*
 * Every other descriptor is closed here rather than by exec: a child that
 * hangs later on must not hold other processes' pipes open. Kernels without
 * close_range(2) leave it to exec, as all descriptors are close-on-exec.
 */
RAW_INLINE void child_descriptors(struct child_plan *p)
{
    for (int fd = 0; fd < 3; fd++)
        child_must(p, raw_call3(SYS_dup3, p->stdio[fd], fd, 0));
    if (p->side >= 0) {
        child_side(p);
        return;
    }
    if (p->report_fd != 3) {
        child_must(p, raw_call3(SYS_dup3, p->report_fd, 3, O_CLOEXEC));
        p->report_fd = 3;
    }
    raw_call3(SYS_close_range, 4, ~0U, 0);
}

RAW_INLINE void child_session(struct child_plan *p)
{
    p->stage = K_STAGE_SESSION;
    child_must(p, raw_call3(SYS_setsid, 0, 0, 0));
    p->stage = p->tty ? K_STAGE_TTY : K_STAGE_PIPE;
    child_descriptors(p);
    if (p->tty)
        child_must(p, raw_call3(SYS_ioctl, 0, TIOCSCTTY, 0));
}

/* The kernel gives this file of a non-dumpable process to root, so any other user becomes
 * dumpable while opening it. The memory is a copy here, so the keeper stays non-dumpable. */
RAW_INLINE long child_open_oom(void)
{
    bool dump = raw_call3(SYS_geteuid, 0, 0, 0) != 0;
    long fd;

    if (dump)
        raw_call5(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
    fd = raw_call5(SYS_openat, AT_FDCWD, (long)"/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC, 0,
                   0);
    if (dump)
        raw_call5(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
    return fd;
}

RAW_INLINE void child_oom(struct child_plan *p)
{
    long fd = child_open_oom(), len = 0;

    child_must(p, fd);
    while (p->oom_score_adj[len] != '\0')
        len++;
    child_must(p, raw_call3(SYS_write, fd, (long)p->oom_score_adj, len));
    raw_call3(SYS_close, fd, 0, 0);
}

RAW_INLINE void child_limits(struct child_plan *p)
{
    p->stage = K_STAGE_LIMITS;
    for (uint32_t i = 0; i < p->limit_count; i++)
        child_must(
            p, raw_call5(SYS_prlimit64, 0, p->limits[i].which, (long)&p->limits[i].value, 0, 0));
    if (p->set_nice)
        child_must(p, raw_call3(SYS_setpriority, PRIO_PROCESS, 0, p->nice));
    if (p->set_oom)
        child_oom(p);
}

RAW_INLINE void child_user(struct child_plan *p)
{
    p->stage = K_STAGE_USER;
    if (!p->set_user)
        return;
    child_must(p, raw_call3(SYS_setgroups, p->group_count, (long)p->groups, 0));
    child_must(p, raw_call3(SYS_setresgid, p->gid, p->gid, p->gid));
    child_must(p, raw_call3(SYS_setresuid, p->uid, p->uid, p->uid));
}

/*
 * "Permission denied" for one candidate is more useful than "not found" for the rest. A file that
 * the kernel cannot run is reported as such (ENOEXEC): passing it to a shell, as execvp(3) does,
 * would run anything as a script.
 */
RAW_INLINE __attribute__((noreturn)) void child_exec(struct child_plan *p)
{
    uint32_t denied = UINT32_MAX, i = 0;
    long rc = -ENOENT;

    p->stage = K_STAGE_EXEC;
    for (; i < p->path_count; i++) {
        rc = raw_call3(SYS_execve, (long)p->paths[i], (long)p->argv, (long)p->envp);
        if (rc == -EACCES && denied == UINT32_MAX)
            denied = i;
        if (rc != -EACCES && rc != -ENOENT && rc != -ENOTDIR)
            child_fail(p, rc, i);
    }
    if (denied != UINT32_MAX)
        child_fail(p, -EACCES, denied);
    child_fail(p, rc, p->path_count - 1);
}

/* Signals are blocked until the last moment; the keeper has all of them at default. */
RAW_CODE static void child_run(void *arg)
{
    struct child_plan *p = arg;
    uint64_t no_signals = 0;

    child_own_files(p);
    child_session(p);
    child_limits(p);
    child_user(p);
    p->stage = K_STAGE_CWD;
    if (p->cwd != NULL)
        child_must(p, raw_call3(SYS_chdir, (long)p->cwd, 0, 0));
    raw_call5(SYS_rt_sigprocmask, SIG_SETMASK, (long)&no_signals, 0, sizeof no_signals, 0);
    child_exec(p);
}

/* --- in the keeper -------------------------------------------------------- */

RAW_INLINE long child_shares(const struct child_plan *plan)
{
    return (plan->own_memory ? 0 : CLONE_VM) | (plan->share_files ? CLONE_FILES : 0) |
           (plan->pid_at != NULL ? CLONE_PARENT_SETTID : 0);
}

/* clone3(2) starts the child in its cgroup, which avoids a slow move later. */
RAW_CODE static pid_t child_start_in_cgroup(struct child_plan *plan, void *stack, int cgroup_fd)
{
    struct clone_args args = {
        .flags = CLONE_INTO_CGROUP | child_shares(plan),
        .exit_signal = SIGCHLD,
        .stack = (uintptr_t)stack,
        .stack_size = CHILD_STACK_BYTES,
        .parent_tid = (uintptr_t)plan->pid_at,
        .cgroup = (uint64_t)cgroup_fd,
    };

    return (pid_t)raw_clone_call(SYS_clone3, (long)&args, sizeof args, 0, child_run, plan);
}

RAW_CODE pid_t child_start(struct child_plan *plan, void *stack, int cgroup_fd)
{
    long flags = SIGCHLD | child_shares(plan);

    if (cgroup_fd >= 0)
        return child_start_in_cgroup(plan, stack, cgroup_fd);
    return (pid_t)raw_clone_call(SYS_clone, flags, (long)stack + CHILD_STACK_BYTES,
                                 (long)plan->pid_at, child_run, plan);
}

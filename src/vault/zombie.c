/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zombie.c - inspects a dead child before it is reaped. Layer: vault.
 */
#include "vault/zombie.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t time_us(const struct timeval *t)
{
    return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

static int status_of(const siginfo_t *info)
{
    if (info->si_code == CLD_EXITED)
        return (info->si_status & 0xff) << 8;
    return info->si_status | (info->si_code == CLD_DUMPED ? 0x80 : 0);
}

static struct usage usage_of(const struct rusage *r)
{
    return (struct usage){.user_us = time_us(&r->ru_utime),
                          .system_us = time_us(&r->ru_stime),
                          .max_rss_kib = (uint64_t)r->ru_maxrss,
                          .has_blocks = true,
                          .in_blocks = (uint64_t)r->ru_inblock,
                          .out_blocks = (uint64_t)r->ru_oublock};
}

/* wait4(2) always reaps, and the C library's waitid() does not report resource usage. */
pid_t zombie_peek(pid_t pid, struct zombie *out)
{
    siginfo_t info = {0};
    struct rusage usage = {0}; /* some kernels leave it alone */
    long rc;

    do
        rc = syscall(SYS_waitid, pid == 0 ? P_ALL : P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT,
                     &usage);
    while (rc < 0 && errno == EINTR);
    if (rc < 0 || info.si_pid == 0)
        return 0;
    *out = (struct zombie){
        .pid = info.si_pid,
        .status = status_of(&info),
        .usage = usage_of(&usage),
    };
    return info.si_pid;
}

void zombie_reap(pid_t pid)
{
    while (waitpid(pid, NULL, WNOHANG) < 0 && errno == EINTR)
        ;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine_calls.c - the tables. What is called most often stands first: kernels before 5.11 walk
 * through the filter at each call. Layer: cli.
 */
#include "cli/confine_calls.h"

#include <asm/termbits.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/braces.h"

/* asm/ioctls.h and sys/ioctl.h conflict with asm/termbits.h on some systems. */
#include <asm/ioctls.h>

#ifndef PROT_EXEC
#define PROT_EXEC 4
#endif

#define ANY(name) BRACES(.nr = SYS_##name, .check = CALL_ANY)
#define ONE_OF(name, which, ...)                                                                   \
    BRACES(.nr = SYS_##name, .check = CALL_ONE_OF, .arg = (which),                                 \
           .count = sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t),                          \
           .values = BRACES(__VA_ARGS__))
#define WITHOUT(name, which, bits)                                                                 \
    BRACES(.nr = SYS_##name, .check = CALL_WITHOUT, .arg = (which), .count = 1,                    \
           .values = BRACES(bits))

/* Open descriptors, memory, time, and the process itself. */
static const struct call_rule common[] = {
    ANY(recvmsg),
    ANY(sendmsg),
    ANY(read),
    ANY(write),
    ANY(epoll_ctl),
    ANY(epoll_pwait),
#ifdef SYS_epoll_wait
    ANY(epoll_wait),
#endif
    ONE_OF(ioctl, 1, FIONREAD, TIOCOUTQ, TIOCSWINSZ, TIOCGWINSZ, TIOCGPGRP, TCGETS, TCGETS2,
           FIONBIO),
    ANY(clock_gettime),
    ANY(close),
    ANY(recvfrom),
    ANY(sendto),
    ANY(readv),
    ANY(writev),
    ANY(accept4),
    /* No new executable memory: written memory cannot be executed. */
    WITHOUT(mmap, 2, PROT_EXEC),
    WITHOUT(mprotect, 2, PROT_EXEC),
    ANY(munmap),
    ANY(mremap),
    ANY(madvise),
    ANY(brk),
    ANY(futex),
    /* Options that the server sets on its connections; no packet filters, no other protocols. */
    ONE_OF(setsockopt, 2, TCP_NODELAY, TCP_CORK, TCP_QUICKACK, TCP_KEEPIDLE, TCP_KEEPINTVL,
           TCP_KEEPCNT, TCP_USER_TIMEOUT, TCP_NOTSENT_LOWAT, SO_KEEPALIVE, SO_LINGER, SO_RCVBUF,
           SO_SNDBUF, SO_RCVLOWAT),
    ANY(getsockopt),
    ANY(getsockname),
    ANY(getpeername),
    ANY(shutdown),
    ONE_OF(fcntl, 1, F_GETFL, F_SETFL, F_GETFD, F_SETFD, F_DUPFD_CLOEXEC, F_SETPIPE_SZ,
           F_GETPIPE_SZ, F_ADD_SEALS, F_GET_SEALS),
    ANY(fstat),
    ANY(newfstatat),
    ANY(lseek),
    ANY(openat),
    ANY(getrandom),
    ANY(getpid),
    ANY(gettid),
    ANY(getppid),
    ANY(getuid),
    ANY(geteuid),
    ANY(getgid),
    ANY(getegid),
    ANY(sched_yield),
    ANY(sched_getaffinity),
    ANY(ppoll),
#ifdef SYS_poll
    ANY(poll),
#endif
    ANY(rt_sigprocmask),
    ANY(rt_sigaction),
    ANY(rt_sigreturn),
    ANY(restart_syscall),
    ANY(sigaltstack),
    ANY(gettimeofday),
    ANY(clock_getres),
    ANY(clock_nanosleep),
#ifdef SYS_time
    ANY(time),
#endif
#ifdef SYS_rseq
    ANY(rseq),
#endif
    ANY(uname),
    ANY(sysinfo),
    /* abort(3), so that a failed assertion is recognisable. */
    {.nr = SYS_tgkill, .check = CALL_OWN_PID, .arg = 0},
    ANY(exit),
    ANY(exit_group),
};

/* Journals, floods through the siding, files of the shell integration, process information. */
static const struct call_rule worker[] = {
    ANY(splice),     ANY(memfd_create), ANY(ftruncate),  ANY(fallocate), ANY(dup),
    ANY(pread64),    ANY(getcwd),       ANY(getdents64), ANY(statfs),    ANY(readlinkat),
    ANY(faccessat),
#ifdef SYS_faccessat2
    ANY(faccessat2),
#endif
    ANY(mkdirat),    ANY(unlinkat),     ANY(renameat),   ANY(fchmod),    ANY(fchmodat),
#ifdef SYS_readlink
    ANY(readlink),   ANY(access),       ANY(unlink),     ANY(mkdir),
#endif
};

/* One connection to Redis. */
static const struct call_rule registrar[] = {
    ONE_OF(socket, 0, AF_INET, AF_INET6),
    ANY(connect),
};

/* Connections to sandboxes and resolvers; tunnels; a watched file. */
static const struct call_rule gateway[] = {
    ANY(splice),           ONE_OF(socket, 0, AF_INET, AF_INET6, AF_UNIX),
    ANY(connect),          ANY(pipe2),
    ANY(inotify_init1),    ANY(inotify_add_watch),
    ANY(inotify_rm_watch),
};

#ifdef __SANITIZE_ADDRESS__
/* LeakSanitizer inspects the process from a tracer thread. */
static const struct call_rule sanitizer[] = {
    ANY(clone),      ANY(ptrace),         ANY(wait4),           ANY(prctl),
    ANY(prlimit64),  ANY(getrlimit),      ANY(readlinkat),      ANY(process_vm_readv),
    ANY(getdents64), ANY(sched_getparam), ANY(set_robust_list),
#ifdef SYS_arch_prctl
    ANY(arch_prctl), ANY(getdents),       ANY(readlink),        ANY(open),
    ANY(stat),
#endif
};
#endif

#define TABLE(rules) BRACES((rules), sizeof(rules) / sizeof *(rules))

const struct call_rule *calls_table(enum confine_role role, size_t i, size_t *count)
{
    const struct {
        const struct call_rule *rules;
        size_t count;
    } own[] =
        {
            [CONFINE_WORKER] = TABLE(worker),
            [CONFINE_REGISTRAR] = TABLE(registrar),
            [CONFINE_GATEWAY] = TABLE(gateway),
        },
      tables[] = {
          TABLE(common),
          own[role],
#ifdef __SANITIZE_ADDRESS__
          TABLE(sanitizer),
#endif
      };

    if (i >= sizeof tables / sizeof *tables)
        return NULL;
    *count = tables[i].count;
    return tables[i].rules;
}

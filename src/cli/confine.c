/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/confine.h"

#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"

#if defined(__x86_64__)
#define CONFINE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define CONFINE_ARCH AUDIT_ARCH_AARCH64
#endif

/* LeakSanitizer traces its own process at exit, so a sanitized worker is not filtered. */
#if defined(CONFINE_ARCH) && !defined(__SANITIZE_ADDRESS__)
/* Refused with EPERM. accept4(2) on what listens already is all the networking there is. */
static const unsigned short refused[] = {
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_open_by_handle_at,
    SYS_socket,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_kill,
    SYS_tkill,
    SYS_reboot,
    SYS_swapon,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_memfd_secret,
    SYS_pidfd_getfd,
    SYS_pidfd_open,
};
#define REFUSED (sizeof refused / sizeof refused[0])

static int filter_install(void)
{
    struct sock_filter code[REFUSED + 6];
    struct sock_fprog prog = {.filter = code};
    size_t n = 0, i;

    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CONFINE_ARCH, 1, 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (i = 0; i < REFUSED; i++)
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i],
                                                 (__u8)(REFUSED - i), 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    prog.len = (unsigned short)n;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0 ? -errno : 0;
}
#else
static int filter_install(void)
{
    return 0;
}
#endif

/*
 * The uid is one that nobody else has, so it is safe to stay dumpable, which a change
 * of ids would end: the keeper reads off a dead worker what it had moved
 * (base/io.h), and without CAP_SYS_PTRACE it may do so only then.
 */
static int drop_ids(uid_t uid, gid_t gid)
{
    if (geteuid() != 0 || uid == 0)
        return 0;
    if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
        return -errno;
    prctl(PR_SET_DUMPABLE, 1);
    return 0;
}

int confine(uid_t uid, gid_t gid)
{
    int rc = drop_ids(uid, gid);

    if (rc < 0 && geteuid() == 0) {
        /* Sandboxes without other users: a user namespace with one id, or no CAP_SETUID. */
        log_warn("the worker stays root, for it cannot become user %u: %s", (unsigned)uid,
                 strerror(-rc));
    } else if (rc < 0) {
        log_error("the worker is neither root nor user %u: %s", (unsigned)uid, strerror(-rc));
        return rc;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        log_warn("no_new_privs: %s", strerror(errno));
    rc = filter_install();
    if (rc < 0)
        log_warn("no system call filter: %s", strerror(-rc));
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside_filter - tries calls from inside the confinement and prints what became of each
 *
 * Usage: inside_filter worker|registrar|gateway WRITE_DIR
 * A line for each: NAME ok | NAME ERRNO | NAME signal N. Each is tried in the process itself, because it may not fork.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/confine.h"

#define X32 0x40000000

static char page[4096] __attribute__((aligned(4096)));
static struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "/nowhere"};
static struct sockaddr_in in = {.sin_family = AF_INET};
static const char *argv_true[] = {"/bin/true", NULL};
static uint64_t clone3_args[11] = {[4] = SIGCHLD};
static struct sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
static struct sock_fprog packets = {1, &allow};

static void show(const char *name, long rc)
{
    printf("%s %s\n", name, rc >= 0 ? "ok" : strerrorname_np(errno));
    fflush(stdout);
}

#define TRY(name, ...) show(name, syscall(__VA_ARGS__))

static void try_processes(void)
{
    TRY("execve", SYS_execve, "/bin/true", argv_true, NULL);
    TRY("execveat", SYS_execveat, AT_FDCWD, "/bin/true", argv_true, NULL, 0);
    TRY("clone", SYS_clone, SIGCHLD, 0, 0, 0, 0);
    TRY("clone-newuser", SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    TRY("clone3", SYS_clone3, clone3_args, sizeof clone3_args);
#ifdef SYS_fork
    TRY("fork", SYS_fork);
    TRY("vfork-x32", SYS_vfork | X32);
    TRY("getpid-x32", SYS_getpid | X32);
#endif
    TRY("ptrace", SYS_ptrace, 16, getppid(), 0, 0);
    TRY("process_vm_readv", SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0);
    TRY("process_vm_writev", SYS_process_vm_writev, getppid(), NULL, 0, NULL, 0, 0);
    TRY("kill", SYS_kill, getppid(), 0);
    TRY("kill-self", SYS_kill, getpid(), 0);
    TRY("tkill", SYS_tkill, getpid(), 0);
    TRY("tgkill", SYS_tgkill, getppid(), getppid(), 0);
    TRY("tgkill-self", SYS_tgkill, getpid(), getpid(), 0);
    TRY("rt_sigqueueinfo", SYS_rt_sigqueueinfo, getppid(), 0, NULL);
    TRY("pidfd_open", SYS_pidfd_open, getppid(), 0);
    TRY("pidfd_send_signal", SYS_pidfd_send_signal, 0, 0, NULL, 0);
    TRY("pidfd_getfd", SYS_pidfd_getfd, 0, 0, 0);
    TRY("prlimit64", SYS_prlimit64, getppid(), 0, NULL, NULL);
    TRY("setpriority", SYS_setpriority, 0, 0, 0);
}

static void try_rights(void)
{
    TRY("setuid", SYS_setuid, 0);
    TRY("setresuid", SYS_setresuid, 0, 0, 0);
    TRY("setgid", SYS_setgid, 0);
    TRY("setgroups", SYS_setgroups, 0, NULL);
    TRY("setfsuid", SYS_setfsuid, 0);
    TRY("capset", SYS_capset, NULL, NULL);
    TRY("unshare", SYS_unshare, CLONE_NEWUSER);
    TRY("setns", SYS_setns, 0, 0);
    TRY("personality", SYS_personality, 0xffffffff);
    TRY("prctl-dumpable", SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
    TRY("prctl-pdeathsig", SYS_prctl, PR_SET_PDEATHSIG, 0, 0, 0, 0);
    TRY("seccomp", SYS_seccomp, 0, 0, NULL);
    TRY("landlock_restrict_self", 446, -1, 0);
    TRY("keyctl", SYS_keyctl, 0, 0, 0, 0, 0);
    TRY("add_key", SYS_add_key, "user", "x", "x", 1, -3);
    TRY("request_key", SYS_request_key, "user", "x", NULL, 0);
}

static void try_kernel(void)
{
    TRY("mount", SYS_mount, "none", "/mnt", "tmpfs", 0, NULL);
    TRY("umount2", SYS_umount2, "/mnt", 0);
    TRY("fsopen", SYS_fsopen, "tmpfs", 0);
    TRY("fsmount", SYS_fsmount, -1, 0, 0);
    TRY("move_mount", SYS_move_mount, -1, "", -1, "", 0);
    TRY("open_tree", SYS_open_tree, AT_FDCWD, "/", 0);
    TRY("mount_setattr", 442, -1, "", 0, NULL, 0);
    TRY("pivot_root", SYS_pivot_root, "/", "/");
    TRY("chroot", SYS_chroot, "/");
    TRY("init_module", SYS_init_module, NULL, 0, "");
    TRY("finit_module", SYS_finit_module, -1, "", 0);
    TRY("delete_module", SYS_delete_module, "x", 0);
    TRY("kexec_load", SYS_kexec_load, 0, 0, NULL, 0);
    TRY("bpf", SYS_bpf, 0, NULL, 0);
    TRY("perf_event_open", SYS_perf_event_open, NULL, 0, -1, -1, 0);
    TRY("io_uring_setup", SYS_io_uring_setup, 1, NULL);
    TRY("userfaultfd", SYS_userfaultfd, 0);
    TRY("memfd_secret", 447, 0);
    TRY("reboot", SYS_reboot, 0, 0, 0, NULL);
    TRY("swapon", SYS_swapon, "/nowhere", 0);
    TRY("sethostname", SYS_sethostname, "x", 1);
    TRY("settimeofday", SYS_settimeofday, NULL, NULL);
    TRY("open_by_handle_at", SYS_open_by_handle_at, AT_FDCWD, NULL, 0);
    TRY("name_to_handle_at", SYS_name_to_handle_at, AT_FDCWD, "/", NULL, NULL, 0);
    TRY("syslog", SYS_syslog, 10, NULL, 0);
    TRY("quotactl", SYS_quotactl, 0, NULL, 0, NULL);
    TRY("acct", SYS_acct, NULL);
    TRY("shmget", SYS_shmget, 0, 4096, 01600);
    TRY("mq_open", SYS_mq_open, "/x", O_RDWR | O_CREAT, 0600, NULL);
    TRY("unknown", 4000);
}

static void try_sockets(int pair)
{
    TRY("socket-inet", SYS_socket, AF_INET, SOCK_STREAM, 0);
    TRY("socket-unix", SYS_socket, AF_UNIX, SOCK_STREAM, 0);
    TRY("socket-netlink", SYS_socket, AF_NETLINK, SOCK_RAW, 0);
    TRY("socket-packet", SYS_socket, AF_PACKET, SOCK_RAW, 0);
    TRY("socket-vsock", SYS_socket, AF_VSOCK, SOCK_STREAM, 0);
    TRY("socketpair", SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, page);
    TRY("connect", SYS_connect, pair, &un, sizeof un);
    TRY("bind", SYS_bind, pair, &in, sizeof in);
    TRY("listen", SYS_listen, pair, 1);
    TRY("setsockopt-filter", SYS_setsockopt, pair, SOL_SOCKET, SO_ATTACH_FILTER, &packets,
        sizeof packets);
    TRY("getsockname", SYS_getsockname, pair, page, &(socklen_t){64});
}

static void try_memory(const char *dir)
{
    char path[4096];

    TRY("mmap", SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    TRY("mmap-exec", SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
        0);
    TRY("mprotect-exec", SYS_mprotect, page, 4096, PROT_READ | PROT_EXEC);
    TRY("pkey_mprotect", SYS_pkey_mprotect, page, 4096, PROT_READ, -1);
    TRY("mlockall", SYS_mlockall, 0);
    TRY("memfd_create", SYS_memfd_create, "x", 0);
    TRY("ioctl-sti", SYS_ioctl, 0, TIOCSTI, "x");
    TRY("ioctl-sctty", SYS_ioctl, 0, TIOCSCTTY, 0);
    TRY("fcntl-setown", SYS_fcntl, 0, F_SETOWN, getpid());
    TRY("open-etc", SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
    TRY("open-bin", SYS_openat, AT_FDCWD, "/bin/true", O_RDONLY);
    TRY("open-root", SYS_openat, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY);
    TRY("write-proc", SYS_openat, AT_FDCWD, "/proc/self/comm", O_WRONLY);
    TRY("write-dev-null", SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY);
    snprintf(path, sizeof path, "%s/made", dir);
    TRY("write-dir", SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    snprintf(path, sizeof path, "%s/fifo", dir);
    TRY("mknod", SYS_mknodat, AT_FDCWD, path, 0010600, 0);
    TRY("symlink", SYS_symlinkat, "/etc", AT_FDCWD, path);
    TRY("chown", SYS_fchownat, AT_FDCWD, dir, 0, 0, 0);
    TRY("setxattr", SYS_setxattr, dir, "user.x", "x", 1, 0);
}

/* Last, because it ends us. */
static void try_other_architecture(void)
{
#ifdef __x86_64__
    printf("int80 tried\n");
    fflush(stdout);
    __asm__ volatile("int $0x80" : : "a"(20) : "memory");
    printf("int80 survived\n");
#endif
}

int main(int argc, char **argv)
{
    const char *dirs[] = {argc > 2 ? argv[2] : "/nowhere", NULL};
    struct confine_plan plan = {.uid = 60977, .gid = 60977, .write_dirs = dirs};
    struct confinement done = {0};
    int pair[2];

    plan.role = argc < 2                            ? CONFINE_WORKER
                : strcmp(argv[1], "gateway") == 0   ? CONFINE_GATEWAY
                : strcmp(argv[1], "registrar") == 0 ? CONFINE_REGISTRAR
                                                    : CONFINE_WORKER;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 || confine_user(&plan, &done) < 0 ||
        confine_calls(&plan, &done) < 0)
        return 1;
    printf("confined seccomp=%d landlock=%d user=%d\n", done.seccomp, done.landlock, done.user);
    try_processes();
    try_rights();
    try_kernel();
    try_sockets(pair[0]);
    try_memory(dirs[0]);
    try_other_architecture();
    return 0;
}

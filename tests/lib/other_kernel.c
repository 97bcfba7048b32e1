/* SPDX-License-Identifier: Apache-2.0 */
/*
 * other_kernel - runs a command as if the kernel were another
 *
 * Usage: other_kernel no-landlock|no-seccomp|no-filters COMMAND...
 * no-seccomp: the call is unknown. no-filters: the kernel says that it has filters, and then does not take one.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LANDLOCK_CREATE_RULESET 444

int main(int argc, char **argv)
{
    int landlock = argc > 2 && strcmp(argv[1], "no-landlock") == 0;
    int filters = argc > 2 && strcmp(argv[1], "no-filters") == 0;
    struct sock_filter code[] = {
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, landlock ? LANDLOCK_CREATE_RULESET : SYS_seccomp, 0, 3),
        LOAD(args[0]),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SECCOMP_SET_MODE_FILTER, 0, filters ? 1 : 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (filters ? EACCES : ENOSYS)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};

    if (argc < 3)
        return 2;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 1;
}

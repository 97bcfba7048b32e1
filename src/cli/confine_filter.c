/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine_filter.c - builds and installs the seccomp filter from the tables
 *
 * Each rule becomes a block that either decides or falls through to the next, so no jump is longer
 * than one block. The tables hold no x32 numbers, so those calls are refused as well. Layer: cli.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/confine_calls.h"

#if defined(__x86_64__)
#define FILTER_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define FILTER_ARCH AUDIT_ARCH_AARCH64
#endif

#define FILTER_STEPS_MAX 512 /* far fewer than the kernel allows, more than the tables need */

#ifdef FILTER_ARCH
struct confine_filter {
    struct sock_filter code[FILTER_STEPS_MAX];
    unsigned short len;
    bool full;
};

static void add(struct confine_filter *f, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
    if (f->len == FILTER_STEPS_MAX)
        f->full = true;
    else
        f->code[f->len++] = (struct sock_filter){.code = code, .jt = yes, .jf = no, .k = k};
}

static void add_load(struct confine_filter *f, size_t offset)
{
    add(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void add_return(struct confine_filter *f, uint32_t action)
{
    add(f, BPF_RET | BPF_K, action, 0, 0);
}

/* Follows the test of the call number: loads and tests the argument, then "no" and "yes". */
static void add_argument(struct confine_filter *f, const struct call_rule *r, uint32_t pid)
{
    /* The lower half: the kernel also reads an int from there, and both architectures are
     * little-endian. */
    add_load(f, offsetof(struct seccomp_data, args) + 8 * (size_t)r->arg);
    if (r->check == CALL_WITHOUT)
        add(f, BPF_JMP | BPF_JSET | BPF_K, r->values[0], 0, 1);
    else if (r->check == CALL_OWN_PID)
        add(f, BPF_JMP | BPF_JEQ | BPF_K, pid, 1, 0);
    else
        for (uint8_t i = 0; i < r->count; i++)
            add(f, BPF_JMP | BPF_JEQ | BPF_K, r->values[i], (uint8_t)(r->count - i), 0);
    add_return(f, SECCOMP_RET_ERRNO | EPERM);
    add_return(f, SECCOMP_RET_ALLOW);
}

static uint8_t argument_steps(const struct call_rule *r)
{
    return r->check == CALL_ONE_OF ? (uint8_t)(3 + r->count) : 4;
}

static void add_rule(struct confine_filter *f, const struct call_rule *r, uint32_t pid)
{
    if (r->check == CALL_ANY) {
        add(f, BPF_JMP | BPF_JEQ | BPF_K, r->nr, 0, 1);
        add_return(f, SECCOMP_RET_ALLOW);
    } else {
        add(f, BPF_JMP | BPF_JEQ | BPF_K, r->nr, 0, argument_steps(r));
        add_argument(f, r, pid);
    }
}

static void make_filter(struct confine_filter *f, enum confine_role role)
{
    const struct call_rule *rules;
    uint32_t pid = (uint32_t)getpid();
    size_t count;

    add_load(f, offsetof(struct seccomp_data, arch));
    add(f, BPF_JMP | BPF_JEQ | BPF_K, FILTER_ARCH, 1, 0);
    add_return(f, SECCOMP_RET_KILL_PROCESS);
    add_load(f, offsetof(struct seccomp_data, nr));
    for (size_t t = 0; (rules = calls_table(role, t, &count)) != NULL; t++)
        for (size_t i = 0; i < count; i++)
            add_rule(f, &rules[i], pid);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1);
    add_return(f, SECCOMP_RET_ERRNO | ENOSYS);
    add_return(f, SECCOMP_RET_ERRNO | EPERM);
}

/* Does this kernel support filters at all? */
static bool kernel_filters(void)
{
    uint32_t action = SECCOMP_RET_ERRNO;

    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

int calls_filter(enum confine_role role)
{
    struct confine_filter f = {.len = 0};
    struct sock_fprog program = {.filter = f.code};
    bool can = kernel_filters();

    make_filter(&f, role);
    program.len = f.len;
    if (f.full)
        return -E2BIG;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0)
        return 0;
    return can ? -errno : -ENOSYS;
}
#else
int calls_filter(enum confine_role role)
{
    (void)role;
    return -ENOSYS;
}
#endif

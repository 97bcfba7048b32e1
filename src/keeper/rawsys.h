/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rawsys.h - system calls without a C library around them
 *
 * A child between clone(CLONE_VM) and execve(2) runs in the keeper's memory while the keeper keeps
 * running. It must not touch anything that the C library keeps there: errno, locks, the heap. These
 * wrappers return -errno and touch registers only. Code that uses them is marked RAW_CODE, because
 * sanitizers also keep data in shared memory. Layer: keeper.
 */
#ifndef HF_KEEPER_RAWSYS_H
#define HF_KEEPER_RAWSYS_H

#include <sys/syscall.h>

/* Newer than some headers that we are built with. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif

#if defined(__clang__)
#define RAW_CODE __attribute__((no_sanitize("address", "undefined", "coverage")))
#else
#define RAW_CODE __attribute__((no_sanitize("address,undefined")))
#endif

/* The coverage build defines its own. */
#ifndef RAW_INLINE
#define RAW_INLINE RAW_CODE __attribute__((always_inline)) static inline
#endif

#if defined(__x86_64__)

RAW_INLINE long raw_call5(long nr, long a, long b, long c, long d, long e)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    long rc;

    __asm__ volatile("syscall"
                     : "=a"(rc)
                     : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return rc;
}

/*
 * A clone-like call whose child starts on another stack: it runs fn(arg),
 * which never returns. The parent gets the pid or -errno.
 */
RAW_INLINE long raw_clone_call(long nr, long a, long b, long c, void (*fn)(void *), void *arg)
{
    register void (*start)(void *) __asm__("r12") = fn;
    register void *with __asm__("r13") = arg;
    register long r10 __asm__("r10") = 0;
    register long r8 __asm__("r8") = 0;
    long rc;

    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "mov %%r13, %%rdi\n\t"
                     "call *%%r12\n\t"
                     "ud2\n"
                     "1:"
                     : "=a"(rc)
                     : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(start), "r"(with)
                     : "rcx", "r11", "memory");
    return rc;
}

#elif defined(__aarch64__)

RAW_INLINE long raw_call5(long nr, long a, long b, long c, long d, long e)
{
    register long x8 __asm__("x8") = nr;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;

    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
    return x0;
}

RAW_INLINE long raw_clone_call(long nr, long a, long b, long c, void (*fn)(void *), void *arg)
{
    register long x8 __asm__("x8") = nr;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = 0;
    register long x4 __asm__("x4") = 0;
    register void (*start)(void *) __asm__("x9") = fn;
    register void *with __asm__("x10") = arg;

    __asm__ volatile("svc #0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x29, #0\n\t"
                     "mov x30, #0\n\t"
                     "mov x0, x10\n\t"
                     "blr x9\n\t"
                     "brk #1\n"
                     "1:"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(start), "r"(with)
                     : "x30", "memory");
    return x0;
}

#else
/* cppcheck-suppress preprocessorErrorDirective */
#error "the keeper's child needs its system call wrapper for this processor"
#endif

RAW_INLINE long raw_call3(long nr, long a, long b, long c)
{
    return raw_call5(nr, a, b, c, 0, 0);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters.c - lets gcov count in processes that never come to exit(3)
 *
 * gcov keeps its counters in memory and adds them to files at exit(3). Most of what runs in the
 * keeper's family ends otherwise: workers by _exit(2) or SIGKILL and in a sandbox that lets them
 * open no file, children by execve(2). So this object, which only the coverage build links, maps
 * the counters (counters.ld puts them together) as memory that a fork shares: what a child counts
 * is there for whoever of the family comes to exit(3) or execve(2) next. Each count is taken out
 * of the shared memory before it is written, so that nobody else writes it once more.
 */
#define _GNU_SOURCE
#include <gcov.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

extern uint64_t counters_start[], counters_end[];
static uint64_t *shared; /* the same memory at another address */

static size_t counters_bytes(void)
{
    return (size_t)((char *)counters_end - (char *)counters_start);
}

/* mremap(2) of zero bytes makes a second mapping of the same memory. */
static void counters_attach(void)
{
    if (mremap(shared, 0, counters_bytes(), MREMAP_MAYMOVE | MREMAP_FIXED, counters_start) ==
        MAP_FAILED)
        _exit(126);
}

/* Before any other constructor counts. */
__attribute__((constructor(101))) static void counters_share(void)
{
    shared =
        mmap(NULL, counters_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        _exit(126);
    counters_attach();
}

/* From here on this process counts for itself, beginning with all there was. */
static void counters_take(void)
{
    if (mmap(counters_start, counters_bytes(), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        _exit(126);
    for (size_t i = 0; i < counters_bytes() / sizeof *shared; i++)
        counters_start[i] = __atomic_exchange_n(&shared[i], 0, __ATOMIC_RELAXED);
}

/* Every measured file has a destructor that calls this; the first one writes them all. */
void __real___gcov_exit(void);
void __wrap___gcov_exit(void);
void __wrap___gcov_exit(void)
{
    static int taken;

    if (!taken)
        counters_take();
    taken = 1;
    __real___gcov_exit();
}

/* In place of libgcov's, which sets the counters of a child to zero. */
pid_t __gcov_fork(void);
pid_t __gcov_fork(void)
{
    return fork();
}

int __gcov_execv(const char *path, char *const argv[]);
int __gcov_execv(const char *path, char *const argv[])
{
    counters_take();
    __gcov_dump();
    execv(path, argv);
    __gcov_reset();
    counters_attach();
    return -1;
}

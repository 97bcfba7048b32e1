/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc.c - an allocator that refuses one allocation of one role
 *
 * Linked into the binary of the matrix with --wrap, in front of the C library's.
 * HF_FAULT_ALLOC names a file of one struct alloc_plan, which all processes of a run
 * share: a count goes on in the next worker and in the next binary. Without it nothing is refused.
 * A process shows its role by its name, as in inject.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { ROLE_NONE, ROLE_WORKER, ROLE_KEEPER, ROLE_VAULT, ROLE_LAUNCHER, ROLE_COUNT };
static const char *const names[] = {"", "holdfast-worker", "holdfast-keeper", "holdfast-vault",
                                    "holdfast-launcher"};

struct alloc_plan {
    uint32_t role;
    uint32_t number; /* which allocation is refused, from 1; 0: none */
    uint32_t fired;
    uint32_t count[ROLE_COUNT];
};

static struct alloc_plan *plan;
static int role = ROLE_LAUNCHER;

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
int __real_prctl(int, unsigned long, unsigned long, unsigned long, unsigned long);
void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_realloc(void *, size_t);
int __wrap_prctl(int, ...);

static void in_child(void)
{
    role = ROLE_NONE;
}

__attribute__((constructor)) static void alloc_begin(void)
{
    const char *path = getenv("HF_FAULT_ALLOC");
    int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *at;

    if (fd < 0)
        return;
    at = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    pthread_atfork(NULL, NULL, in_child);
    if (at != MAP_FAILED)
        plan = at;
}

static int refuse(void)
{
    if (plan == NULL || role == ROLE_NONE)
        return 0;
    if (++plan->count[role] != plan->number || plan->role != (uint32_t)role)
        return 0;
    plan->fired = (uint32_t)getpid();
    errno = ENOMEM;
    return 1;
}

void *__wrap_malloc(size_t size)
{
    return refuse() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return refuse() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return refuse() ? NULL : __real_realloc(old, size);
}

int __wrap_prctl(int option, ...)
{
    unsigned long args[4];
    va_list list;

    va_start(list, option);
    for (int i = 0; i < 4; i++)
        args[i] = va_arg(list, unsigned long);
    va_end(list);
    for (int r = ROLE_WORKER; option == PR_SET_NAME && r < ROLE_COUNT; r++)
        if (strcmp((const char *)args[0], names[r]) == 0)
            role = r;
    return __real_prctl(option, args[0], args[1], args[2], args[3]);
}

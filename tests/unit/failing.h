/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failing.h - system calls and allocations that fail when a test wants it
 *
 * The linker puts a function of the test in front of a call (--wrap). Which calls, the test file says in a
 * line of its own, which the Makefile reads:
 *
 *     / * Wraps: fork pipe2 * /          (without the blanks)
 *     FAILING(pid_t, fork, (void), (), -1)
 *     FAIL(fork, .error = EAGAIN);
 *
 * What is to fail stands in memory that all children of the test share, so a test can make a call
 * fail in a keeper that runs already: `.pid` is whose call it is, 0 the caller's own, -1 anybody's.
 * Include after test.h.
 */
#ifndef HF_FAILING_H
#define HF_FAILING_H

#include <errno.h>
#include <sys/mman.h>

#define FAILING_MAX 32

struct failing {
    int error;    /* 0: nothing fails, unless `instead` */
    long instead; /* with `give`: returned in place of the failure */
    bool give;
    int after;        /* so many calls go well first */
    int times;        /* 0 is once, -1 for good */
    pid_t pid;        /* 0: whoever set it, -1: anybody */
    long only;        /* a request or command; 0: any */
    const char *path; /* what the path ends with; NULL: any */
    int failed;       /* so many have failed */
};

static struct failing *failing_all;

__attribute__((constructor)) static void failing_begin(void)
{
    failing_all = mmap(NULL, FAILING_MAX * sizeof *failing_all, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (failing_all == MAP_FAILED)
        abort();
}

static inline bool failing_path(const struct failing *f, const char *path)
{
    size_t len = f->path == NULL ? 0 : strlen(f->path);

    return len == 0 ||
           (path != NULL && strlen(path) >= len && strcmp(path + strlen(path) - len, f->path) == 0);
}

static inline bool failing_now(struct failing *f, long what, const char *path)
{
    if ((f->error == 0 && !f->give) || (f->pid != -1 && f->pid != getpid()) ||
        (f->only != 0 && f->only != what) || !failing_path(f, path))
        return false;
    if (f->after > 0)
        return f->after--, false;
    if (f->times >= 0 && f->failed >= (f->times == 0 ? 1 : f->times))
        return false;
    f->failed++;
    if (f->error != 0)
        errno = f->error;
    return true;
}

static inline void failing_set(struct failing *to, struct failing f)
{
    if (f.pid == 0)
        f.pid = getpid();
    *to = f;
}

/* A call that fails with `bad`. The last two name its request and its path. */
#define FAILING_BY(type, name, params, args, bad, what, path)                                      \
    enum { failing_##name = __COUNTER__ };                                                         \
    type __real_##name params;                                                                     \
    type __wrap_##name params;                                                                     \
    type __wrap_##name params                                                                      \
    {                                                                                              \
        struct failing *f_ = &failing_all[failing_##name];                                         \
                                                                                                   \
        _Static_assert(failing_##name < FAILING_MAX, "FAILING_MAX");                               \
        if (failing_all != NULL && failing_now(f_, (what), (path)))                                \
            return f_->give ? (type)f_->instead : (type)(bad);                                     \
        return __real_##name args;                                                                 \
    }
#define FAILING(type, name, params, args, bad) FAILING_BY(type, name, params, args, bad, 0, NULL)

#define FAIL(name, ...) failing_set(&failing_all[failing_##name], (struct failing){__VA_ARGS__})
#define FAIL_NO_MORE(name) failing_set(&failing_all[failing_##name], (struct failing){0})
#define FAILED(name) (failing_all[failing_##name].failed)

#endif

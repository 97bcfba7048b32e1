/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_zombie.c - a dead child can be inspected until it is reaped
 */
#include "test.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/io.h"
#include "base/log.h"
#include "failing.h"
#include "vault/zombie.h"

/* Wraps: waitpid syscall */
FAILING(pid_t, waitpid, (pid_t pid, int *status, int options), (pid, status, options), -1)
FAILING_BY(long, syscall, (long nr, long a, long b, long c, long d, long e, long f),
           (nr, a, b, c, d, e, f), -1, nr, NULL)

TEST(a_dead_child_can_be_looked_at_until_it_is_reaped)
{
    struct zombie d;
    pid_t pid = fork();

    if (pid == 0)
        _exit(7);
    while (zombie_peek(pid, &d) != pid)
        usleep(1000);
    EXPECT_INT(d.status, 7 << 8);
    FAIL(syscall, .error = EINTR, .times = 2, .only = SYS_waitid);
    EXPECT_INT(zombie_peek(0, &d), pid);
    EXPECT_INT(FAILED(syscall), 2);
    FAIL(waitpid, .error = EINTR, .times = 2);
    zombie_reap(pid);
    EXPECT_INT(zombie_peek(0, &d), 0);
    zombie_reap(pid); /* nobody's any more */
    pid = fork();
    if (pid == 0) {
        struct rlimit core = {0};

        (void)getrlimit(RLIMIT_CORE, &core);
        core.rlim_cur = core.rlim_max;
        (void)setrlimit(RLIMIT_CORE, &core);
        signal(SIGQUIT, SIG_DFL); /* a background job of a shell ignores it */
        if (chdir("/proc") == 0)
            raise(SIGQUIT);
    }
    while (zombie_peek(pid, &d) != pid)
        usleep(1000);
    EXPECT(WIFSIGNALED(d.status) && WTERMSIG(d.status) == SIGQUIT);
    zombie_reap(pid);
}

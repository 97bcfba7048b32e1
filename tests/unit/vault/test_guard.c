/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_guard.c - the score that the OOM killer reads
 */
#include "test.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/io.h"
#include "base/log.h"
#include "failing.h"
#include "vault/guard.h"

/* Wraps: pwrite pread open getrlimit */
FAILING(ssize_t, pwrite, (int fd, const void *bytes, size_t len, off_t at), (fd, bytes, len, at),
        -1)
FAILING(ssize_t, pread, (int fd, void *to, size_t len, off_t at), (fd, to, len, at), -1)
FAILING_BY(int, open, (const char *path, int flags, int mode), (path, flags, mode), -1, 0, path)
FAILING(int, getrlimit, (int which, struct rlimit *to), (which, to), -1)

#define SCORE "/proc/self/oom_score_adj"

/* What is done to the score is made up: who may lower it differs from machine to machine. */
TEST(a_score_is_lowered_as_far_as_the_kernel_lets_us)
{
    struct guard g;
    int was = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);

    log_set_level(LOG_ERROR);
    FAIL(open, .error = EACCES, .path = SCORE);
    guard_begin(&g);
    EXPECT_INT(g.oom_fd, -1);
    guard_lift(&g);
    guard_lower(&g);
    guard_end_in_child(&g);
    guard_end(&g);
    FAIL(pread, .give = true);
    guard_begin(&g);
    EXPECT_INT(g.oom_fd, -1);
    guard_end(&g);

    FAIL(pwrite, .give = true, .instead = 4, .times = -1); /* whatever it says, it works */
    guard_begin(&g);
    REQUIRE(g.oom_fd >= 0);
    EXPECT_STR(g.low, "-900");
    guard_lower(&g);
    EXPECT(!g.lifted);
    guard_lift(&g);
    guard_lift(&g);
    EXPECT(g.lifted);
    guard_lower(&g);
    EXPECT(!g.lifted);
    guard_end_in_child(&g);
    guard_end(&g);
    EXPECT_INT(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), was);
    FAIL_NO_MORE(pwrite);
}

TEST(a_score_that_may_not_be_lowered_stays_or_goes_back_to_zero)
{
    struct guard g;

    log_set_level(LOG_ERROR);
    FAIL(pwrite, .error = EPERM);
    guard_begin(&g);
    EXPECT_INT(g.oom_fd, -1);
    guard_end(&g);
    FAIL(pwrite, .error = EACCES);
    guard_begin(&g);
    guard_end(&g);
    /* Somebody had raised it. */
    {
        int fd = open(SCORE, O_WRONLY | O_CLOEXEC, 0);

        REQUIRE(fd >= 0 && pwrite(fd, "300", 3, 0) == 3);
        close(fd);
    }
    FAIL(pwrite, .error = EACCES);
    guard_begin(&g);
    EXPECT(g.oom_fd >= 0);
    EXPECT_STR(g.low, "0");
    EXPECT_STR(g.started, "300");
    guard_lift(&g);
    guard_lower(&g);
    guard_end(&g);
    FAIL(pwrite, .error = EACCES, .times = 2);
    guard_begin(&g);
    EXPECT_INT(g.oom_fd, -1);
    FAIL(getrlimit, .error = EPERM);
    guard_end(&g);
    guard_begin(&g);
    guard_end(&g);
}

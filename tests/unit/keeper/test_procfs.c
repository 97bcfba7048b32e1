/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_procfs.c - what /proc says of a process
 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "keeper/procfs.h"

TEST(a_stat_line_is_read_whatever_the_program_calls_itself)
{
    static const char line[] =
        "1234 (a) b) (c) S 12 34 56 34817 99 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 8192 1 18446\n";
    struct proc p;

    EXPECT(procfs_parse_stat(line, strlen(line), &p));
    EXPECT_INT(p.pid, 1234);
    EXPECT_STR(p.comm, "a) b) (c");
    EXPECT_INT(p.state, 'S');
    EXPECT_INT(p.ppid, 12);
    EXPECT_INT(p.pgrp, 34);
    EXPECT_INT(p.sid, 56);
    EXPECT_U64(p.tty_nr, 34817);
    EXPECT_U64(p.start_ticks, 987654);
    EXPECT(!procfs_parse_stat(line, 20, &p));
    EXPECT(!procfs_parse_stat("", 0, &p));
    EXPECT(!procfs_parse_stat(")(", 2, &p));
}

static void abort_on_signal(int signum)
{
    (void)signum;
    abort();
}

TEST(status_tells_which_signals_have_a_handler)
{
    static const char text[] = "Name:\tSigCgt: ffff\nSigIgn:\tffffffffffffffff\n"
                               "SigCgt:\t8000000000004002\nCapInh:\t0\n";

    EXPECT(procfs_status_catches(text, SIGINT) && procfs_status_catches(text, SIGTERM));
    EXPECT(procfs_status_catches(text, 64));
    EXPECT(!procfs_status_catches(text, SIGHUP) && !procfs_status_catches(text, SIGUSR1));
    EXPECT(!procfs_status_catches("Name:\tx\n", SIGTERM));
    EXPECT(!procfs_catches(getpid(), SIGUSR2));
    signal(SIGUSR2, SIG_IGN);
    EXPECT(!procfs_catches(getpid(), SIGUSR2));
    signal(SIGUSR2, abort_on_signal);
    EXPECT(procfs_catches(getpid(), SIGUSR2));
    signal(SIGUSR2, SIG_DFL);
}

TEST(a_process_has_a_parent_or_is_gone)
{
    EXPECT_INT(procfs_parent(getpid()), getppid());
    EXPECT_INT(procfs_parent(INT32_MAX), 0);
    EXPECT(!procfs_catches(INT32_MAX, SIGTERM));
}

TEST(an_environment_is_searched_by_whole_variables)
{
    static const char env[] = "X_ID=1\0ID=proc_1\0ID=proc_2";

    EXPECT_INT(procfs_find_env(env, sizeof env, "ID=", "proc_1"), 1);
    EXPECT_INT(procfs_find_env(env, sizeof env, "ID=", "proc_2"), 0);
    EXPECT_INT(procfs_find_env(env, sizeof env, "ID=", "proc_"), 0);
    EXPECT_INT(procfs_find_env(env, 7, "ID=", "1"), -1);
    EXPECT_INT(procfs_find_env(NULL, 0, "ID=", "1"), -1);
    /* Without the last NUL, as a process may have overwritten it. */
    EXPECT_INT(procfs_find_env("ID=a", 4, "ID=", "a"), 1);
}

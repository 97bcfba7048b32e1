/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_signals.c - signal names and numbers
 */
#include "base/signals.h"

#include <signal.h>

#include "test.h"

TEST(a_signal_is_known_by_name_short_name_and_number)
{
    EXPECT_INT(signal_from_name("SIGINT"), SIGINT);
    EXPECT_INT(signal_from_name("INT"), SIGINT);
    EXPECT_INT(signal_from_name("sigint"), SIGINT);
    EXPECT_INT(signal_from_name("2"), SIGINT);
    EXPECT_INT(signal_from_name("WINCH"), SIGWINCH);
    EXPECT_INT(signal_from_name("USR1"), SIGUSR1);
    EXPECT_INT(signal_from_name("SIGIO"), SIGIO);
    EXPECT_INT(signal_from_name("SIGPOLL"), SIGPOLL);
    EXPECT_INT(signal_from_name("CLD"), SIGCHLD);
    EXPECT_INT(signal_from_name("IOT"), SIGABRT);
}

TEST(realtime_signals_count_from_both_ends)
{
    EXPECT_INT(signal_from_name("RTMIN"), SIGRTMIN);
    EXPECT_INT(signal_from_name("SIGRTMIN+3"), SIGRTMIN + 3);
    EXPECT_INT(signal_from_name("rtmax-1"), SIGRTMAX - 1);
    EXPECT_INT(signal_from_name("RTMIN+99"), -1);
    EXPECT_INT(signal_from_name("RTMIN-1"), -1);
    EXPECT_INT(signal_from_name("RTMIN+"), -1);
    EXPECT_INT(signal_from_name("RTMAX+1"), -1);
    EXPECT_STR(signal_name(SIGRTMIN), "SIGRTMIN");
    EXPECT_STR(signal_name(SIGRTMIN + 3), "SIGRTMIN+3");
}

TEST(what_is_no_signal_is_refused)
{
    EXPECT_INT(signal_from_name(""), -1);
    EXPECT_INT(signal_from_name("SIG"), -1);
    EXPECT_INT(signal_from_name("SIGNOPE"), -1);
    EXPECT_INT(signal_from_name("0"), -1);
    EXPECT_INT(signal_from_name("-2"), -1);
    EXPECT_INT(signal_from_name("65"), -1);
    EXPECT_INT(signal_from_name("INT "), -1);
    EXPECT_INT(signal_from_name("4294967298"), -1);
    EXPECT_STR(signal_name(0), "SIG?");
    EXPECT_STR(signal_name(-1), "SIG?");
    EXPECT_STR(signal_name(32), "SIG?");
    EXPECT_STR(signal_name(1000), "SIG?");
}

TEST(every_name_given_out_is_understood)
{
    for (int i = 1; i <= SIGRTMAX; i++) {
        if (strcmp(signal_name(i), "SIG?") != 0)
            EXPECT_INT(signal_from_name(signal_name(i)), i);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_live_usage.c - what running processes use, from /proc
 */
#include "engine/live_usage.h"

#include "test.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"

TEST(fields_count_from_the_end_of_the_name)
{
    struct live_process p = {0};

    EXPECT(live_parse_stat("12 (a) 9 b) S 1 12 11 0 -1 4194304 1 2 3 4 100 50 25 10 20 0 1 0 5 6 "
                           "700 18446744073709551615",
                           &p));
    EXPECT_INT(p.ppid, 1);
    EXPECT_INT(p.sid, 11);
    EXPECT_U64(p.user_ticks, 125);
    EXPECT_U64(p.system_ticks, 60);
    EXPECT_U64(p.rss_pages, 700);
}

TEST(other_texts_are_no_process)
{
    struct live_process p;
    uint64_t in, out;

    EXPECT(!live_parse_stat("", &p));
    EXPECT(!live_parse_stat("12 (sh", &p));
    EXPECT(!live_parse_stat("12 (sh)", &p));
    EXPECT(!live_parse_stat("12 (sh) S", &p));
    EXPECT(!live_parse_stat("12 (sh)  1 2", &p));
    EXPECT(
        !live_parse_stat("12 (sh) S 1 12 11 0 -1 4194304 1 2 3 4 100 50 25 10 20 0 1 0 5 6", &p));
    EXPECT(!live_parse_stat("12 (sh) S 1 12 11 0 x 4194304 1 2 3 4 1 5 2 1 20 0 1 0 5 6 7", &p));
    EXPECT(!live_parse_io("", &in, &out));
    EXPECT(!live_parse_io("rchar: 1\nread_bytes: 2\n", &in, &out));
    EXPECT(live_parse_io("rchar: 1\nwchar: 2\nread_bytes: 4096\nwrite_bytes: 8192\n"
                         "cancelled_write_bytes: 1\n",
                         &in, &out));
    EXPECT_U64(in, 4096);
    EXPECT_U64(out, 8192);
}

/* A leader with a child in another session; both end when the other end of `hold` is closed. */
static pid_t start_tree(int hold[2])
{
    int ready[2];
    char byte;
    pid_t pid;

    EXPECT(pipe(ready) == 0 && pipe(hold) == 0);
    pid = fork();
    if (pid == 0) {
        close(hold[1]);
        setsid();
        if (fork() == 0) {
            setsid();
            (void)!write(ready[1], "", 1);
        }
        (void)!read(hold[0], &byte, 1);
        _exit(0);
    }
    EXPECT_INT(read(ready[0], &byte, 1), 1);
    close(hold[0]);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

TEST(a_tree_is_the_leader_with_its_descendants)
{
    struct live_usage u = {0};
    struct live_table *t;
    int hold[2];
    pid_t pid = start_tree(hold);

    t = live_table_read(LIMIT_LIVE_PROCESSES);
    EXPECT(live_table_usage(t, pid, &u));
    EXPECT_U64(u.processes, 2);
    EXPECT(u.complete && u.has_io && u.rss_bytes > 0);
    EXPECT(!live_table_usage(t, 1 << 22, &u)); /* beyond the largest pid */
    live_table_free(t);
    live_table_free(NULL);
    close(hold[1]);
    waitpid(pid, NULL, 0);
}

TEST(a_table_that_is_full_says_so)
{
    struct live_usage u = {.complete = true};
    struct live_table *t = live_table_read(1);

    /* /proc lists the processes by their number. */
    EXPECT(live_table_usage(t, 1, &u));
    EXPECT(!u.complete);
    EXPECT_U64(u.processes, 1);
    live_table_free(t);
}

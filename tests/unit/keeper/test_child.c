/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_child.c - users, groups, limits and priorities of a child, and of a keeper that stays as it was
 */
#include "test.h"

#include "keeper_rig.h"

#define SH(line) ((const char *const[]){"/bin/sh", "-c", (line), NULL})

TEST(user_groups_limits_and_priorities_are_set)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[512];

    if (geteuid() != 0)
        return;
    rig_begin(&r, &w);
    rig_spec_init(&s, SH("id -u; id -g; id -G; ulimit -n; ulimit -t; ulimit -f; nice;"
                         "cat /proc/self/oom_score_adj; : > /dev/stdout && echo own"));
    s.m.set_user = 1;
    s.m.uid = 1234;
    s.m.gid = 2345;
    s.m.group_count = 2;
    s.m.groups[0] = 2345;
    s.m.groups[1] = 77;
    s.m.open_files = 99;
    s.m.cpu_s = 55;
    s.m.file_bytes = 512 * 10;
    s.m.set_nice = 1;
    s.m.nice = 7;
    s.m.set_oom = 1;
    s.m.oom_score_adj = 321;
    rig_run(&w, &s, out, sizeof out);
    EXPECT_STR(out, "1234\n2345\n2345 77\n99\n55\n10\n7\n321\nown\n");
    rig_end(&r, &w);
}

/* A child that shares our memory and writes its oom_score_adj would write ours as well. */
TEST(the_keeper_is_as_it_was_after_children_with_limits_and_users)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[512], path[64];
    struct stat st;
    int fd;

    if (geteuid() != 0)
        return;
    rig_begin(&r, &w);
    rig_spec_init(&s, SH("true"));
    s.m.set_user = 1;
    s.m.uid = s.m.gid = 1234;
    rig_run(&w, &s, out, sizeof out);
    s.m.set_oom = 1;
    s.m.oom_score_adj = 321;
    s.m.set_nice = 1;
    s.m.nice = 3;
    rig_run(&w, &s, out, sizeof out);
    snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)w.boot.keeper_pid);
    fd = open(path, O_RDONLY);
    REQUIRE(fd >= 0);
    out[read(fd, out, sizeof out - 1)] = '\0';
    close(fd);
    EXPECT(atoi(out) != 321);
    EXPECT_INT(getpriority(PRIO_PROCESS, (id_t)w.boot.keeper_pid), 0);
    snprintf(path, sizeof path, "/proc/%d/io", (int)w.boot.keeper_pid);
    REQUIRE(stat(path, &st) == 0);
    EXPECT_INT(st.st_uid, geteuid());
    rig_end(&r, &w);
}

static void few_files(void)
{
    struct rlimit few = {.rlim_cur = 200, .rlim_max = 1000};

    setrlimit(RLIMIT_NOFILE, &few);
}

TEST(the_keeper_raises_its_own_number_of_files_and_children_do_not_see_it)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    struct rlimit keeper;
    char out[64];

    rig_init(&r);
    r.before = few_files;
    rig_start(&r);
    rig_worker(&r, &w);
    REQUIRE(prlimit(w.boot.keeper_pid, RLIMIT_NOFILE, NULL, &keeper) == 0);
    EXPECT_U64(keeper.rlim_cur, 1000);
    rig_spec_init(&s, SH("ulimit -Sn; ulimit -Hn"));
    rig_run(&w, &s, out, sizeof out);
    EXPECT_STR(out, "200\n1000\n");
    rig_end(&r, &w);
}

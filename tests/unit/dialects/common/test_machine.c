/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_machine.c - the size and the start of this machine
 */
#include <sys/sysinfo.h>

#include "dialects/common/machine.h"
#include "test.h"

TEST(the_start_is_found_behind_any_name)
{
    EXPECT_INT(
        machine_parse_start("1 (init) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 77 9 9\n"), 77);
    EXPECT_INT(machine_parse_start("1 (a) b (c)) S 0 1 1 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 9 1\n"),
               9);
    EXPECT_INT(machine_parse_start("1 (init) S 0 1\n"), 0);
    EXPECT_INT(machine_parse_start(""), 0);
}

TEST(the_boot_is_a_line_of_its_own)
{
    EXPECT_INT(machine_parse_boot("cpu 1 2\nctxt 5\nbtime 1700000000\nprocesses 4\n"), 1700000000);
    EXPECT_INT(machine_parse_boot("cpu 1 2\nxbtime 17\n"), 0);
}

TEST(this_machine_has_a_size_and_the_same_start_each_time)
{
    struct machine a, b;

    machine_read(&a);
    machine_read(&b);
    EXPECT_INT(a.cpus, get_nprocs());
    EXPECT(a.memory_bytes > 1 << 20 && a.disk_bytes >= a.disk_free_bytes);
    EXPECT(a.started_ms > 0 && a.started_ms == b.started_ms);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_machine_load.c - how busy this machine is
 */
#include "dialects/common/machine_load.h"

#include "test.h"

TEST(processor_and_memory_are_read_from_the_kernels_text)
{
    struct machine_cpu c = {0};
    struct machine_memory m = {0};

    EXPECT(machine_parse_cpu("cpu  10 1 9 70 10 2 3 5 5 5\ncpu0 1 2\n", &c));
    EXPECT(c.total == 110 && c.busy == 30 && c.user == 11 && c.system == 14);
    EXPECT(!machine_parse_cpu("cpu0 1 2\n", &c));
    EXPECT(!machine_parse_cpu("", &c));
    EXPECT(machine_parse_memory("MemTotal:  2048 kB\nMemFree: 1 kB\nMemAvailable: 1024 kB\n"
                                "SwapCached: 7 kB\nCached: 512 kB\n",
                                &m));
    EXPECT(m.total_kib == 2048 && m.available_kib == 1024 && m.cached_kib == 512);
    EXPECT(!machine_parse_memory("MemTotal: 1 kB\nMemAvailable: 2 kB\n", &m));
    EXPECT(!machine_parse_memory("XMemTotal: 1 kB\n", &m));
}

TEST(a_load_is_the_busy_part_between_two_samples)
{
    const struct machine_cpu a = {.total = 1000, .busy = 100}, b = {.total = 1200, .busy = 150};

    EXPECT_U64(machine_load_between(&a, &b), 2500);
    EXPECT_U64(machine_load_between(&b, &a), 0);
    EXPECT_U64(machine_load_between(&a, &a), 0);
}

TEST(this_machine_has_processors_and_memory)
{
    struct machine_memory m;
    struct machine_cpu c;

    machine_read_memory(&m);
    EXPECT(m.total_kib > 0);
    EXPECT(machine_read_cpu(&c) && c.busy <= c.total && c.user + c.system <= c.busy && c.at_ms > 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cgroup_find.c - our cgroup in the table of mounts
 */
#include "test.h"

#include "keeper/cgroup.h"

TEST(our_cgroup_is_found_in_the_mounts)
{
    static const char mounts[] =
        "22 1 8:1 / / rw - ext4 /dev/sda rw\n"
        "31 22 0:28 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
        "32 22 0:29 /elsewhere /mnt/x rw - cgroup2 cgroup2 rw\n"
        "41 31 0:38 / /sys/fs/my\\040cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n";
    char out[64];

    EXPECT(cgroup_find(mounts, "3:cpu:/x\n0::/a/b\n", out, sizeof out));
    EXPECT_STR(out, "/sys/fs/my cgroup/a/b");
    EXPECT(cgroup_find(mounts, "0::/\n", out, sizeof out));
    EXPECT_STR(out, "/sys/fs/my cgroup");
    EXPECT(cgroup_find(mounts, "0::/elsewhere/z", out, sizeof out));
    EXPECT_STR(out, "/mnt/x/z");
    EXPECT(!cgroup_find(mounts, "1:memory:/a\n", out, sizeof out));
    EXPECT(!cgroup_find(mounts, "0::/../other\n", out, sizeof out));
    EXPECT(!cgroup_find("", "0::/\n", out, sizeof out));
    EXPECT(!cgroup_find(mounts, "0::/a/b\n", out, 8));
    EXPECT(!cgroup_find("1 2 - cgroup2 \n\n", "0::/\n", out, sizeof out));
}

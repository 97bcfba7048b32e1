/* SPDX-License-Identifier: Apache-2.0 */
/*
 * high_fds.c - keeps long-lived descriptors at high numbers. Layer: keeper.
 */
#include "keeper/high_fds.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "keeper/rawsys.h"

_Static_assert(HIGH_FD % (64 * 64) == 0, "see high_fds.h");

/* Our table is not shared and the last number is unused, so the call has no effect. */
bool high_can_cut(void)
{
    return syscall(SYS_close_range, ~0U, ~0U, CLOSE_RANGE_UNSHARE) == 0;
}

void high_move(int *fd)
{
    int high = *fd < 0 || *fd >= HIGH_FD ? -1 : fcntl(*fd, F_DUPFD_CLOEXEC, HIGH_FD);

    if (high < 0)
        return;
    close(*fd);
    *fd = high;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patience.c - a short wait for what the kernel lacks for the moment. Layer: base.
 */
#include "base/patience.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/limits.h"

bool patience_is_passing(int rc)
{
    switch (-rc) {
    case EINTR:
    case EAGAIN:
    case ENOMEM:
    case ENOBUFS:
    case EMFILE:
    case ENFILE: return true;
    default: return false;
    }
}

bool patience_wait(struct patience *p)
{
    static const struct timespec pause = {.tv_nsec = 1000 * 1000};
    uint64_t now = clock_mono_ms();

    if (p->until_ms == 0)
        p->until_ms = now + LIMIT_PATIENCE_MS;
    if (now >= p->until_ms)
        return false;
    (void)nanosleep(&pause, NULL);
    return true;
}

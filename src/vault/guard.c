/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.c - not dumpable, no core, killed last. Layer: vault.
 */
#include "vault/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"

#define OOM_SCORE "/proc/self/oom_score_adj"
#define OOM_LOW "-900" /* -1000 would mean never, whatever we did */

static bool set_score(const struct guard *g, const char *score)
{
    return pwrite(g->oom_fd, score, strlen(score), 0) > 0;
}

/* Without CAP_SYS_RESOURCE it can be lowered to 0 at most, if our parent had raised it. */
static void spare_from_oom(struct guard *g)
{
    ssize_t n;

    g->oom_fd = open(OOM_SCORE, O_RDWR | O_CLOEXEC);
    n = g->oom_fd < 0 ? -1 : pread(g->oom_fd, g->started, sizeof g->started - 1, 0);
    if (n <= 0) {
        io_close(&g->oom_fd);
        return;
    }
    g->started[n] = '\0';
    g->started[strcspn(g->started, "\n")] = '\0';
    g->low = OOM_LOW;
    if (set_score(g, g->low))
        return;
    if (errno == EACCES && strtol(g->started, NULL, 10) > 0 && set_score(g, g->low = "0"))
        return;
    log_info("oom_score_adj stays %s: %s", g->started, strerror(errno));
    io_close(&g->oom_fd);
}

/* 1 byte is less than any core needs; unlike 0 it also stops a core that is piped to a program. */
static void set_core(const struct rlimit *was, bool none)
{
    struct rlimit now = *was;

    if (none)
        now.rlim_cur = now.rlim_max > 0 ? 1 : 0;
    (void)setrlimit(RLIMIT_CORE, &now);
}

/* The score first: /proc/self belongs to root once we are not dumpable. */
void guard_begin(struct guard *g)
{
    *g = (struct guard){.oom_fd = -1, .dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1};
    spare_from_oom(g);
    if (getrlimit(RLIMIT_CORE, &g->core) == 0)
        set_core(&g->core, true);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

void guard_lift(struct guard *g)
{
    if (g->oom_fd >= 0 && !g->lifted)
        g->lifted = set_score(g, g->started);
}

void guard_lower(struct guard *g)
{
    if (g->lifted)
        g->lifted = !set_score(g, g->low);
}

void guard_end(struct guard *g)
{
    if (g->oom_fd >= 0)
        (void)set_score(g, g->started);
    io_close(&g->oom_fd);
    set_core(&g->core, false);
    (void)prctl(PR_SET_DUMPABLE, g->dumpable, 0, 0, 0);
}

/* The inherited descriptor refers to the parent's score. */
void guard_end_in_child(const struct guard *g)
{
    hf_autoclose int fd = -1;

    set_core(&g->core, false);
    (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    fd = g->oom_fd < 0 ? -1 : open(OOM_SCORE, O_WRONLY | O_CLOEXEC);
    if (fd >= 0)
        (void)!pwrite(fd, g->started, strlen(g->started), 0);
    (void)prctl(PR_SET_DUMPABLE, g->dumpable, 0, 0, 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flood_weight.c - lowers and restores the CPU weight of flooding sessions. Layer: keeper.
 */
#include "keeper/flood_weight.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/io.h"
#include "keeper/keeper_own.h"
#include "keeper/procfs.h"

bool flood_weight_parse(const char *text, int *nice)
{
    const char *at = strstr(text, " nice ");
    char *end;
    long value;

    if (strncmp(text, "/autogroup-", strlen("/autogroup-")) != 0 || at == NULL)
        return false;
    at += strlen(" nice ");
    value = strtol(at, &end, 10);
    if (end == at || value < -20 || value > 19)
        return false;
    *nice = (int)value;
    return true;
}

static bool weight_read(int fd, int *nice)
{
    char text[64];
    ssize_t n = hf_read(fd, text, sizeof text - 1);

    if (n <= 0)
        return false;
    text[n] = '\0';
    return flood_weight_parse(text, nice);
}

/* Changes the value; 0 or -errno. ENOENT: it was not `from`, or there are no autogroups. */
static int weight_change(pid_t pid, int from, int to)
{
    hf_autoclose int fd = -1;
    char text[32];
    ssize_t n;
    int nice;

    snprintf(text, sizeof text, "/proc/%d/autogroup", (int)pid);
    fd = open(text, O_RDWR | O_CLOEXEC);
    if (fd < 0 || !weight_read(fd, &nice) || nice != from)
        return -ENOENT;
    snprintf(text, sizeof text, "%d", to);
    n = hf_write(fd, text, strlen(text));
    return n < 0 ? (int)n : 0;
}

/*
 * A process of the session: its leader or, once that is reaped, any remaining member. While there
 * is one, the kernel does not reuse the leader's pid. 0: the session is empty.
 */
static pid_t session_pid(const struct entry *e)
{
    struct proc_list all = {0};
    pid_t found = 0;

    if (!e->pub.exited)
        return e->pub.pid;
    if (procfs_list_read(&all) < 0)
        return 0;
    for (size_t i = 0; i < all.count && found == 0; i++)
        if (all.procs[i].sid == e->pub.pid)
            found = all.procs[i].pid;
    procfs_list_fini(&all);
    return found;
}

/* Without CAP_SYS_ADMIN the kernel accepts one change per 100 ms for the whole machine: the
 * others wait. */
static void weight_apply(struct keeper *k, struct entry *e)
{
    int rc;

    if (e->pub.exited)
        e->flooding = false;
    if (e->lowered == e->flooding)
        return;
    rc = e->flooding ? weight_change(session_pid(e), 0, FLOOD_NICE)
                     : weight_change(session_pid(e), FLOOD_NICE, 0);
    if (rc == -EAGAIN)
        k->flood_retry_at_ms = clock_mono_ms() + FLOOD_RETRY_MS;
    else
        e->lowered = e->flooding = e->flooding && rc == 0;
}

void flood_weight_set(struct keeper *k, struct entry *e, bool on)
{
    e->flooding = on;
    weight_apply(k, e);
}

/* Only sessions with a lowered weight are worth the system call. */
void flood_weight_on_death(struct keeper *k, struct entry *e)
{
    siginfo_t info = {0};

    if (e->lowered && waitid(P_PID, (id_t)e->pub.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == e->pub.pid)
        flood_weight_set(k, e, false);
}

void flood_weight_end(struct keeper *k)
{
    for (struct entry *e = table_first(&k->table); e != NULL; e = table_next(&k->table, e))
        flood_weight_set(k, e, false);
}

void flood_weight_step(struct keeper *k, uint64_t now_ms)
{
    if (k->flood_retry_at_ms > now_ms)
        return;
    k->flood_retry_at_ms = DEADLINE_NONE;
    for (struct entry *e = table_first(&k->table); e != NULL; e = table_next(&k->table, e))
        weight_apply(k, e);
}

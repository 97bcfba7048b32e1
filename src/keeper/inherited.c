/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inherited.c - processes of an earlier keeper whose exit nobody can report. Layer: keeper.
 */
#include "keeper/inherited.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "keeper/keeper_own.h"
#include "keeper/procfs.h"

#define VAULT_DIED "the vault has died"

struct inherited_one {
    uint32_t entry; /* 0: the worker of the previous keeper, which is exiting */
    int pidfd;      /* -1: reported already */
};

static void report_lost(struct keeper *k, struct entry *e, const char *why)
{
    log_warn("process %d has ended; its exit status is lost, because %s", (int)e->pub.pid, why);
    reap_lost(k, e);
}

/* Its last activity is unknown. */
static void on_worker_lost(struct keeper *k)
{
    worker_note_io(k);
    k->worker.past[0].known = false; /* its pid may have been reused */
    worker_on_exit(k, SIGKILL);
}

/* A process stays the leader of its session as long as it lives, so a pid that leads none has
 * been reused. -1: it has exited. */
static int open_leader(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    if (fd >= 0 && getsid(pid) != pid)
        io_close(&fd);
    return fd;
}

/* Our own children exist until we reap them. */
static bool is_inherited(const struct keeper *k, const struct entry *e)
{
    return !e->pub.exited && e->spawn == NULL && procfs_parent(e->pub.pid) != k->pid;
}

/* A dead process keeps its number and its session until it is reaped. */
static bool is_reaped(pid_t pid)
{
    pid_t sid = getsid(pid);

    return sid < 0 ? errno == ESRCH : sid != pid;
}

void inherited_check(struct keeper *k)
{
    struct entry *next;

    for (struct entry *e = table_first(&k->table); e != NULL; e = next) {
        next = table_next(&k->table, e);
        if (!e->pub.exited && e->spawn == NULL && is_reaped(e->pub.pid))
            report_lost(k, e, "a new binary reaped it and then failed");
    }
}

static void watch(struct keeper *k, uint32_t entry, int pidfd)
{
    struct inherited *in = &k->inherited;

    in->all = hf_xrealloc(in->all, (in->count + 1) * sizeof *in->all);
    in->all[in->count++] = (struct inherited_one){entry, pidfd};
}

static void watch_worker(struct keeper *k)
{
    int fd;

    if (k->worker.pid <= 0 || procfs_parent(k->worker.pid) == k->pid)
        return;
    fd = (int)syscall(SYS_pidfd_open, k->worker.pid, 0);
    if (fd >= 0)
        watch(k, 0, fd);
    else
        on_worker_lost(k);
}

void inherited_step(struct keeper *k)
{
    struct entry *next;

    if (k->inherited.begun || k->deposit.channel.fd >= 0)
        return;
    k->inherited.begun = true;
    watch_worker(k);
    for (struct entry *e = table_first(&k->table); e != NULL; e = next) {
        int fd;

        next = table_next(&k->table, e);
        if (!is_inherited(k, e))
            continue;
        fd = open_leader(e->pub.pid);
        if (fd >= 0)
            watch(k, e->pub.entry, fd);
        else
            report_lost(k, e, VAULT_DIED);
    }
}

static void on_end(struct keeper *k, uint32_t entry)
{
    struct entry *e = entry == 0 ? NULL : table_find(&k->table, entry);

    if (entry == 0)
        on_worker_lost(k);
    else if (e != NULL && !e->pub.exited)
        report_lost(k, e, VAULT_DIED);
}

void inherited_poll_set(const struct keeper *k, struct pollfd *out)
{
    for (size_t i = 0; i < k->inherited.count; i++)
        out[i] = (struct pollfd){.fd = k->inherited.all[i].pidfd, .events = POLLIN};
}

void inherited_poll_done(struct keeper *k, const struct pollfd *polls, size_t count)
{
    for (size_t i = 0; i < count && i < k->inherited.count; i++) {
        struct inherited_one *one = &k->inherited.all[i];

        if (polls[i].revents == 0 || one->pidfd < 0)
            continue;
        io_close(&one->pidfd);
        on_end(k, one->entry);
    }
}

void inherited_fini(struct keeper *k)
{
    for (size_t i = 0; i < k->inherited.count; i++)
        io_close(&k->inherited.all[i].pidfd);
    free(k->inherited.all);
    k->inherited = (struct inherited){0};
}

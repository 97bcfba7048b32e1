/* SPDX-License-Identifier: Apache-2.0 */
/*
 * procfs.c - the running processes, from /proc. Layer: keeper.
 */
#include "keeper/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/patience.h"

#define ENVIRON_MAX (4 * 1024 * 1024)
#define STATUS_MAX (64 * 1024) /* some 1.5 KB, and the list of groups */

/* Positions of the numbers that we read, counted from the state letter of the stat line. */
enum { STAT_PPID, STAT_PGRP, STAT_SID, STAT_TTY_NR, STAT_START = 18, STAT_COUNT };

/* " N N N ..."; false if there are fewer. Negative ones come out as large numbers. */
static bool stat_numbers(const char *text, uint64_t numbers[STAT_COUNT])
{
    for (int i = 0; i < STAT_COUNT; i++) {
        char *end;

        numbers[i] = strtoull(text, &end, 10);
        if (end == text)
            return false;
        text = end;
    }
    return true;
}

/*
 * "PID (COMM) S PPID PGRP SID TTY_NR ..."; COMM may contain anything, blanks
 * and brackets too, so its end is the last bracket.
 */
bool procfs_parse_stat(const char *text, size_t len, struct proc *out)
{
    const char *open = memchr(text, '(', len), *close = memrchr(text, ')', len);
    uint64_t numbers[STAT_COUNT];
    char rest[512] = "";
    size_t comm_len;

    if (open == NULL || close == NULL || close < open || text + len - close < 4)
        return false;
    memset(out, 0, sizeof *out);
    comm_len = (size_t)(close - open - 1);
    if (comm_len >= sizeof out->comm)
        comm_len = sizeof out->comm - 1;
    memcpy(out->comm, open + 1, comm_len);
    out->state = close[2];
    len -= (size_t)(close + 3 - text);
    memcpy(rest, close + 3, len < sizeof rest ? len : sizeof rest - 1);
    if (!stat_numbers(rest, numbers))
        return false;
    out->pid = (pid_t)strtol(text, NULL, 10);
    out->ppid = (pid_t)numbers[STAT_PPID];
    out->pgrp = (pid_t)numbers[STAT_PGRP];
    out->sid = (pid_t)numbers[STAT_SID];
    out->tty_nr = (uint32_t)numbers[STAT_TTY_NR];
    out->start_ticks = numbers[STAT_START];
    return out->pid > 0;
}

static bool proc_read(const char *name, struct proc *out)
{
    char path[64], text[1024];
    hf_autoclose int fd = -1;
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%.20s/stat", name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = hf_read(fd, text, sizeof text);
    return n > 0 && procfs_parse_stat(text, (size_t)n, out);
}

static int proc_list_add(struct proc_list *l, const struct proc *p)
{
    /* Powers of two from 64 on. */
    if ((l->count & (l->count - 1)) == 0 && (l->count == 0 || l->count >= 64)) {
        size_t cap = l->count == 0 ? 64 : l->count * 2;
        struct proc *more = realloc(l->procs, cap * sizeof *more);

        if (more == NULL)
            return -ENOMEM;
        l->procs = more;
    }
    l->procs[l->count++] = *p;
    return 0;
}

static int proc_compare(const void *a, const void *b)
{
    pid_t pa = ((const struct proc *)a)->pid, pb = ((const struct proc *)b)->pid;

    return (pa > pb) - (pa < pb);
}

int procfs_list_read(struct proc_list *out)
{
    DIR *dir = opendir("/proc");
    struct dirent *d;
    struct proc p;
    int rc = 0;

    *out = (struct proc_list){0};
    if (dir == NULL)
        return -errno;
    while (rc == 0 && (d = readdir(dir)) != NULL) {
        if (d->d_name[0] >= '1' && d->d_name[0] <= '9' && proc_read(d->d_name, &p))
            rc = proc_list_add(out, &p);
    }
    closedir(dir);
    /* An empty directory of that name is no /proc. */
    if (out->count == 0)
        return rc < 0 ? rc : -ENOENT;
    qsort(out->procs, out->count, sizeof *out->procs, proc_compare);
    return 0;
}

void procfs_list_fini(struct proc_list *l)
{
    free(l->procs);
    *l = (struct proc_list){0};
}

struct proc *procfs_list_find(const struct proc_list *l, pid_t pid)
{
    struct proc key = {.pid = pid};

    if (l->count == 0)
        return NULL;
    return bsearch(&key, l->procs, l->count, sizeof *l->procs, proc_compare);
}

int procfs_find_env(const char *bytes, size_t len, const char *prefix, const char *value)
{
    size_t prefix_len = strlen(prefix);
    const char *end = len == 0 ? bytes : bytes + len;

    while (bytes < end) {
        const char *nul = memchr(bytes, '\0', (size_t)(end - bytes));
        size_t n = (size_t)((nul == NULL ? end : nul) - bytes);

        if (n >= prefix_len && memcmp(bytes, prefix, prefix_len) == 0) {
            size_t value_len = strlen(value);

            return n - prefix_len == value_len && memcmp(bytes + prefix_len, value, value_len) == 0;
        }
        bytes += n + 1;
    }
    return -1;
}

int procfs_has_env(pid_t pid, const char *prefix, const char *value)
{
    struct buf text = {0};
    char path[40];
    int found = -1;

    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    if (io_read_file(path, ENVIRON_MAX, &text) == 0)
        found = procfs_find_env(buf_data(&text), text.len, prefix, value);
    buf_fini(&text);
    return found;
}

bool procfs_status_catches(const char *text, int signum)
{
    static const char name[] = "\nSigCgt:";
    const char *at = strstr(text, name);

    return at != NULL && (strtoull(at + sizeof name - 1, NULL, 16) >> (signum - 1) & 1) != 0;
}

bool procfs_catches(pid_t pid, int signum)
{
    struct buf text = {0};
    char path[40];
    bool catches = false;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    if (io_read_file(path, STATUS_MAX, &text) == 0) {
        buf_putc(&text, '\0');
        catches = procfs_status_catches(buf_data(&text), signum);
    }
    buf_fini(&text);
    return catches;
}

/* 0 or -errno; -ESRCH: there is no such process. */
static int read_parent(pid_t pid, pid_t *out)
{
    char path[32], text[512];
    hf_autoclose int fd = -1;
    struct proc p;
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -errno : hf_read(fd, text, sizeof text);
    if (n < 0)
        return n == -ENOENT ? -ESRCH : (int)n;
    if (!procfs_parse_stat(text, (size_t)n, &p))
        return -EIO;
    *out = p.ppid;
    return 0;
}

/* Callers do not retry, and the result decides which tree a process belongs to. So only "no such
 * process" is final. */
pid_t procfs_parent(pid_t pid)
{
    struct patience patience = {0};
    pid_t parent = 0;
    int rc;

    while ((rc = read_parent(pid, &parent)) < 0 && rc != -ESRCH && patience_wait(&patience))
        ;
    return parent;
}

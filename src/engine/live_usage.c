/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_usage.c - what running processes use at this moment, from /proc. Layer: engine.
 */
#include "engine/live_usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/text.h"

#define PROC_FILE_BYTES 1024 /* the name of a program in /proc/PID/stat has 64 bytes at most */
/* Fields of /proc/PID/stat behind the name, which may contain spaces and parentheses. */
#define FIELD_PPID 4
#define FIELD_SID 6
#define FIELD_USER 14
#define FIELD_SYSTEM 15
#define FIELD_CHILDREN_USER 16
#define FIELD_CHILDREN_SYSTEM 17
#define FIELD_RSS 24

struct live_table {
    struct live_process *list; /* by pid, rising */
    size_t count;
    bool full;
};

/* --- parsing ------------------------------------------------------------------------------ */

bool live_parse_stat(const char *text, struct live_process *out)
{
    uint64_t fields[FIELD_RSS + 1] = {0};
    const char *at = strrchr(text, ')');

    if (at == NULL || at[1] != ' ' || at[2] == '\0' || at[2] == ' ')
        return false;
    at += 3; /* the state, field 3, is a letter */
    for (int i = FIELD_PPID; i <= FIELD_RSS; i++) {
        char *end;

        if (*at != ' ')
            return false;
        fields[i] = strtoull(at, &end, 10);
        if (end == at)
            return false;
        at = end;
    }
    *out = (struct live_process){
        .ppid = (pid_t)fields[FIELD_PPID],
        .sid = (pid_t)fields[FIELD_SID],
        .user_ticks = fields[FIELD_USER] + fields[FIELD_CHILDREN_USER],
        .system_ticks = fields[FIELD_SYSTEM] + fields[FIELD_CHILDREN_SYSTEM],
        .rss_pages = fields[FIELD_RSS],
    };
    return true;
}

static bool parse_line(const char *text, const char *name, uint64_t *out)
{
    const char *at = strstr(text, name);
    char *end;

    if (at == NULL)
        return false;
    at += strlen(name);
    *out = strtoull(at, &end, 10);
    return end != at;
}

bool live_parse_io(const char *text, uint64_t *read_bytes, uint64_t *written_bytes)
{
    return parse_line(text, "\nread_bytes:", read_bytes) &&
           parse_line(text, "\nwrite_bytes:", written_bytes);
}

/* --- reading ------------------------------------------------------------------------------ */

static bool read_file(pid_t pid, const char *name, char text[PROC_FILE_BYTES])
{
    char path[40];
    hf_autoclose int fd = -1;
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : hf_read(fd, text, PROC_FILE_BYTES - 1);
    text[n < 0 ? 0 : n] = '\0';
    return n > 0;
}

static int compare_pids(const void *a, const void *b)
{
    const struct live_process *x = a, *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

static void table_fill(struct live_table *t, DIR *dir, size_t most)
{
    const struct dirent *entry;
    char text[PROC_FILE_BYTES];
    int64_t pid;

    while ((entry = readdir(dir)) != NULL) {
        if (!text_to_i64(entry->d_name, 1, INT32_MAX, &pid))
            continue;
        t->full = t->count == most;
        if (t->full)
            return;
        if (read_file((pid_t)pid, "stat", text) && live_parse_stat(text, &t->list[t->count]))
            t->list[t->count++].pid = (pid_t)pid;
    }
}

static struct live_process *table_find(const struct live_table *t, pid_t pid)
{
    const struct live_process key = {.pid = pid};

    return bsearch(&key, t->list, t->count, sizeof key, compare_pids);
}

/* Once for all trees, which are many in a list. */
static void table_link(struct live_table *t)
{
    qsort(t->list, t->count, sizeof *t->list, compare_pids);
    for (size_t i = 0; i < t->count; i++)
        t->list[i].parent = table_find(t, t->list[i].ppid);
}

struct live_table *live_table_read(size_t most)
{
    struct live_table *t = hf_xalloc(sizeof *t);
    DIR *dir = opendir("/proc");

    t->list = hf_xalloc(most * sizeof *t->list);
    if (dir != NULL) {
        table_fill(t, dir, most);
        closedir(dir);
    }
    table_link(t);
    return t;
}

void live_table_free(struct live_table *t)
{
    if (t == NULL)
        return;
    free(t->list);
    free(t);
}

size_t live_table_count(const struct live_table *t)
{
    return t->count;
}

/* --- the figures of a tree ------------------------------------------------------------------ */

/* Parents mostly have the smaller pid, so one or two passes suffice. */
static void choose_members(struct live_table *t, pid_t leader)
{
    bool more = true;

    for (size_t i = 0; i < t->count; i++)
        t->list[i].member = t->list[i].pid == leader || t->list[i].sid == leader;
    while (more) {
        more = false;
        for (size_t i = 0; i < t->count; i++) {
            const struct live_process *parent = t->list[i].parent;

            if (!t->list[i].member && parent != NULL && parent->member)
                t->list[i].member = more = true;
        }
    }
}

static uint64_t ticks_to_us(uint64_t ticks)
{
    long hz = sysconf(_SC_CLK_TCK);

    return hz > 0 ? ticks * (1000000 / (uint64_t)hz) : 0;
}

static void add_io(struct live_usage *u, pid_t pid)
{
    char text[PROC_FILE_BYTES];
    uint64_t in, out;

    if (!u->has_io)
        return;
    u->has_io = read_file(pid, "io", text) && live_parse_io(text, &in, &out);
    if (u->has_io) {
        u->read_bytes += in;
        u->written_bytes += out;
    }
}

bool live_table_usage(struct live_table *t, pid_t leader, struct live_usage *out)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), user = 0, system = 0;
    struct live_usage u = {.has_io = true, .complete = !t->full};

    if (table_find(t, leader) == NULL)
        return false;
    choose_members(t, leader);
    for (size_t i = 0; i < t->count; i++) {
        const struct live_process *p = &t->list[i];

        if (!p->member)
            continue;
        user += p->user_ticks;
        system += p->system_ticks;
        u.rss_bytes += p->rss_pages * page;
        u.processes++;
        add_io(&u, p->pid);
    }
    u.user_us = ticks_to_us(user);
    u.system_us = ticks_to_us(system);
    *out = u;
    return true;
}

void live_usage_write(struct json_out *o, const struct live_usage *u)
{
    if (u == NULL) {
        json_nil(o);
        return;
    }
    json_open(o, '{');
    json_kstr(o, "scope", "tree");
    json_ku64(o, "user_us", u->user_us);
    json_ku64(o, "system_us", u->system_us);
    json_ku64(o, "rss_bytes", u->rss_bytes);
    if (u->has_io) {
        json_ku64(o, "disk_read_bytes", u->read_bytes);
        json_ku64(o, "disk_written_bytes", u->written_bytes);
    } else {
        json_knull(o, "disk_read_bytes");
        json_knull(o, "disk_written_bytes");
    }
    json_ku64(o, "processes", u->processes);
    json_kbool(o, "complete", u->complete);
    json_close(o, '}');
}

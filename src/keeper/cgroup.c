/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.c - making our directory and its slots
 *
 * What is in a slot (members, limits, kills) is read and written in
 * cgroup_slot.c, where to make the directory is found out in cgroup_find.c.
 * Layer: keeper.
 */
#include "keeper/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"

#define MOUNTINFO_MAX (4 * 1024 * 1024)

static void cgroup_clear(struct cgroup *c)
{
    *c = (struct cgroup){.dir_fd = -1};
    list_init(&c->idle);
    list_init(&c->lingering);
}

static void slot_name(uint32_t number, char out[24])
{
    snprintf(out, 24, "p%u", number);
}

static void slot_free(struct cgroup_slot *slot)
{
    list_remove(&slot->link);
    io_close(&slot->events_fd);
    io_close(&slot->dir_fd);
    free(slot);
}

/* Another keeper with our pid may have left directories (PID 1 is always 1). */
static void cgroup_sweep(const struct cgroup *c)
{
    int fd = openat(c->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *d;

    if (dir == NULL) {
        io_close(&fd);
        return;
    }
    while ((d = readdir(dir)) != NULL) {
        if (d->d_type == DT_DIR && d->d_name[0] == 'p')
            (void)unlinkat(c->dir_fd, d->d_name, AT_REMOVEDIR);
    }
    closedir(dir);
}

/* Controllers for our slots: allowed below the root or an empty cgroup only. */
static void cgroup_enable(struct cgroup *c, int parent_fd)
{
    const struct {
        const char *name, *file;
        bool *has;
    } wanted[] = {{"+memory", "memory.max", &c->has_memory}, {"+pids", "pids.max", &c->has_pids}};
    const int dirs[] = {parent_fd, c->dir_fd};
    struct cgroup_slot *probe;

    for (size_t d = 0; d < 2; d++) {
        hf_autoclose int fd = openat(dirs[d], "cgroup.subtree_control", O_WRONLY | O_CLOEXEC);

        for (size_t i = 0; i < 2 && fd >= 0; i++)
            (void)hf_write(fd, wanted[i].name, strlen(wanted[i].name));
    }
    probe = cgroup_take(c, true);
    if (probe == NULL)
        return;
    for (size_t i = 0; i < 2; i++)
        *wanted[i].has = faccessat(probe->dir_fd, wanted[i].file, W_OK, 0) == 0;
    cgroup_release(c, probe);
}

/* 0 or -errno. */
static int cgroup_make(struct cgroup *c, const char *parent, pid_t pid)
{
    hf_autoclose int parent_fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    char name[32];

    if (parent_fd < 0)
        return -errno;
    snprintf(name, sizeof name, "holdfast-%d", (int)pid);
    if (mkdirat(parent_fd, name, 0755) < 0 && errno != EEXIST)
        return -errno;
    c->dir_fd = openat(parent_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (c->dir_fd < 0)
        return -errno;
    snprintf(c->path, sizeof c->path, "%s%s%s", parent, strcmp(parent, "/") == 0 ? "" : "/", name);
    cgroup_sweep(c);
    cgroup_enable(c, parent_fd);
    return 0;
}

static bool cgroup_locate(char *out, size_t out_size)
{
    struct buf mounts = {0}, self = {0};
    bool found = io_read_file("/proc/self/mountinfo", MOUNTINFO_MAX, &mounts) == 0 &&
                 io_read_file("/proc/self/cgroup", MOUNTINFO_MAX, &self) == 0 &&
                 cgroup_find(buf_cstr(&mounts), buf_cstr(&self), out, out_size);

    buf_fini(&mounts);
    buf_fini(&self);
    return found;
}

void cgroup_init(struct cgroup *c, pid_t pid)
{
    char parent[PATH_MAX - 64];
    const char *off = getenv(CGROUP_OFF_ENV);
    int rc;

    cgroup_clear(c);
    if (off != NULL && *off != '\0' && strcmp(off, "0") != 0)
        return;
    if (!cgroup_locate(parent, sizeof parent)) {
        log_info("no cgroup v2 here: process trees are found by session and parent");
        return;
    }
    rc = cgroup_make(c, parent, pid);
    if (rc < 0) {
        io_close(&c->dir_fd);
        log_info("no cgroup can be made (%s): process trees are found by session and parent",
                 strerror(-rc));
    }
}

void cgroup_resume(struct cgroup *c, const char *path, uint32_t last_number)
{
    cgroup_clear(c);
    if (path[0] == '\0')
        return;
    c->dir_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (c->dir_fd < 0) {
        log_warn("the cgroup of the keeper before is gone: %s", strerror(errno));
        return;
    }
    snprintf(c->path, sizeof c->path, "%s", path);
    c->last_number = last_number;
    cgroup_enable(c, c->dir_fd);
}

static void cgroup_drop_list(struct cgroup *c, struct list *slots)
{
    struct list *it, *tmp;

    list_for_each(it, tmp, slots)
        cgroup_discard(c, list_entry(it, struct cgroup_slot, link));
}

void cgroup_fini(struct cgroup *c, bool remove)
{
    cgroup_drop_list(c, &c->idle);
    c->idle_count = 0;
    cgroup_drop_list(c, &c->lingering);
    if (remove && c->dir_fd >= 0) {
        cgroup_sweep(c);
        (void)rmdir(c->path);
    }
    io_close(&c->dir_fd);
}

void cgroup_disable(struct cgroup *c, const char *why)
{
    log_info("cgroups are not used (%s): process trees are found by session and parent", why);
    cgroup_fini(c, true);
}

/* Opens a directory that is there. */
static struct cgroup_slot *slot_open(struct cgroup *c, uint32_t number)
{
    struct cgroup_slot *slot = calloc(1, sizeof *slot);
    char name[24];

    if (slot == NULL)
        return NULL;
    list_init(&slot->link);
    slot->number = number;
    slot_name(number, name);
    slot->dir_fd = openat(c->dir_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    slot->events_fd = slot->dir_fd < 0 ? -1 : openat(slot->dir_fd, "cgroup.events",
                                                     O_RDONLY | O_CLOEXEC);
    if (slot->events_fd < 0) {
        slot_free(slot);
        return NULL;
    }
    return slot;
}

static struct cgroup_slot *slot_make(struct cgroup *c)
{
    struct cgroup_slot *slot;
    char name[24];

    slot_name(++c->last_number, name);
    if (mkdirat(c->dir_fd, name, 0755) < 0)
        return NULL;
    slot = slot_open(c, c->last_number);
    if (slot == NULL)
        (void)unlinkat(c->dir_fd, name, AT_REMOVEDIR);
    return slot;
}

/* Whoever lingered may have died since; their slots go back to the idle ones. */
static void cgroup_collect(struct cgroup *c)
{
    struct list *it, *tmp;

    list_for_each(it, tmp, &c->lingering) {
        struct cgroup_slot *slot = list_entry(it, struct cgroup_slot, link);

        if (cgroup_is_empty(slot)) {
            list_remove(&slot->link);
            cgroup_release(c, slot);
        }
    }
}

struct cgroup_slot *cgroup_take(struct cgroup *c, bool fresh)
{
    struct cgroup_slot *slot;

    if (c->dir_fd < 0)
        return NULL;
    if (fresh || c->idle_count == 0) {
        cgroup_collect(c);
        return slot_make(c);
    }
    slot = list_entry(c->idle.next, struct cgroup_slot, link);
    list_remove(&slot->link);
    c->idle_count--;
    return slot;
}

struct cgroup_slot *cgroup_reopen(struct cgroup *c, uint32_t number)
{
    return c->dir_fd < 0 ? NULL : slot_open(c, number);
}

void cgroup_discard(struct cgroup *c, struct cgroup_slot *slot)
{
    char name[24];

    slot_name(slot->number, name);
    if (c->dir_fd >= 0)
        (void)unlinkat(c->dir_fd, name, AT_REMOVEDIR);
    slot_free(slot);
}

void cgroup_release(struct cgroup *c, struct cgroup_slot *slot)
{
    if (c->dir_fd >= 0 && !cgroup_is_empty(slot)) {
        list_append(&c->lingering, &slot->link);
    } else if (c->dir_fd < 0 || slot->limited || c->idle_count >= CGROUP_IDLE_MAX) {
        cgroup_discard(c, slot);
    } else {
        cgroup_note_oom(c, slot);
        list_prepend(&c->idle, &slot->link); /* the one used last is warm */
        c->idle_count++;
    }
}

void cgroup_release_if_empty(struct cgroup *c, struct cgroup_slot **slot)
{
    if (*slot == NULL || !cgroup_is_empty(*slot))
        return;
    cgroup_release(c, *slot);
    *slot = NULL;
}

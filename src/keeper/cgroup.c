/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.c - creates the keeper's cgroup directory and its slots
 *
 * cgroup_slot.c reads and writes the contents of a slot (members, limits, kills); cgroup_find.c
 * finds the place for the directory. Layer: keeper.
 */
#include "keeper/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "base/text.h"

#define CGROUP_NAME "holdfast-" /* and the keeper's pid */
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

int cgroup_open(const struct cgroup *c, const struct cgroup_slot *slot, const char *file, int flags)
{
    char path[64];

    snprintf(path, sizeof path, "p%u/%s", slot->number, file);
    return openat(c->dir_fd, path, flags | O_CLOEXEC);
}

static void slot_free(struct cgroup_slot *slot)
{
    list_remove(&slot->link);
    io_close(&slot->dir_fd);
    free(slot);
}

/* Calls `each` with the name of every directory in `dir_fd`. */
static void cgroup_walk(int dir_fd, void (*each)(int dir_fd, const char *name))
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *d;

    if (dir == NULL) {
        io_close(&fd);
        return;
    }
    while ((d = readdir(dir)) != NULL) {
        if (d->d_type == DT_DIR && d->d_name[0] != '.')
            each(dir_fd, d->d_name);
    }
    closedir(dir);
}

/* The kernel refuses to remove it while a process is in it. */
static void cgroup_remove_slot(int dir_fd, const char *name)
{
    if (name[0] == 'p')
        (void)unlinkat(dir_fd, name, AT_REMOVEDIR);
}

static void cgroup_sweep(int dir_fd)
{
    cgroup_walk(dir_fd, cgroup_remove_slot);
}

/*
 * A keeper that was killed leaves its directory behind. A keeper in another pid namespace may look
 * dead from here; it loses its empty slots at worst, and continues without them.
 */
static void cgroup_remove_stale(int parent_fd, const char *name)
{
    int64_t pid;
    int fd;

    if (strncmp(name, CGROUP_NAME, strlen(CGROUP_NAME)) != 0 ||
        !text_to_i64(name + strlen(CGROUP_NAME), 1, INT_MAX, &pid))
        return;
    if (kill((pid_t)pid, 0) == 0 || errno != ESRCH)
        return;
    fd = openat(parent_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        cgroup_sweep(fd);
    io_close(&fd);
    (void)unlinkat(parent_fd, name, AT_REMOVEDIR);
}

/*
 * Enables controllers for our slots, as far as the parent cgroups pass them on. Changes nothing
 * outside our own directory.
 */
static void cgroup_enable(struct cgroup *c)
{
    hf_autoclose int fd = openat(c->dir_fd, "cgroup.subtree_control", O_WRONLY | O_CLOEXEC);
    struct cgroup_slot *probe;

    if (fd >= 0) {
        (void)hf_write(fd, "+memory", strlen("+memory"));
        (void)hf_write(fd, "+pids", strlen("+pids"));
    }
    probe = cgroup_take(c, true);
    if (probe == NULL)
        return;
    c->has_memory = faccessat(probe->dir_fd, "memory.max", W_OK, 0) == 0;
    c->has_pids = faccessat(probe->dir_fd, "pids.max", W_OK, 0) == 0;
    cgroup_release(c, probe);
}

/* 0 or -errno. */
static int cgroup_make(struct cgroup *c, const char *parent, pid_t pid)
{
    hf_autoclose int parent_fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    char name[32];

    if (parent_fd < 0)
        return -errno;
    cgroup_walk(parent_fd, cgroup_remove_stale);
    snprintf(name, sizeof name, CGROUP_NAME "%d", (int)pid);
    if (mkdirat(parent_fd, name, 0755) < 0 && errno != EEXIST)
        return -errno;
    c->dir_fd = openat(parent_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (c->dir_fd < 0)
        return -errno;
    snprintf(c->path, sizeof c->path, "%s%s%s", parent, strcmp(parent, "/") == 0 ? "" : "/", name);
    /* As PID 1 our name is always the same: the previous keeper may have left slots. */
    cgroup_sweep(c->dir_fd);
    cgroup_enable(c);
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
        log_info("cgroup v2 is not available: process trees are found by session and parent");
        return;
    }
    rc = cgroup_make(c, parent, pid);
    if (rc < 0) {
        io_close(&c->dir_fd);
        log_info("cannot create a cgroup (%s): process trees are found by session and parent",
                 strerror(-rc));
    }
}

int cgroup_resume(struct cgroup *c, const char *path, uint32_t last_number)
{
    cgroup_clear(c);
    if (path[0] == '\0')
        return 0;
    c->dir_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (c->dir_fd < 0)
        return -errno;
    snprintf(c->path, sizeof c->path, "%s", path);
    c->last_number = last_number;
    cgroup_enable(c);
    return 0;
}

static void cgroup_drop_list(struct cgroup *c, struct list *slots)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, slots)
        cgroup_discard(c, list_entry(it, struct cgroup_slot, link));
}

void cgroup_abandon(struct cgroup_slot *slot)
{
    slot_free(slot);
}

void cgroup_fini(struct cgroup *c, bool remove)
{
    cgroup_drop_list(c, &c->idle);
    c->idle_count = 0;
    cgroup_drop_list(c, &c->lingering);
    if (remove && c->dir_fd >= 0) {
        cgroup_sweep(c->dir_fd);
        (void)rmdir(c->path);
    }
    io_close(&c->dir_fd);
}

void cgroup_disable(struct cgroup *c, const char *why)
{
    log_info("cgroups are not used (%s): process trees are found by session and parent", why);
    cgroup_fini(c, true);
}

static int slot_open_dir(const struct cgroup *c, const struct cgroup_slot *slot)
{
    char name[24];

    slot_name(slot->number, name);
    return openat(c->dir_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static struct cgroup_slot *slot_new(uint32_t number)
{
    struct cgroup_slot *slot = calloc(1, sizeof *slot);

    if (slot == NULL)
        return NULL;
    list_init(&slot->link);
    slot->number = number;
    slot->dir_fd = -1;
    return slot;
}

static struct cgroup_slot *slot_make(struct cgroup *c)
{
    struct cgroup_slot *slot;
    char name[24];

    slot_name(++c->last_number, name);
    if (mkdirat(c->dir_fd, name, 0755) < 0)
        return NULL;
    slot = slot_new(c->last_number);
    if (slot == NULL) {
        (void)unlinkat(c->dir_fd, name, AT_REMOVEDIR);
        return NULL;
    }
    slot->dir_fd = slot_open_dir(c, slot);
    if (slot->dir_fd < 0) {
        cgroup_discard(c, slot);
        return NULL;
    }
    return slot;
}

/* Processes in lingering slots may have exited since; empty slots become idle again. */
static void cgroup_collect(struct cgroup *c)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &c->lingering) {
        struct cgroup_slot *slot = list_entry(it, struct cgroup_slot, link);

        if (cgroup_is_empty(c, slot)) {
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

/*
 * Its history is not known, so it counts as used up: a child started in a cgroup that was killed
 * dies at once, and a limited one has limits that nobody requested.
 */
struct cgroup_slot *cgroup_reopen(struct cgroup *c, uint32_t number)
{
    struct cgroup_slot *slot = c->dir_fd < 0 ? NULL : slot_new(number);

    if (slot != NULL)
        slot->used_up = true;
    return slot;
}

void cgroup_discard(struct cgroup *c, struct cgroup_slot *slot)
{
    char name[24];

    slot_name(slot->number, name);
    if (c->dir_fd >= 0)
        (void)unlinkat(c->dir_fd, name, AT_REMOVEDIR);
    slot_free(slot);
}

/*
 * Makes the slot idle again; false if it cannot be reused. The kernel's OOM kill count cannot be
 * reset. Slots with a count of zero need no base count to compare with, which would have to be
 * carried through every upgrade.
 */
static bool cgroup_keep(struct cgroup *c, struct cgroup_slot *slot)
{
    if (slot->used_up || c->idle_count >= CGROUP_IDLE_MAX || cgroup_had_oom(c, slot))
        return false;
    if (slot->dir_fd < 0)
        slot->dir_fd = slot_open_dir(c, slot);
    if (slot->dir_fd < 0)
        return false;
    list_prepend(&c->idle, &slot->link); /* the most recently used one is warm */
    c->idle_count++;
    return true;
}

void cgroup_release(struct cgroup *c, struct cgroup_slot *slot)
{
    io_close(&slot->dir_fd);
    if (c->dir_fd >= 0 && !cgroup_is_empty(c, slot))
        list_append(&c->lingering, &slot->link);
    else if (c->dir_fd < 0 || !cgroup_keep(c, slot))
        cgroup_discard(c, slot);
}

void cgroup_release_if_empty(struct cgroup *c, struct cgroup_slot **slot)
{
    if (*slot == NULL || c->dir_fd < 0 || !cgroup_is_empty(c, *slot))
        return;
    if (!cgroup_keep(c, *slot))
        cgroup_discard(c, *slot);
    *slot = NULL;
}

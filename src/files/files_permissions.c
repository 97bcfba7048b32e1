/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_permissions.c - `permissions`: mode, owner and group of a file or a tree. Layer: files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text.h"
#include "engine/users.h"
#include "files/files.h"
#include "files/files_walk.h"

#define GROUP_FILE_BYTES (4 * 1024 * 1024)

struct permissions {
    struct files_walk walk;
    int mode; /* -1: as it is */
    uid_t uid;
    gid_t gid; /* -1: as it is */
};

/* A name of /etc/group, or a number. */
static bool group_number(const char *name, gid_t *out)
{
    struct buf text = {0};
    char *line, *save = NULL;
    int64_t n = -1;

    if (!text_to_i64(name, 0, UINT32_MAX - 1, &n) &&
        io_read_file("/etc/group", GROUP_FILE_BYTES, &text) == 0 && text.len > 0)
        for (line = strtok_r((char *)(uintptr_t)buf_cstr(&text), "\n", &save);
             line != NULL && n < 0; line = strtok_r(NULL, "\n", &save)) {
            char *group = strsep(&line, ":"), *number;

            strsep(&line, ":");
            number = strsep(&line, ":");
            if (number != NULL && strcmp(group, name) == 0)
                text_to_i64(number, 0, UINT32_MAX - 1, &n);
        }
    buf_fini(&text);
    if (n >= 0)
        *out = (gid_t)n;
    return n >= 0;
}

/* False: printed why not. */
static bool permissions_decode(struct permissions *p, char **args)
{
    const char *owner = files_option(args + 1, "owner"), *group = files_option(args + 1, "group");
    struct user u;

    p->uid = (uid_t)-1;
    p->gid = (gid_t)-1;
    if (!files_mode(args + 1, &p->mode)) {
        files_refuse(EINVAL, args[0], "the mode is not octal");
        return false;
    }
    if (owner != NULL && user_find(owner, &u, NULL) < 0) {
        files_refuse(EINVAL, owner, "no such user");
        return false;
    }
    if (owner != NULL)
        p->uid = u.uid;
    if (group != NULL && !group_number(group, &p->gid)) {
        files_refuse(EINVAL, group, "no such group");
        return false;
    }
    return true;
}

/* A link's own permissions mean nothing, and what it leads to may be elsewhere. */
static int permissions_set(const struct permissions *p, int dir, const char *name,
                           const struct stat *st)
{
    hf_autoclose int fd = -1;
    char path[32];

    if ((p->uid != (uid_t)-1 || p->gid != (gid_t)-1) &&
        fchownat(dir, name, p->uid, p->gid, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (p->mode < 0 || S_ISLNK(st->st_mode))
        return 0;
    fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return chmod(path, (mode_t)p->mode) < 0 ? -errno : 0;
}

static enum files_walk_next permissions_each(struct files_walk *w, const struct files_walk_entry *e)
{
    int rc = permissions_set((struct permissions *)w, e->dir, e->name, &e->st);

    w->errnum = rc == -ENOENT ? 0 : -rc;
    return w->errnum != 0 ? WALK_STOP : WALK_ON;
}

/* Directories come after what is in them, since the new permissions may forbid to enter. */
static enum files_walk_next permissions_visit(struct files_walk *w,
                                              const struct files_walk_entry *e)
{
    return S_ISDIR(e->st.st_mode) ? WALK_ON : permissions_each(w, e);
}

int files_permissions(char **args)
{
    struct permissions p = {.walk = {.visit = permissions_visit, .leave = permissions_each}};
    struct stat st;
    int rc = 0;

    if (!permissions_decode(&p, args))
        return 1;
    if (stat(args[0], &st) < 0)
        return files_fail(errno, args[0]);
    if (S_ISDIR(st.st_mode) && files_flag(args + 1, "recursive", false))
        rc = files_walk(&p.walk, args[0]);
    if (rc == 0 && (p.uid != (uid_t)-1 || p.gid != (gid_t)-1) && chown(args[0], p.uid, p.gid) < 0)
        rc = -errno;
    if (rc == 0 && p.mode >= 0 && chmod(args[0], (mode_t)p.mode) < 0)
        rc = -errno;
    return rc < 0 ? files_fail(-rc, args[0]) : files_show(args[0]);
}

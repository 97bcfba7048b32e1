/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_below.c - paths below a directory that lead nowhere else. Layer: files.
 */
#include "files/files_below.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_up(const char *name, size_t len)
{
    return len == 2 && name[0] == '.' && name[1] == '.';
}

/* A link to a directory gives ENOTDIR with O_NOFOLLOW: say what it is. */
static int enter_failed(int dir, const char *name)
{
    int err = errno;
    struct stat st;

    if (err == ENOTDIR && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
        err = ELOOP;
    return -err;
}

static int enter(int dir, const char *name, bool make, bool follow)
{
    int flags = O_PATH | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
    int fd = openat(dir, name, flags);

    if (fd < 0 && errno == ENOENT && make) {
        if (mkdirat(dir, name, 0777) < 0 && errno != EEXIST)
            return -errno;
        fd = openat(dir, name, flags);
    }
    return fd < 0 ? enter_failed(dir, name) : fd;
}

int files_below_parent(int root, const char *path, bool make, bool follow, const char **name)
{
    int dir = fcntl(root, F_DUPFD_CLOEXEC, 3), next;
    char part[NAME_MAX + 1];

    while (dir >= 0) {
        const char *slash = strchr(path, '/');
        size_t len = slash != NULL ? (size_t)(slash - path) : strlen(path);

        if (len == 0 || len > NAME_MAX || is_up(path, len)) {
            close(dir);
            return len > NAME_MAX ? -ENAMETOOLONG : -EINVAL;
        }
        if (slash == NULL) {
            *name = path;
            return dir;
        }
        memcpy(part, path, len);
        part[len] = '\0';
        next = enter(dir, part, make, follow);
        close(dir);
        dir = next;
        path = slash + 1;
    }
    return dir;
}

int files_below_directory(int root, const char *path, bool follow)
{
    const char *name;
    int parent = files_below_parent(root, path, true, follow, &name), fd;

    if (parent < 0)
        return parent;
    fd = enter(parent, name, true, follow);
    close(parent);
    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_compose.c - makes one file of the bytes of several, which are removed
 *
 * The new file appears whole, and only then are its parts removed. Layer: files.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "files/files.h"
#include "files/files_output.h"

/* 0 or -errno. */
static int open_part(const char *path, int *fd)
{
    struct stat st;

    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*fd < 0)
        return -errno;
    if (fstat(*fd, &st) < 0)
        return -errno;
    return S_ISREG(st.st_mode) ? 0 : -ENOTSUP;
}

/* The same file by another name would be removed after it was written. */
static int check_part(const char *path, const char *to)
{
    struct stat a, b;
    hf_autoclose int fd = -1;
    int rc = open_part(path, &fd);

    if (rc < 0)
        return rc;
    if (stat(to, &b) == 0 && fstat(fd, &a) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
        return -EINVAL;
    return 0;
}

static int append_part(int to, const char *path)
{
    hf_autoclose int fd = -1;
    int64_t moved;
    int rc = open_part(path, &fd);

    return rc < 0 ? rc : files_copy_bytes(fd, to, -1, &moved);
}

static int failed(int rc, const char *path)
{
    if (rc == -ENOTSUP)
        return files_refuse(ENOTSUP, path, "not a regular file");
    if (rc == -EINVAL)
        return files_refuse(EINVAL, path, "a source is the destination");
    return files_fail(-rc, path);
}

/* Each part, in order. *path: where it went wrong. */
static int each(const json_t *parts, int (*step)(int fd, const char *path, const char *to), int fd,
                const char *to, const char **path)
{
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const char *part = json_string_value(json_array_get(parts, i));
        int rc = part == NULL ? -EINVAL : step(fd, part, to);

        if (rc < 0) {
            *path = part != NULL ? part : to;
            return rc;
        }
    }
    return 0;
}

static int step_check(int fd, const char *path, const char *to)
{
    (void)fd;
    return check_part(path, to);
}

static int step_append(int fd, const char *path, const char *to)
{
    (void)to;
    return append_part(fd, path);
}

static int step_remove(int fd, const char *path, const char *to)
{
    (void)fd, (void)to;
    return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}

int files_compose(char **args)
{
    json_auto_t *parts = json_parse(args[1], strlen(args[1]), NULL);
    struct files_output_options options = {.mode = -1};
    const char *wrong = args[0];
    struct files_output o = {.dir = -1, .fd = -1};
    int rc = each(parts, step_check, -1, args[0], &wrong);

    if (rc == 0)
        rc = files_make_parent(args[0]);
    if (rc == 0)
        rc = files_output_open(&o, args[0], &options);
    if (rc < 0)
        return failed(rc, wrong);
    rc = each(parts, step_append, o.fd, args[0], &wrong);
    if (rc == 0)
        rc = files_give_open(o.fd);
    if (rc == 0)
        rc = files_output_commit(&o);
    files_output_close(&o);
    if (rc == 0)
        rc = each(parts, step_remove, -1, args[0], &wrong);
    return rc < 0 ? failed(rc, wrong) : files_show_written(args[0], !o.replaces);
}

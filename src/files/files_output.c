/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_output.c - a file that appears whole or not at all. Layer: files.
 */
#include "files/files_output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crypto.h"
#include "base/io.h"

/* --- a temporary name ------------------------------------------------------------------------ */

/* The one that a signal removes; the process writes one file at a time. */
static struct {
    int dir;
    const char *name; /* NULL: none */
} doomed;

static void on_end(int signum)
{
    (void)signum;
    if (doomed.name != NULL)
        unlinkat(doomed.dir, doomed.name, 0);
    _exit(1);
}

static void temporary_keep(int dir, const char *name)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    struct sigaction sa = {.sa_handler = on_end};

    doomed.dir = dir;
    doomed.name = name;
    for (size_t i = 0; name != NULL && i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &sa, NULL);
}

static void temporary_name(struct files_output *o)
{
    uint64_t n;

    crypto_random(&n, sizeof n);
    snprintf(o->temporary, sizeof o->temporary, ".holdfast-%016llx.part", (unsigned long long)n);
}

/* --- the kinds of file ----------------------------------------------------------------------- */

static int open_in_place(struct files_output *o)
{
    int flags = o->options.append ? O_APPEND : O_TRUNC;

    if (!o->replaces)
        flags |= O_CREAT | O_EXCL;
    o->in_place = true;
    o->fd = openat(o->dir, o->name,
                   O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags, 0666);
    if (o->fd < 0)
        return errno == ENXIO ? -ENOTSUP : -errno;
    return 0;
}

static int open_named(struct files_output *o)
{
    int rc;

    temporary_name(o);
    temporary_keep(o->dir, o->temporary);
    o->fd = openat(o->dir, o->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (o->fd >= 0)
        return 0;
    rc = -errno;
    temporary_keep(-1, NULL);
    o->temporary[0] = '\0';
    return rc;
}

static int open_new(struct files_output *o)
{
    o->fd = openat(o->dir, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (o->fd >= 0)
        return 0;
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL)
        return -errno;
    return open_named(o);
}

/* Gives the new file the owner and the permissions that it is to have. -EPERM: it cannot have the
 * old one's owner. */
static int adopt(struct files_output *o)
{
    int mode = o->options.mode;
    mode_t mask = umask(0);

    umask(mask);
    if (o->replaces && (o->old.st_uid != geteuid() || o->old.st_gid != getegid()) &&
        fchown(o->fd, o->old.st_uid, o->old.st_gid) < 0)
        return -EPERM;
    if (mode < 0)
        mode = o->replaces ? (int)(o->old.st_mode & 07777) : (int)(0666 & ~mask);
    return fchmod(o->fd, (mode_t)mode) < 0 ? -errno : 0;
}

/* --- opening --------------------------------------------------------------------------------- */

static int check_old(struct files_output *o)
{
    if (fstatat(o->dir, o->name, &o->old, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    o->replaces = true;
    if (o->options.exclusive)
        return -EEXIST;
    if (S_ISDIR(o->old.st_mode))
        return -EISDIR;
    if (S_ISLNK(o->old.st_mode) && o->options.replace_link) {
        o->replaces = false; /* nothing of it is kept */
        return 0;
    }
    if (!S_ISREG(o->old.st_mode))
        return S_ISLNK(o->old.st_mode) ? -ELOOP : -ENOTSUP;
    return faccessat(o->dir, o->name, W_OK, AT_EACCESS) < 0 ? -errno : 0;
}

/* Writing to a link writes the file that it leads to, as with any program. */
static int follow_link(struct files_output *o)
{
    const char *slash = strrchr(o->path, '/');
    char to[PATH_MAX];
    ssize_t n;

    if (realpath(o->path, o->target) != NULL)
        return 0;
    if (errno != ENOENT || slash == NULL)
        return -errno;
    n = readlink(o->path, to, sizeof to - 1); /* a dangling link: the file is created there */
    if (n < 0)
        return -errno;
    to[n] = '\0';
    n = snprintf(o->target, sizeof o->target, "%.*s/%s", to[0] == '/' ? 0 : (int)(slash - o->path),
                 o->path, to);
    return n < (int)sizeof o->target ? 0 : -ENAMETOOLONG;
}

static int resolve(struct files_output *o)
{
    char dir[PATH_MAX];
    struct stat st;
    char *slash;
    int rc = 0;

    if (strlen(o->path) >= sizeof o->target)
        return -ENAMETOOLONG;
    snprintf(o->target, sizeof o->target, "%s", o->path);
    if (!o->options.exclusive && !o->options.replace_link && lstat(o->path, &st) == 0 &&
        S_ISLNK(st.st_mode))
        rc = follow_link(o);
    if (rc < 0)
        return rc;
    snprintf(dir, sizeof dir, "%s", o->target);
    slash = strrchr(dir, '/');
    if (slash == NULL || slash[1] == '\0')
        return slash == NULL ? -EINVAL : -EISDIR;
    o->name = o->target + (slash - dir) + 1;
    slash[slash == dir] = '\0';
    o->dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return o->dir < 0 ? -errno : 0;
}

static int open_replacement(struct files_output *o)
{
    int rc = open_new(o);

    if (rc == 0) {
        rc = adopt(o);
        if (rc != -EPERM)
            return rc;
        io_close(&o->fd);
        if (o->temporary[0] != '\0')
            unlinkat(o->dir, o->temporary, 0);
        o->temporary[0] = '\0';
        temporary_keep(-1, NULL);
    }
    if (!o->replaces || (rc != -EPERM && rc != -EACCES && rc != -EROFS && rc != -ENOENT))
        return rc; /* ENOENT: in /proc */
    return open_in_place(o);
}

int files_output_open(struct files_output *o, const char *path,
                      const struct files_output_options *options)
{
    int rc;

    *o = (struct files_output){.path = path, .dir = -1, .fd = -1, .options = *options};
    rc = resolve(o);
    if (rc == 0)
        rc = check_old(o);
    if (rc == 0)
        rc = options->append ? open_in_place(o) : open_replacement(o);
    if (rc == 0 && o->in_place && options->mode >= 0 && fchmod(o->fd, (mode_t)options->mode) < 0)
        rc = -errno;
    if (rc < 0)
        files_output_close(o);
    return rc;
}

/* --- the end --------------------------------------------------------------------------------- */

/* Some file systems report a full disk only when a descriptor is closed. */
static int flush(const struct files_output *o)
{
    int copy = fcntl(o->fd, F_DUPFD_CLOEXEC, 3);

    if (copy < 0)
        return -errno;
    return close(copy) < 0 ? -errno : 0;
}

static int link_to(struct files_output *o, const char *name)
{
    char path[32];

    if (o->temporary[0] != '\0' && name != o->temporary)
        return linkat(o->dir, o->temporary, o->dir, name, 0) < 0 ? -errno : 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", o->fd);
    return linkat(AT_FDCWD, path, o->dir, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* A mount cannot be replaced, so the bytes are copied into it. */
static int overwrite(struct files_output *o)
{
    static char block[64 * 1024];
    hf_autoclose int to = -1;
    ssize_t n;

    to = openat(o->dir, o->name, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (to < 0 || lseek(o->fd, 0, SEEK_SET) < 0)
        return -errno;
    while ((n = hf_read(o->fd, block, sizeof block)) > 0)
        if ((n = io_write_all(to, block, (size_t)n)) < 0)
            break;
    unlinkat(o->dir, o->temporary, 0);
    return n < 0 ? (int)n : 0;
}

static int replace(struct files_output *o)
{
    int rc = 0;

    if (o->temporary[0] == '\0') {
        temporary_name(o);
        temporary_keep(o->dir, o->temporary);
        rc = link_to(o, o->temporary);
        if (rc < 0) {
            o->temporary[0] = '\0';
            return rc;
        }
    }
    if (renameat(o->dir, o->temporary, o->dir, o->name) < 0) {
        if (errno != EBUSY)
            return -errno;
        rc = overwrite(o);
    }
    o->temporary[0] = '\0';
    temporary_keep(-1, NULL);
    return rc;
}

int files_output_commit(struct files_output *o)
{
    int rc = flush(o);

    if (rc < 0 || o->in_place)
        return rc;
    if (!o->replaces) {
        rc = link_to(o, o->name);
        if (rc != -EEXIST || o->options.exclusive)
            return rc;
    }
    return replace(o);
}

void files_output_close(struct files_output *o)
{
    if (o->temporary[0] != '\0')
        unlinkat(o->dir, o->temporary, 0);
    temporary_keep(-1, NULL);
    io_close(&o->fd);
    io_close(&o->dir);
}

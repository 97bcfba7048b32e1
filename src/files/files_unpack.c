/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_unpack.c - `unpack`: a tar from standard input, plain or gzipped, below a directory
 *
 * No entry gets outside the directory: neither by its path, nor through a link that the archive or
 * somebody else has put there. With `follow` a user's own links in the directory are followed, and
 * an archive may then contain no links. Devices and fifos are left out and counted. A file gets the
 * permissions and the time of the archive. With `whole` so do directories; set-id bits are kept,
 * and root gives everything its owner: that of the archive, or of the settings. With `show` the
 * result is the paths of the first N entries, and {"truncated":true} if there are more, instead of
 * the totals. Memory is bounded whatever the input. Layer: files.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/tar.h"
#include "files/files.h"
#include "files/files_below.h"
#include "files/files_gzip.h"

struct unpack {
    const char *dir;
    struct tar_in tar;
    int root;
    int fd; /* of the file that is open; -1: none */
    bool follow, whole;
    bool chown;      /* with `whole`, as root */
    struct buf dirs; /* with `whole`: what to do to directories at the end */
    bool done;       /* the archive's end was seen */
    int64_t entries, bytes, skipped;
    int64_t show; /* paths that are still to be shown; -1: none are */
    bool truncated;
};

#define SAID 1 /* the error has been printed: what the operations below return then */

static int damaged(const struct unpack *u, const char *why)
{
    const char *path = u->tar.path[0] != '\0' ? u->tar.path : u->dir;

    /* Those who allow no links have always got EINVAL here. */
    return files_refuse(u->follow ? EINVAL : EBADMSG, path, why);
}

static int failed(const struct unpack *u, int rc)
{
    char path[PATH_MAX + TAR_PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", u->dir[1] == '\0' ? "" : u->dir, u->tar.path);
    return files_fail(-rc, path);
}

/* --- entries ------------------------------------------------------------------------------- */

/* What is in the way of a new file or link is removed, but no directory. */
static int make_room(int parent, const char *name)
{
    return unlinkat(parent, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

/* With `follow` the file stays the one it is, and keeps its owner. */
static int open_at(struct unpack *u, int parent, const char *name)
{
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, rc = 0;

    if (!u->follow)
        rc = make_room(parent, name);
    if (rc < 0)
        return rc;
    u->fd = openat(parent, name, flags | (u->follow ? O_TRUNC : O_EXCL | O_NOFOLLOW), 0666);
    if (u->fd < 0 || (u->chown && fchown(u->fd, u->tar.uid, u->tar.gid) < 0) ||
        fchmod(u->fd, u->tar.mode & (u->whole ? 07777 : 0777)) < 0)
        return -errno;
    return 0;
}

static int link_hard(struct unpack *u, int parent, const char *name)
{
    const char *of = u->tar.link, *of_name;
    int dir, rc;

    while (strncmp(of, "./", 2) == 0)
        of += 2;
    dir = files_below_parent(u->root, of, false, false, &of_name);
    if (dir < 0)
        return dir;
    rc = make_room(parent, name);
    if (rc == 0 && linkat(dir, of_name, parent, name, 0) < 0)
        rc = -errno;
    close(dir);
    return rc;
}

static int link_soft(struct unpack *u, int parent, const char *name)
{
    int rc = make_room(parent, name);

    if (rc < 0)
        return rc;
    if (symlinkat(u->tar.link, parent, name) < 0 ||
        (u->chown && fchownat(parent, name, u->tar.uid, u->tar.gid, AT_SYMLINK_NOFOLLOW) < 0))
        return -errno;
    return 0;
}

static int entry_at(struct unpack *u, int parent, const char *name)
{
    switch (u->tar.kind) {
    case TAR_FILE: return open_at(u, parent, name);
    case TAR_HARDLINK: return link_hard(u, parent, name);
    case TAR_SYMLINK: return link_soft(u, parent, name);
    default: return 0;
    }
}

/* --- directories --------------------------------------------------------------------------- */

/* What a directory gets once everything is in it, and may then no longer be written. Before it is
 * its path, behind it the length of both, so that they are read from the end. */
struct dir_end {
    uint32_t uid, gid, mode;
    int64_t mtime_s;
    size_t path_bytes; /* with its NUL */
};

static int dir_note(struct unpack *u)
{
    struct dir_end d = {.uid = u->tar.uid, .gid = u->tar.gid, .mode = u->tar.mode};

    d.mtime_s = u->tar.mtime_s;
    d.path_bytes = strlen(u->tar.path) + 1;
    if (u->dirs.len + d.path_bytes + sizeof d > LIMIT_UNPACK_DIRECTORY_BYTES)
        return -E2BIG;
    buf_put(&u->dirs, u->tar.path, d.path_bytes);
    buf_put(&u->dirs, &d, sizeof d);
    return 0;
}

static int dir_end(const struct unpack *u, const char *path, const struct dir_end *d)
{
    const struct timespec times[] = {{.tv_nsec = UTIME_NOW}, {.tv_sec = d->mtime_s}};
    const char *name;
    hf_autoclose int parent = files_below_parent(u->root, path, false, u->follow, &name), fd = -1;

    if (parent < 0)
        return parent;
    fd = openat(parent, name,
                O_RDONLY | O_DIRECTORY | O_CLOEXEC | (u->follow ? 0 : O_NOFOLLOW) | O_NONBLOCK);
    if (fd < 0 || (u->chown && fchown(fd, d->uid, d->gid) < 0) || fchmod(fd, d->mode) < 0)
        return -errno;
    if (d->mtime_s > 0)
        (void)futimens(fd, times);
    return 0;
}

/* What is inside comes first. */
static int dirs_end(struct unpack *u)
{
    size_t at = u->dirs.len;
    int rc = 0;

    while (rc == 0 && at > 0) {
        struct dir_end d;

        memcpy(&d, buf_data(&u->dirs) + at - sizeof d, sizeof d);
        at -= sizeof d + d.path_bytes;
        snprintf(u->tar.path, sizeof u->tar.path, "%s", buf_data(&u->dirs) + at);
        rc = dir_end(u, u->tar.path, &d);
    }
    return rc < 0 ? failed(u, rc) : 0;
}

static int make_directory(struct unpack *u)
{
    int rc = files_below_directory(u->root, u->tar.path, u->follow);

    if (rc == 0 && u->whole)
        rc = dir_note(u);
    if (rc == -E2BIG)
        return files_refuse(E2BIG, u->dir, "the archive has too many directories");
    return rc < 0 ? failed(u, rc) : 0;
}

/* --- the archive --------------------------------------------------------------------------- */

static void show_path(struct unpack *u)
{
    struct buf line = {0}, path = {0};
    struct json_out o;

    if (u->show <= 0) {
        u->truncated = true;
        return;
    }
    u->show--;
    buf_printf(&path, "%s/%s", u->dir[1] == '\0' ? "" : u->dir, u->tar.path);
    json_out_init(&o, &line);
    json_open(&o, '{');
    json_kstr(&o, "path", buf_cstr(&path));
    json_close(&o, '}');
    files_put_line(&line);
    buf_fini(&path);
}

static int entry(struct unpack *u)
{
    const char *name;
    int parent, rc;

    files_owner(&u->tar.uid, &u->tar.gid);
    if (++u->entries > LIMIT_TAR_ENTRIES)
        return damaged(u, "the archive has too many files");
    if (u->follow && u->tar.kind != TAR_FILE && u->tar.kind != TAR_DIR)
        return damaged(u, "the archive contains an entry that is neither a file nor a directory");
    if (u->tar.kind == TAR_SPECIAL) {
        u->entries--;
        u->skipped++;
        return 0;
    }
    if (u->tar.path[0] == '\0')
        return 0;
    if (u->show >= 0)
        show_path(u);
    if (u->tar.kind == TAR_DIR)
        return make_directory(u);
    parent = files_below_parent(u->root, u->tar.path, true, u->follow, &name);
    if (parent < 0)
        return parent == -ELOOP ? damaged(u, "the path leads through a link") : failed(u, parent);
    rc = entry_at(u, parent, name);
    close(parent);
    return rc < 0 ? failed(u, rc) : 0;
}

static int close_file(struct unpack *u)
{
    const struct timespec times[] = {{.tv_nsec = UTIME_NOW}, {.tv_sec = u->tar.mtime_s}};
    int fd = u->fd;

    u->fd = -1;
    if (u->tar.mtime_s > 0 && !u->follow)
        (void)futimens(fd, times);
    return close(fd) < 0 ? failed(u, -errno) : 0;
}

static int event(struct unpack *u, enum tar_event e)
{
    int rc;

    switch (e) {
    case TAR_ENTRY: return entry(u);
    case TAR_DATA:
        rc = io_write_all(u->fd, u->tar.data, u->tar.data_len);
        u->bytes += (int64_t)u->tar.data_len;
        return rc < 0 ? failed(u, rc) : 0;
    case TAR_END: return close_file(u);
    case TAR_DONE: u->done = true; return 0;
    case TAR_ERROR: return damaged(u, u->tar.wrong);
    default: return 0;
    }
}

/* What follows the archive's end is read all the same, so that the sender gets no EPIPE. */
static int feed(void *arg, const char *bytes, size_t len)
{
    struct unpack *u = arg;
    size_t at = 0, used;
    int rc = 0;

    while (rc == 0 && at < len && !u->done) {
        rc = event(u, tar_feed(&u->tar, bytes + at, len - at, &used));
        at += used;
    }
    return rc;
}

/* --- the operation --------------------------------------------------------------------------- */

/* A file that is cut is removed, unless it is one that was there before. */
static void drop_partial(struct unpack *u)
{
    const char *name;
    int parent;

    if (u->fd < 0)
        return;
    close(u->fd);
    u->fd = -1;
    if (u->follow)
        return;
    parent = files_below_parent(u->root, u->tar.path, false, false, &name);
    if (parent < 0)
        return;
    (void)unlinkat(parent, name, 0);
    close(parent);
}

static int finish(struct unpack *u, int rc)
{
    struct buf line = {0};
    struct json_out o;

    drop_partial(u);
    if (rc == SAID)
        return 1;
    u->tar.path[0] = '\0';
    if (rc == -EBADMSG)
        return damaged(u, "not gzip, or damaged");
    if (rc < 0 && rc != -ENODATA)
        return files_fail(-rc, u->dir);
    if (rc == -ENODATA || !u->done)
        return damaged(u, "the archive is cut short");
    if (dirs_end(u) != 0)
        return 1;
    if (u->show >= 0 && !u->truncated)
        return 0;
    json_out_init(&o, &line);
    json_open(&o, '{');
    if (u->show >= 0) {
        json_kbool(&o, "truncated", true);
        json_close(&o, '}');
        files_put_line(&line);
        return 0;
    }
    json_kstr(&o, "path", u->dir);
    json_kint(&o, "entries", u->entries);
    json_kint(&o, "bytes", u->bytes);
    json_kint(&o, "skipped", u->skipped);
    json_close(&o, '}');
    files_put_line(&line);
    return 0;
}

static int pour(struct unpack *u, const char *gzip)
{
    if (gzip != NULL && strcmp(gzip, "auto") == 0)
        return files_gunzip_or_pour(STDIN_FILENO, feed, u);
    if (gzip != NULL && strcmp(gzip, "0") != 0)
        return files_gunzip(STDIN_FILENO, feed, u);
    return files_pour(STDIN_FILENO, feed, u);
}

int files_unpack(char **args)
{
    static struct unpack u;
    int rc = 0;

    u = (struct unpack){.dir = args[0], .root = -1, .fd = -1, .show = -1};
    u.follow = files_flag(args + 1, "follow", false);
    u.whole = files_flag(args + 1, "whole", false);
    u.chown = u.whole && geteuid() == 0;
    tar_init(&u.tar);
    if (!files_number(args + 1, "show", 0, LIMIT_TAR_ENTRIES, &u.show))
        return files_fail(EINVAL, u.dir);
    if (files_flag(args + 1, "parents", true))
        rc = files_make_dirs(u.dir);
    if (rc < 0 && rc != -EEXIST)
        return files_fail(-rc, u.dir);
    u.root = open(u.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (u.root < 0)
        return files_fail(errno, u.dir);
    rc = finish(&u, pour(&u, files_option(args + 1, "gzip")));
    buf_fini(&u.dirs);
    return rc;
}

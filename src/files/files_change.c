/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_change.c - `mkdir`, `move`, `remove`. Layer: files.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/files.h"
#include "files/files_tree.h"
#include "files/files_walk.h"

/* --- mkdir ----------------------------------------------------------------------------------- */

/* Makes or opens one directory; *made: which. A descriptor or -errno. A new one is entered only if
 * it is no link: who may write here could have replaced it before it is given away. */
static int step_into(int dir, const char *name, bool *made)
{
    int fd, rc;

    *made = mkdirat(dir, name, 0777) == 0;
    if (!*made && errno != EEXIST)
        return -errno;
    fd = openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC | (*made ? O_NOFOLLOW : 0));
    if (fd < 0)
        return -errno;
    rc = *made ? files_give_directory(fd) : 0;
    if (rc == 0)
        return fd;
    close(fd);
    return rc;
}

/* The directory of the last component of an absolute path, from descriptor to descriptor; *last
 * points to it. A descriptor or -errno. */
static int walk_parents(char *path, bool make, const char **last)
{
    int dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), next;
    char *at = path + strspn(path, "/"), *end;
    bool made;

    for (; dir >= 0 && *(end = at + strcspn(at, "/")) != '\0';
         at = end + 1 + strspn(end + 1, "/")) {
        if (end[strspn(end, "/")] == '\0')
            break; /* nothing but slashes follows */
        *end = '\0';
        next = make ? step_into(dir, at, &made) : openat(dir, at, O_PATH | O_DIRECTORY | O_CLOEXEC);
        next = next < 0 && !make ? -errno : next;
        close(dir);
        dir = next;
    }
    if (dir >= 0)
        *end = '\0';
    *last = *at != '\0' ? at : ".";
    return dir;
}

static int make_dir(const char *path, bool parents)
{
    char part[PATH_MAX];
    size_t len = strlen(path);
    const char *last;
    bool made;
    int dir, fd;

    if (len == 0 || len >= sizeof part)
        return -ENAMETOOLONG;
    memcpy(part, path, len + 1);
    dir = walk_parents(part, parents, &last);
    if (dir < 0)
        return dir;
    fd = step_into(dir, last, &made);
    close(dir);
    if (fd < 0)
        return fd == -ENOTDIR || fd == -ENOENT ? -EEXIST : fd;
    close(fd);
    return made ? 0 : -EEXIST;
}

int files_make_dirs(const char *path)
{
    return make_dir(path, true);
}

static int make_parent(const char *path, bool parents)
{
    char part[PATH_MAX];
    int rc;

    if (strlen(path) >= sizeof part)
        return -ENAMETOOLONG;
    snprintf(part, sizeof part, "%s", path);
    rc = make_dir(dirname(part), parents);
    return rc == -EEXIST ? 0 : rc;
}

int files_make_parent(const char *path)
{
    return make_parent(path, true);
}

int files_make_last_parent(const char *path)
{
    return make_parent(path, false);
}

int files_mkdir(char **args)
{
    struct stat st;
    int mode, rc;

    if (!files_mode(args + 1, &mode))
        return files_fail(EINVAL, args[0]);
    rc = make_dir(args[0], files_flag(args + 1, "parents", true));
    if (rc == -EEXIST && stat(args[0], &st) == 0 && !S_ISDIR(st.st_mode))
        rc = -ENOTDIR;
    if (rc == 0 && mode >= 0 && chmod(args[0], (mode_t)mode) < 0)
        rc = -errno;
    if (rc == -EEXIST && !files_flag(args + 1, "exclusive", false))
        return files_show_written(args[0], false);
    return rc < 0 ? files_fail(-rc, args[0]) : files_show_written(args[0], true);
}

/* --- move ------------------------------------------------------------------------------------ */

static int rename_to(const char *from, const char *to, bool overwrite)
{
    if (overwrite)
        return rename(from, to) < 0 ? -errno : 0;
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

/* What rename() does not replace: a directory that is not empty, or one in the place of the other
 * kind. Both change places, so that no moment has neither; then the old one is removed. */
static int exchange(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) < 0)
        return -errno;
    return files_remove_tree(from);
}

/* As mv does: what is moved to a directory is moved into it. 0 or -errno. */
static int move_into(const char *from, char **to, char out[PATH_MAX])
{
    char name[PATH_MAX];
    struct stat st;

    if (stat(*to, &st) < 0 || !S_ISDIR(st.st_mode))
        return 0;
    if (snprintf(name, sizeof name, "%s", from) >= (int)sizeof name ||
        snprintf(out, PATH_MAX, "%s/%s", *to, basename(name)) >= PATH_MAX)
        return -ENAMETOOLONG;
    *to = out;
    return 0;
}

int files_move(char **args)
{
    bool overwrite = files_flag(args + 2, "overwrite", true);
    const char *wrong = args[0];
    char inside[PATH_MAX];
    struct stat st;
    int rc = lstat(args[0], &st) < 0 ? -errno : 0;
    const bool found = rc == 0;

    if (rc == 0 && files_flag(args + 2, "into", false))
        rc = move_into(args[0], &args[1], inside);
    if (rc == 0 && files_flag(args + 2, "parents", true))
        rc = files_make_parent(args[1]);
    if (rc == 0)
        rc = rename_to(args[0], args[1], overwrite);
    if (files_flag(args + 2, "replace", false) &&
        (rc == -ENOTEMPTY || rc == -EEXIST || rc == -EISDIR || rc == -ENOTDIR) && overwrite &&
        lstat(args[1], &st) == 0)
        rc = exchange(args[0], args[1]);
    if (rc == -EXDEV) { /* another file system */
        rc = files_copy_tree(args[0], args[1], overwrite, &wrong);
        if (rc == 0)
            rc = files_remove_tree(args[0]);
    }
    if (rc == -EEXIST || (found && (rc == -EISDIR || rc == -ENOTDIR || rc == -ENOTEMPTY)))
        wrong = args[1];
    return rc < 0 ? files_fail(-rc, wrong) : files_show(args[1]);
}

/* --- remove ---------------------------------------------------------------------------------- */

static enum files_walk_next remove_fail(struct files_walk *w)
{
    w->errnum = errno;
    return WALK_STOP;
}

static enum files_walk_next remove_visit(struct files_walk *w, const struct files_walk_entry *e)
{
    if (S_ISDIR(e->st.st_mode))
        return WALK_ON;
    return unlinkat(e->dir, e->name, 0) < 0 && errno != ENOENT ? remove_fail(w) : WALK_ON;
}

static enum files_walk_next remove_leave(struct files_walk *w, const struct files_walk_entry *e)
{
    return unlinkat(e->dir, e->name, AT_REMOVEDIR) < 0 && errno != ENOENT ? remove_fail(w)
                                                                          : WALK_ON;
}

/* A directory that may not be read, but is empty, can be removed all the same. */
static enum files_walk_next remove_denied(struct files_walk *w, const struct files_walk_entry *e,
                                          int err)
{
    if (err == ELOOP || err == EMFILE || unlinkat(e->dir, e->name, AT_REMOVEDIR) < 0) {
        w->errnum = err;
        return WALK_STOP;
    }
    return WALK_ON;
}

/* Nobody means to remove everything, and it could not be undone. */
static bool is_root(const struct stat *st)
{
    struct stat root;

    return stat("/", &root) == 0 && root.st_dev == st->st_dev && root.st_ino == st->st_ino;
}

int files_remove_tree(const char *path)
{
    struct files_walk w = {.visit = remove_visit,
                           .leave = remove_leave,
                           .denied = remove_denied,
                           .no_follow = true}; /* it may have been replaced by a link */
    struct stat st;
    int rc;

    if (lstat(path, &st) < 0)
        return -errno;
    if (is_root(&st))
        return -EBUSY;
    if (!S_ISDIR(st.st_mode))
        return unlink(path) < 0 ? -errno : 0;
    rc = files_walk(&w, path);
    if (rc < 0 && rc != -EACCES)
        return rc;
    return rmdir(path) < 0 ? (rc < 0 ? rc : -errno) : 0;
}

/* Removing a missing file is an error only on request. */
int files_remove(char **args)
{
    struct stat st;
    int rc = 0;

    if (lstat(args[0], &st) < 0)
        rc = -errno;
    else if (S_ISDIR(st.st_mode) && !files_flag(args + 1, "directories", true))
        rc = -EISDIR;
    else if (files_flag(args + 1, "recursive", true))
        rc = files_remove_tree(args[0]);
    else
        rc = (S_ISDIR(st.st_mode) ? rmdir(args[0]) : unlink(args[0])) < 0 ? -errno : 0;
    if (rc == -ENOENT && !files_flag(args + 1, "strict", false))
        rc = 0;
    return rc < 0 ? files_fail(rc == -EEXIST ? ENOTEMPTY : -rc, args[0]) : 0;
}

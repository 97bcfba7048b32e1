/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_copy.c - `copy`: a file, or a directory with everything in it
 *
 * Links stay links, and special files are left out and counted. The source is never followed by a
 * link, and neither is the destination below its root. A copy belongs to who makes it, so it never
 * runs with the rights of another: it gets no set-ID bits. Only a move to another file system keeps
 * owner, times and those bits, as a rename does. Layer: files.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "files/files.h"
#include "files/files_below.h"
#include "files/files_output.h"
#include "files/files_tree.h"
#include "files/files_walk.h"

struct copy {
    struct files_walk walk;
    int to; /* the root of the destination */
    struct stat root;
    bool overwrite;
    bool replace_link; /* in the place of a file; else it is followed */
    bool moves;        /* the source is removed afterwards */
    int64_t entries, skipped;
    char wrong[PATH_MAX]; /* "": none */
};

/* --- one file -------------------------------------------------------------------------------- */

/* Who may not give a file away keeps it, without the set-ID bits. */
static void keep_owner(int fd, const struct stat *st)
{
    const struct timespec times[] = {st->st_atim, st->st_mtim};

    if (fchown(fd, st->st_uid, st->st_gid) == 0)
        (void)fchmod(fd, st->st_mode & 07777);
    (void)futimens(fd, times);
}

static int copy_regular(const struct copy *c, int dir, const char *name, const struct stat *st,
                        const char *to)
{
    const struct files_output_options options = {.mode = (int)(st->st_mode & 01777),
                                                 .exclusive = !c->overwrite,
                                                 .replace_link = c->replace_link || c->to >= 0};
    hf_autoclose int from =
        openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct files_output o;
    int64_t moved;
    int rc;

    if (from < 0)
        return -errno;
    rc = files_output_open(&o, to, &options);
    if (rc < 0)
        return rc;
    rc = files_copy_bytes(from, o.fd, -1, &moved);
    if (rc == 0 && c->moves)
        keep_owner(o.fd, st);
    if (rc == 0)
        rc = files_output_commit(&o);
    files_output_close(&o);
    return rc;
}

static int make_link(const char *text, int to_dir, const char *to, bool overwrite)
{
    if (symlinkat(text, to_dir, to) == 0)
        return 0;
    if (errno != EEXIST || !overwrite || unlinkat(to_dir, to, 0) < 0)
        return -errno;
    return symlinkat(text, to_dir, to) < 0 ? -errno : 0;
}

static int copy_link(const struct copy *c, int dir, const char *name, const struct stat *st,
                     int to_dir, const char *to)
{
    char text[PATH_MAX];
    int rc;
    ssize_t n = readlinkat(dir, name, text, sizeof text - 1);

    if (n < 0)
        return -errno;
    text[n] = '\0';
    rc = make_link(text, to_dir, to, c->overwrite);
    if (rc == 0 && c->moves)
        (void)!fchownat(to_dir, to, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW);
    return rc;
}

/* --- a tree ---------------------------------------------------------------------------------- */

static int copy_directory(int parent, const char *name, const struct stat *st)
{
    struct stat old;

    if (mkdirat(parent, name, (st->st_mode & 07777) | 0700) == 0)
        return 0;
    if (errno != EEXIST || fstatat(parent, name, &old, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    return S_ISDIR(old.st_mode) ? 0 : -EEXIST;
}

static int copy_file(const struct copy *c, const struct files_walk_entry *e, int parent,
                     const char *name)
{
    char to[NAME_MAX + 48];

    snprintf(to, sizeof to, "/proc/self/fd/%d/%s", parent, name);
    return copy_regular(c, e->dir, e->name, &e->st, to);
}

static int copy_entry(struct copy *c, const struct files_walk_entry *e)
{
    const char *name;
    int parent = files_below_parent(c->to, e->path + e->root_len + 1, false, false, &name);
    int rc = 0;

    if (parent < 0)
        return parent;
    if (S_ISDIR(e->st.st_mode))
        rc = copy_directory(parent, name, &e->st);
    else if (S_ISLNK(e->st.st_mode))
        rc = copy_link(c, e->dir, e->name, &e->st, parent, name);
    else if (S_ISREG(e->st.st_mode))
        rc = copy_file(c, e, parent, name);
    else
        c->skipped++;
    close(parent);
    return rc;
}

static enum files_walk_next copy_visit(struct files_walk *w, const struct files_walk_entry *e)
{
    struct copy *c = (struct copy *)w;
    int rc;

    if (e->st.st_dev == c->root.st_dev && e->st.st_ino == c->root.st_ino)
        return WALK_SKIP; /* the copy itself, if it is inside */
    rc = ++c->entries > LIMIT_TREE_ENTRIES ? -E2BIG : copy_entry(c, e);
    if (rc == 0)
        return WALK_ON;
    snprintf(c->wrong, sizeof c->wrong, "%s", e->path);
    w->errnum = -rc;
    return WALK_STOP;
}

/* Permissions come last: a directory may forbid to write in it. */
static enum files_walk_next copy_leave(struct files_walk *w, const struct files_walk_entry *e)
{
    const struct copy *c = (struct copy *)w;

    const char *name;
    int parent = files_below_parent(c->to, e->path + e->root_len + 1, false, false, &name);
    int fd =
        parent < 0 ? -1 : openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && fchmod(fd, e->st.st_mode & 07777) < 0 && errno == EPERM)
        errno = 0; /* somebody else's directory, which existed before, keeps its own */
    if (fd >= 0 && c->moves)
        keep_owner(fd, &e->st);
    io_close(&fd);
    io_close(&parent);
    return WALK_ON;
}

static void keep_root(const char *to, const struct stat *st)
{
    hf_autoclose int fd = open(to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0)
        keep_owner(fd, st);
}

static int copy_tree(struct copy *c, const char *from, const char *to, const struct stat *st)
{
    int rc = mkdir(to, 0700 | (st->st_mode & 07777)) < 0 ? -errno : 0;

    if (rc == -EEXIST && c->overwrite)
        rc = 0;
    if (rc == 0) {
        c->to = open(to, O_PATH | O_DIRECTORY | O_CLOEXEC);
        rc = c->to < 0 || fstat(c->to, &c->root) < 0 ? -errno : 0;
    }
    if (rc == 0)
        rc = files_walk(&c->walk, from);
    if (rc == 0 && chmod(to, st->st_mode & 07777) < 0)
        rc = -errno;
    if (rc == 0 && c->moves)
        keep_root(to, st);
    io_close(&c->to);
    return rc;
}

/* Copying a directory into itself would never end without the check in copy_visit(). */
static int copy_any(struct copy *c, const char *from, const char *to)
{
    struct stat st, old;

    if (lstat(from, &st) < 0)
        return -errno;
    if (lstat(to, &old) == 0 && old.st_dev == st.st_dev && old.st_ino == st.st_ino)
        return c->overwrite ? -EINVAL : -EEXIST;
    if (S_ISDIR(st.st_mode))
        return copy_tree(c, from, to, &st);
    if (S_ISLNK(st.st_mode))
        return copy_link(c, AT_FDCWD, from, &st, AT_FDCWD, to);
    if (S_ISREG(st.st_mode))
        return copy_regular(c, AT_FDCWD, from, &st, to);
    return -ENOTSUP;
}

static struct copy copy_new(bool overwrite)
{
    return (struct copy){
        .walk = {.visit = copy_visit, .leave = copy_leave}, .to = -1, .overwrite = overwrite};
}

int files_copy_tree(const char *from, const char *to, bool overwrite, const char **wrong)
{
    static struct copy c;
    int rc;

    c = copy_new(overwrite);
    c.moves = true;
    rc = copy_any(&c, from, to);
    if (rc == 0 && c.skipped > 0)
        rc = -ENOTSUP; /* a move must not lose them */
    if (c.wrong[0] != '\0')
        *wrong = c.wrong;
    return rc;
}

int files_copy(char **args)
{
    static struct copy c;
    struct stat st;
    struct buf line = {0};
    struct json_out o;
    int rc;

    c = copy_new(files_flag(args + 2, "overwrite", true));
    c.replace_link = files_flag(args + 2, "replace_link", false);
    if (lstat(args[0], &st) < 0)
        return files_fail(errno, args[0]);
    if (S_ISDIR(st.st_mode) && !files_flag(args + 2, "recursive", false))
        return files_fail(EISDIR, args[0]);
    rc = files_make_parent(args[1]);
    if (rc == 0)
        rc = copy_any(&c, args[0], args[1]);
    if (rc == -ENOTSUP)
        return files_refuse(ENOTSUP, args[0], "not a file, a directory or a link");
    if (rc < 0)
        return files_fail(-rc, c.wrong[0] != '\0' ? c.wrong : rc == -EEXIST ? args[1] : args[0]);
    if (lstat(args[1], &st) < 0)
        return files_fail(errno, args[1]);
    json_out_init(&o, &line);
    json_open(&o, '{');
    files_put_entry(&o, AT_FDCWD, args[1], args[1], &st);
    json_kint(&o, "skipped", c.skipped);
    json_close(&o, '}');
    files_put_line(&line);
    return 0;
}

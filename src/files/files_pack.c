/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_pack.c - `pack`: a directory as a tar, or one file
 *
 * Paths in the archive are relative to the directory; that of a single file is its name. With
 * `name` the root has this name, and a directory has an entry of its own. With `links` a path that
 * is a link is packed as a link. The entry comes first, as a line. Special files, files that may
 * not be read and files that disappear are left out; at the end standard error has "SKIPPED n". A
 * file that changes its size while it is read keeps the size of its header: it is cut, or the
 * archive fails. Layer: files.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/tar_out.h"
#include "files/files.h"
#include "files/files_gzip.h"
#include "files/files_walk.h"

#define BLOCK_BYTES (256 * 1024)

struct pack {
    struct files_walk walk;
    struct files_gzip gzip;
    struct buf head;  /* of one entry */
    struct buf path;  /* of one entry, where there is a name */
    const char *name; /* of the root; NULL: it has no entry */
    int64_t entries, skipped;
};

static int write_out(void *arg, const char *bytes, size_t len)
{
    (void)arg;
    return io_write_all(STDOUT_FILENO, bytes, len);
}

static int put_head(struct pack *p, struct tar_out_entry *e, const struct stat *st)
{
    e->mode = st->st_mode & 07777;
    e->uid = st->st_uid;
    e->gid = st->st_gid;
    e->mtime_s = st->st_mtim.tv_sec;
    e->size = e->kind == TAR_FILE ? (uint64_t)st->st_size : 0;
    buf_clear(&p->head);
    tar_out_header(&p->head, e);
    return files_gzip_put(&p->gzip, buf_data(&p->head), p->head.len);
}

/* --- one entry ------------------------------------------------------------------------------- */

static int put_bytes(struct pack *p, int fd, int64_t left)
{
    static const char zeros[TAR_BLOCK];
    static char block[BLOCK_BYTES];
    size_t padding = tar_out_padding((uint64_t)left);
    int rc = 0;

    while (rc == 0 && left > 0) {
        ssize_t n = hf_read(fd, block, left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES);

        if (n <= 0)
            return n < 0 ? (int)n : -EIO;
        left -= n;
        rc = files_gzip_put(&p->gzip, block, (size_t)n);
    }
    return rc == 0 && padding > 0 ? files_gzip_put(&p->gzip, zeros, padding) : rc;
}

static int pack_file(struct pack *p, int dir, const char *name, const char *path)
{
    hf_autoclose int fd =
        openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct tar_out_entry e = {.path = path, .kind = TAR_FILE};
    struct stat st;
    int rc;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        p->skipped++;
        return 0;
    }
    rc = put_head(p, &e, &st);
    return rc == 0 ? put_bytes(p, fd, st.st_size) : rc;
}

static int pack_link(struct pack *p, int dir, const char *name, const char *path,
                     const struct stat *st)
{
    char link[PATH_MAX];
    struct tar_out_entry e = {.path = path, .link = link, .kind = TAR_SYMLINK};
    ssize_t n = readlinkat(dir, name, link, sizeof link - 1);

    if (n < 0) {
        p->skipped++;
        return 0;
    }
    link[n] = '\0';
    return put_head(p, &e, st);
}

static int pack_entry(struct pack *p, int dir, const char *name, const char *path,
                      const struct stat *st)
{
    struct tar_out_entry e = {.path = path, .kind = TAR_DIR};

    if (S_ISREG(st->st_mode))
        return pack_file(p, dir, name, path);
    if (S_ISLNK(st->st_mode))
        return pack_link(p, dir, name, path, st);
    if (S_ISDIR(st->st_mode))
        return put_head(p, &e, st);
    p->skipped++;
    return 0;
}

static enum files_walk_next pack_visit(struct files_walk *w, const struct files_walk_entry *e)
{
    struct pack *p = (struct pack *)w;
    const char *path = e->path + e->root_len;
    int rc;

    path += path[0] == '/';
    if (p->name != NULL) {
        buf_clear(&p->path);
        buf_printf(&p->path, "%s/%s", p->name, path);
        path = buf_cstr(&p->path);
    }
    rc = ++p->entries > LIMIT_TREE_ENTRIES ? -E2BIG : pack_entry(p, e->dir, e->name, path, &e->st);
    w->errnum = -rc;
    return rc == 0 ? WALK_ON : WALK_STOP;
}

static enum files_walk_next pack_denied(struct files_walk *w, const struct files_walk_entry *e,
                                        int err)
{
    (void)e, (void)err;
    ((struct pack *)w)->skipped++;
    return WALK_ON;
}

/* --- the operation --------------------------------------------------------------------------- */

static int pack_all(struct pack *p, const char *path, const struct stat *st)
{
    const char *base = strrchr(path, '/'), *name = p->name;
    int rc = 0;

    if (name == NULL)
        name = base != NULL ? base + 1 : path;
    if (!S_ISDIR(st->st_mode) || p->name != NULL)
        rc = pack_entry(p, AT_FDCWD, path, name, st);
    if (rc == 0 && S_ISDIR(st->st_mode))
        rc = files_walk(&p->walk, path);
    if (rc == 0) {
        buf_clear(&p->head);
        tar_out_end(&p->head);
        rc = files_gzip_put(&p->gzip, buf_data(&p->head), p->head.len);
    }
    if (rc == 0)
        rc = files_gzip_end(&p->gzip);
    buf_fini(&p->head);
    buf_fini(&p->path);
    return rc;
}

/* What is to be packed: the path itself, or what it leads to. 0 or -errno. */
static int find_root(char **args, char path[PATH_MAX], struct stat *st)
{
    if (files_flag(args + 1, "links", false) && lstat(args[0], st) == 0 && S_ISLNK(st->st_mode)) {
        snprintf(path, PATH_MAX, "%s", args[0]);
        return 0;
    }
    return realpath(args[0], path) == NULL || stat(path, st) < 0 ? -errno : 0;
}

int files_pack(char **args)
{
    static struct pack p = {.walk = {.visit = pack_visit, .denied = pack_denied, .sorted = true}};
    char path[PATH_MAX];
    struct stat st = {0};
    int rc;

    rc = find_root(args, path, &st);
    if (rc < 0)
        return files_fail(-rc, args[0]);
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        return files_refuse(ENOTSUP, args[0], "neither a file nor a directory");
    if (!S_ISLNK(st.st_mode) && access(path, S_ISDIR(st.st_mode) ? R_OK | X_OK : R_OK) < 0)
        return files_fail(errno, args[0]);
    p.name = files_option(args + 1, "name");
    if (files_gzip_init(&p.gzip, files_flag(args + 1, "gzip", false), write_out, NULL) < 0)
        return files_fail(ENOMEM, args[0]);
    files_show_at(AT_FDCWD, path, args[0], &st);
    fflush(stdout);
    rc = pack_all(&p, path, &st);
    if (rc < 0)
        return files_fail(-rc, args[0]);
    fprintf(stderr, "SKIPPED %lld\n", (long long)p.skipped);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_op_untar.c - `holdfast file-op untar DIR`: a gzipped tar from standard input
 *
 * Writes each file as file-op's write would, with the mode from the archive. Memory is bounded
 * whatever the input: one block each for compressed and uncompressed data. Layer: cli.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/tar.h"
#include "cli/builtin_commands.h"

#define GZIP_ONLY (16 + MAX_WBITS)

struct untar {
    const char *dir;
    struct tar_in tar;
    char path[PATH_MAX]; /* of the entry */
    int fd;              /* of the file that is open; -1: none */
    unsigned entries;
    bool done; /* the archive's end was seen */
};

static int damaged(const char *path, const char *why)
{
    fprintf(stderr, "EINVAL %s: %s\n", path, why);
    return 1;
}

/* --- entries ------------------------------------------------------------------------------- */

static int make_directory(const char *path)
{
    struct stat st;
    int rc = file_op_make_dirs(path);

    if (rc == -EEXIST)
        rc = stat(path, &st) < 0 ? -errno : S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
    return rc < 0 ? file_op_fail(-rc, path) : 0;
}

/* An existing file also gets the archive's mode, as with any tar. */
static int open_file(struct untar *u)
{
    int rc = file_op_make_parent(u->path);

    if (rc < 0)
        return file_op_fail(-rc, u->path);
    u->fd = open(u->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (u->fd < 0 || fchmod(u->fd, u->tar.mode) < 0)
        return file_op_fail(errno, u->path);
    return 0;
}

static int entry(struct untar *u)
{
    const char *between = u->tar.path[0] != '\0' ? "/" : "";
    int len = snprintf(u->path, sizeof u->path, "%s%s%s", u->dir[1] == '\0' ? "" : u->dir, between,
                       u->tar.path);

    if (len >= (int)sizeof u->path)
        return file_op_fail(ENAMETOOLONG, u->tar.path);
    if (++u->entries > LIMIT_TAR_ENTRIES)
        return damaged(u->dir, "the archive has too many files");
    if (u->tar.is_dir)
        return u->tar.path[0] != '\0' ? make_directory(u->path) : 0;
    return open_file(u);
}

static int close_file(struct untar *u)
{
    int fd = u->fd;

    u->fd = -1;
    return close(fd) < 0 ? file_op_fail(errno, u->path) : 0;
}

static int event(struct untar *u, enum tar_event e)
{
    int rc;

    switch (e) {
    case TAR_ENTRY: return entry(u);
    case TAR_DATA:
        rc = io_write_all(u->fd, u->tar.data, u->tar.data_len);
        return rc < 0 ? file_op_fail(-rc, u->path) : 0;
    case TAR_END: return close_file(u);
    case TAR_DONE: u->done = true; return 0;
    case TAR_ERROR: return damaged(u->tar.path[0] != '\0' ? u->tar.path : u->dir, u->tar.wrong);
    default: return 0;
    }
}

static int unpacked(struct untar *u, const char *bytes, size_t len)
{
    size_t at = 0, used;
    int rc = 0;

    while (rc == 0 && at < len && !u->done) {
        rc = event(u, tar_feed(&u->tar, bytes + at, len - at, &used));
        at += used;
    }
    return rc;
}

/* --- gzip ---------------------------------------------------------------------------------- */

/* Unpacks one block of input; sets *over at the end of the compressed part. */
static int inflate_block(struct untar *u, z_stream *z, bool *over)
{
    static char plain[64 * 1024];

    do {
        int rc;

        z->next_out = (Bytef *)plain;
        z->avail_out = sizeof plain;
        rc = inflate(z, Z_NO_FLUSH);
        if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
            return damaged(u->dir, "not gzip, or damaged");
        *over = rc == Z_STREAM_END;
        if ((rc = unpacked(u, plain, sizeof plain - z->avail_out)) != 0)
            return rc;
    } while (!*over && z->avail_out == 0);
    return 0;
}

/* Reads on to the end of the input after the archive's end, so that the sender gets no EPIPE. */
static int unpack(struct untar *u, z_stream *z)
{
    static char packed[64 * 1024];
    bool over = false;

    for (;;) {
        ssize_t n = hf_read(STDIN_FILENO, packed, sizeof packed);
        int rc;

        if (n < 0)
            return file_op_fail((int)-n, u->dir);
        if (n == 0)
            return u->done ? 0 : damaged(u->dir, "the archive is cut short");
        z->next_in = (Bytef *)packed;
        z->avail_in = (uInt)n;
        if (!over && (rc = inflate_block(u, z, &over)) != 0)
            return rc;
    }
}

int file_op_untar(char **args)
{
    static struct untar u;
    z_stream z = {0};
    int rc;

    u.dir = args[0];
    u.fd = -1;
    tar_init(&u.tar);
    if (u.dir[0] != '/')
        return file_op_fail(EINVAL, u.dir);
    if (inflateInit2(&z, GZIP_ONLY) != Z_OK)
        return file_op_fail(ENOMEM, u.dir);
    rc = unpack(&u, &z);
    inflateEnd(&z);
    if (u.fd >= 0)
        close(u.fd);
    return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_read.c - `read`: the entry, then the bytes of the file or of a part
 *
 * The first line has `length`, of the bytes that follow, if that is known: a file of /proc or /sys
 * says that it has none. `partial`: they begin at `from`. `beyond`: the part begins behind the end,
 * and nothing follows. Layer: files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "files/files.h"
#include "files/files_gzip.h"

#define BLOCK_BYTES (256 * 1024)

struct read {
    const char *path;
    int fd;
    struct stat st;
    char *block;
    size_t have; /* read already, to learn whether a file without a size has bytes */
    bool sized;  /* its size is known */
    bool partial, beyond, gzip;
    int64_t from, length; /* -1: to the end */
};

static int write_out(void *arg, const char *bytes, size_t len)
{
    (void)arg;
    return io_write_all(STDOUT_FILENO, bytes, len);
}

/* Opening a fifo or a device must neither wait nor have an effect. */
static int read_open(struct read *r, char **options)
{
    int rc;

    r->fd = files_open_within(r->path, options, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (r->fd < 0)
        return r->fd == -ENXIO ? -ENOTSUP : r->fd;
    if (fstat(r->fd, &r->st) < 0)
        return -errno;
    if (!S_ISREG(r->st.st_mode))
        return S_ISDIR(r->st.st_mode) ? -EISDIR : -ENOTSUP;
    r->sized = r->st.st_size > 0;
    if (r->sized)
        return 0;
    rc = (int)hf_read(r->fd, r->block, BLOCK_BYTES);
    if (rc < 0)
        return rc == -EAGAIN ? -ENOTSUP : rc;
    r->have = (size_t)rc;
    r->sized = rc == 0;
    return 0;
}

/* --- which part ------------------------------------------------------------------------------ */

static void read_part(struct read *r, int64_t from, int64_t length)
{
    int64_t size = r->st.st_size;

    r->partial = true;
    r->beyond = from >= size;
    if (r->beyond)
        from = size;
    r->from = from;
    r->length = length < 0 || length > size - from ? size - from : length;
}

static bool read_decode(struct read *r, char **options)
{
    int64_t from = -1, last = -1, length = -1;
    const char *tag = files_option(options, "if_range");
    char own[FILES_TAG_BYTES];

    if (!files_number(options, "from", 0, INT64_MAX, &from) ||
        !files_number(options, "last", 0, INT64_MAX, &last) ||
        !files_number(options, "length", 0, INT64_MAX, &length))
        return false;
    files_tag(&r->st, own);
    r->gzip = files_flag(options, "gzip", false);
    r->length = r->sized ? r->st.st_size : -1;
    if (!r->sized || (tag != NULL && strcmp(tag, own) != 0))
        return true;
    if (last >= 0) {
        read_part(r, last < r->st.st_size ? r->st.st_size - last : 0, -1);
        r->beyond = r->beyond || last == 0;
    } else if (from >= 0) {
        read_part(r, from, length);
    }
    return true;
}

static void read_head(const struct read *r)
{
    struct buf line = {0};
    struct json_out o;

    json_out_init(&o, &line);
    json_open(&o, '{');
    files_put_entry(&o, AT_FDCWD, r->path, r->path, &r->st);
    if (r->length >= 0 && !r->gzip)
        json_kint(&o, "length", r->length);
    if (r->partial)
        json_kint(&o, "from", r->from);
    json_kbool(&o, "partial", r->partial);
    json_kbool(&o, "beyond", r->beyond);
    json_close(&o, '}');
    files_put_line(&line);
    fflush(stdout);
}

/* --- the bytes ------------------------------------------------------------------------------- */

static int read_send(struct read *r, struct files_gzip *g)
{
    int64_t left = r->length;
    int rc = r->have > 0 ? files_gzip_put(g, r->block, r->have) : 0;

    while (rc == 0 && left != 0) {
        size_t want = left > 0 && left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
        ssize_t n = hf_read(r->fd, r->block, want);

        if (n < 0)
            return (int)n;
        if (n == 0)
            return left > 0 ? -EIO : 0;
        if (left > 0)
            left -= n;
        rc = files_gzip_put(g, r->block, (size_t)n);
    }
    return rc;
}

static int read_failed(int rc, const char *path)
{
    if (rc == -ENOTSUP)
        return files_refuse(ENOTSUP, path, "not a regular file");
    if (rc == -EIO)
        return files_refuse(EIO, path, "the file became shorter while it was being read");
    return files_fail(-rc, path);
}

int files_read(char **args)
{
    static char block[BLOCK_BYTES];
    struct read r = {.path = args[0], .fd = -1, .block = block, .length = -1};
    struct files_gzip g;
    int rc = read_open(&r, args + 1);

    if (rc < 0)
        return read_failed(rc, r.path);
    if (!read_decode(&r, args + 1))
        return files_fail(EINVAL, r.path);
    read_head(&r);
    if (r.beyond)
        return 0;
    if (r.from > 0 && lseek(r.fd, r.from, SEEK_SET) < 0)
        return files_fail(errno, r.path);
    rc = files_gzip_init(&g, r.gzip, write_out, NULL);
    if (rc == 0)
        rc = read_send(&r, &g);
    if (rc == 0)
        rc = files_gzip_end(&g);
    return rc == 0 ? 0 : read_failed(rc, r.path);
}

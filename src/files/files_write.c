/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_write.c - `write`: a file from standard input, plain or gzipped. Layer: files.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "files/files.h"
#include "files/files_gzip.h"
#include "files/files_output.h"

#define BLOCK_BYTES (256 * 1024)

int files_copy_bytes(int from, int to, int64_t length, int64_t *moved)
{
    static char block[BLOCK_BYTES];

    *moved = 0;
    while (length != 0) {
        size_t want = length > 0 && length < BLOCK_BYTES ? (size_t)length : BLOCK_BYTES;
        ssize_t n = hf_read(from, block, want);

        if (n <= 0)
            return (int)n;
        if (length > 0)
            length -= n;
        *moved += n;
        n = io_write_all(to, block, (size_t)n);
        if (n < 0)
            return (int)n;
    }
    return 0;
}

static int write_plain(void *arg, const char *bytes, size_t len)
{
    return io_write_all(*(int *)arg, bytes, len);
}

static int receive(struct files_output *o, bool gzip)
{
    int64_t moved;

    if (gzip)
        return files_gunzip(STDIN_FILENO, write_plain, &o->fd);
    return files_copy_bytes(STDIN_FILENO, o->fd, -1, &moved);
}

/* The caller has seen this version of the file; "*" is any. */
static int check_match(const char *path, const char *want)
{
    char tag[FILES_TAG_BYTES];
    struct stat st;

    if (want == NULL)
        return 0;
    if (stat(path, &st) < 0)
        return -ESTALE;
    files_tag(&st, tag);
    return strcmp(want, "*") == 0 || strcmp(want, tag) == 0 ? 0 : -ESTALE;
}

static int failed(int rc, const char *path)
{
    switch (rc) {
    case -ENOTSUP: return files_refuse(ENOTSUP, path, "not a regular file");
    case -ENODATA: return files_refuse(EBADMSG, path, "the gzipped body is cut short");
    case -EBADMSG: return files_refuse(EBADMSG, path, "the body is not gzip, or damaged");
    case -ESTALE: return files_refuse(ESTALE, path, "the file does not match If-Match");
    default: return files_fail(-rc, path);
    }
}

int files_write(char **args)
{
    struct files_output_options options = {.append = files_flag(args + 1, "append", false),
                                           .exclusive = files_flag(args + 1, "exclusive", false)};
    struct files_output o;
    int rc = 0;

    if (!files_mode(args + 1, &options.mode))
        return files_fail(EINVAL, args[0]);
    rc = check_match(args[0], files_option(args + 1, "if_match"));
    if (rc == 0 && files_flag(args + 1, "parents", true))
        rc = files_make_parent(args[0]);
    else if (rc == 0 && files_flag(args + 1, "parent", false))
        rc = files_make_last_parent(args[0]);
    if (rc == 0)
        rc = files_output_open(&o, args[0], &options);
    if (rc != 0)
        return failed(rc, args[0]);
    rc = receive(&o, files_flag(args + 1, "gzip", false));
    if (rc == 0) /* it may have changed since */
        rc = check_match(args[0], files_option(args + 1, "if_match"));
    if (rc == 0)
        rc = files_give_open(o.fd);
    if (rc == 0)
        rc = files_set_attributes(o.fd, args + 1);
    if (rc == 0)
        rc = files_output_commit(&o);
    files_output_close(&o);
    if (rc < 0)
        return failed(rc, args[0]);
    return files_show_written(args[0], !o.replaces);
}

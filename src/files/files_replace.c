/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_replace.c - `replace`: every occurrence of a text in a file by another
 *
 * The file is replaced as a whole, and stays as it is if nothing is found. Layer: files.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/io.h"
#include "base/limits.h"
#include "files/files.h"
#include "files/files_output.h"

static int64_t exchange(const struct buf *old, const char *from, const char *to, struct buf *new)
{
    const char *at = buf_data(old), *end = at + old->len, *hit;
    size_t from_len = strlen(from), to_len = strlen(to);
    int64_t count = 0;

    while (old->len > 0 && (hit = memmem(at, (size_t)(end - at), from, from_len)) != NULL) {
        if (new->len + (size_t)(hit - at) + to_len > LIMIT_REPLACE_BYTES)
            return -EFBIG;
        buf_put(new, at, (size_t)(hit - at));
        buf_put(new, to, to_len);
        at = hit + from_len;
        count++;
    }
    if (count > 0)
        buf_put(new, at, (size_t)(end - at));
    return count;
}

static int write_new(const char *path, const struct buf *text)
{
    const struct files_output_options options = {.mode = -1};
    struct files_output o;
    int rc = files_output_open(&o, path, &options);

    if (rc < 0)
        return rc;
    rc = io_write_all(o.fd, buf_data(text), text->len);
    if (rc == 0)
        rc = files_output_commit(&o);
    files_output_close(&o);
    return rc;
}

int files_replace(char **args)
{
    struct buf old = {0}, new = {0}, line = {0};
    struct json_out o;
    struct stat st;
    int64_t count = 0;
    int rc;

    if (args[1][0] == '\0')
        return files_refuse(EINVAL, args[0], "the text to replace is empty");
    if (stat(args[0], &st) < 0)
        return files_fail(errno, args[0]);
    if (!S_ISREG(st.st_mode))
        return files_refuse(S_ISDIR(st.st_mode) ? EISDIR : ENOTSUP, args[0], "not a regular file");
    rc = io_read_file(args[0], LIMIT_REPLACE_BYTES, &old);
    if (rc == 0) {
        count = exchange(&old, args[1], args[2], &new);
        rc = count < 0 ? (int)count : count > 0 ? write_new(args[0], &new) : 0;
    }
    buf_fini(&old);
    buf_fini(&new);
    if (rc < 0 || stat(args[0], &st) < 0)
        return files_fail(rc < 0 ? -rc : errno, args[0]);
    json_out_init(&o, &line);
    json_open(&o, '{');
    files_put_entry(&o, AT_FDCWD, args[0], args[0], &st);
    json_kint(&o, "replaced", count);
    json_close(&o, '}');
    files_put_line(&line);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_option.c - arguments and errors of the operations. Layer: files.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text.h"
#include "engine/users.h"
#include "files/files.h"

int files_refuse(int errnum, const char *path, const char *why)
{
    fprintf(stderr, "%s %s: %s\n", hf_errno_name(errnum), path, why);
    return 1;
}

int files_fail(int errnum, const char *path)
{
    return files_refuse(errnum, path, strerror(errnum));
}

const char *files_option(char **options, const char *name)
{
    size_t len = strlen(name);

    for (; *options != NULL; options++)
        if (strncmp(*options, name, len) == 0 && (*options)[len] == '=')
            return *options + len + 1;
    return NULL;
}

bool files_flag(char **options, const char *name, bool absent)
{
    const char *v = files_option(options, name);

    return v != NULL ? strcmp(v, "0") != 0 : absent;
}

bool files_number(char **options, const char *name, int64_t min, int64_t max, int64_t *out)
{
    const char *v = files_option(options, name);

    return v == NULL || text_to_i64(v, min, max, out);
}

bool files_mode(char **options, int *mode)
{
    const char *v = files_option(options, "mode");
    char *end;
    unsigned long n;

    *mode = -1;
    if (v == NULL)
        return true;
    n = strtoul(v, &end, 8);
    if (v[0] < '0' || v[0] > '7' || *end != '\0' || n > 07777)
        return false;
    *mode = (int)n;
    return true;
}

int files_absolute(const char *path, char *out, size_t size)
{
    struct user u;
    char number[16];
    int n;

    if (path[0] == '\0')
        return -ENOENT;
    if (path[0] == '/') {
        n = snprintf(out, size, "%s", path);
    } else {
        snprintf(number, sizeof number, "%u", (unsigned)geteuid());
        if (user_find(number, &u, NULL) < 0 || u.home[0] != '/')
            snprintf(u.home, sizeof u.home, "/");
        n = snprintf(out, size, "%s/%s", u.home[1] == '\0' ? "" : u.home, path);
    }
    return n < (int)size ? 0 : -ENAMETOOLONG;
}

/* Where the open file is now. 0 or -errno. */
static int path_of(const char *link, char out[PATH_MAX])
{
    ssize_t n = readlink(link, out, PATH_MAX);

    if (n < 0 || n == PATH_MAX)
        return n < 0 ? -errno : -ENAMETOOLONG;
    out[n] = '\0';
    return 0;
}

static bool is_below(const char *root, const char *path)
{
    size_t len = strlen(root);

    return strcmp(root, "/") == 0 ||
           (strncmp(path, root, len) == 0 && (path[len] == '/' || path[len] == '\0'));
}

/* The path is resolved once, without an effect on what it leads to. What was found there is
 * examined, and opened by its descriptor: nobody can replace it by something else meanwhile. */
int files_open_within(const char *path, char **options, int flags)
{
    const char *directory = files_option(options, "within");
    hf_autoclose int found = -1;
    char root[PATH_MAX], real[PATH_MAX], link[32];
    int fd, rc;

    if (directory == NULL) {
        fd = open(path, flags);
        return fd < 0 ? -errno : fd;
    }
    found = open(path, O_PATH | O_CLOEXEC);
    if (found < 0)
        return -errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", found);
    rc = path_of(link, real);
    if (rc < 0)
        return rc;
    if (realpath(directory, root) == NULL)
        return -errno;
    if (!is_below(root, real))
        return -EXDEV;
    fd = open(link, flags);
    return fd < 0 ? -errno : fd;
}

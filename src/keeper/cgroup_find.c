/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup_find.c - finds our own cgroup in the file system
 *
 * A mount shows the hierarchy from its `root` on; our own path is relative to the top. The
 * directory is the mount point plus the part of our path beyond that root. Parsing only, no files.
 * Layer: keeper.
 */
#include <stdio.h>
#include <string.h>

#include "keeper/cgroup.h"

struct mount {
    char root[PATH_MAX], point[PATH_MAX];
};

/* The n-th word of a line (from 0), unescaped (\040 is a space); false if there is none. */
static bool line_word(const char *line, const char *end, unsigned n, char *out, size_t size)
{
    size_t len = 0;

    for (; n > 0; n--) {
        line = memchr(line, ' ', (size_t)(end - line));
        if (line == NULL)
            return false;
        line++;
    }
    while (line < end && *line != ' ') {
        char c = *line++;

        if (c == '\\' && end - line >= 3) {
            c = (char)((line[0] - '0') * 64 + (line[1] - '0') * 8 + (line[2] - '0'));
            line += 3;
        }
        if (len + 1 >= size)
            return false;
        out[len++] = c;
    }
    out[len] = '\0';
    return len > 0;
}

/* "... - cgroup2 SOURCE OPTIONS" */
static bool mount_parse(const char *line, const char *end, struct mount *out)
{
    static const char type[] = " - cgroup2 ";

    if (memmem(line, (size_t)(end - line), type, strlen(type)) == NULL)
        return false;
    return line_word(line, end, 3, out->root, sizeof out->root) &&
           line_word(line, end, 4, out->point, sizeof out->point);
}

/* The line "0::/path" of /proc/self/cgroup. */
static bool self_path(const char *self, char *out, size_t size)
{
    while (self != NULL && *self != '\0') {
        const char *end = strchr(self, '\n');
        size_t len = end == NULL ? strlen(self) : (size_t)(end - self);

        if (strncmp(self, "0::/", 4) == 0) {
            if (len - 3 >= size)
                return false;
            memcpy(out, self + 3, len - 3);
            out[len - 3] = '\0';
            return true;
        }
        self = end == NULL ? NULL : end + 1;
    }
    return false;
}

/* The part of `path` beyond `root`, "" or "/..."; NULL if it is not below it. */
static const char *path_below(const char *path, const char *root)
{
    size_t len = strlen(root);

    if (strcmp(root, "/") == 0)
        return strcmp(path, "/") == 0 ? "" : path;
    if (strncmp(path, root, len) != 0 || (path[len] != '\0' && path[len] != '/'))
        return NULL;
    return path + len;
}

bool cgroup_find(const char *mountinfo, const char *self, char *out, size_t out_size)
{
    char path[PATH_MAX];
    struct mount m;

    if (!self_path(self, path, sizeof path))
        return false;
    /* "/../x" is a cgroup outside our namespace. */
    if (strncmp(path, "/..", 3) == 0)
        return false;
    while (*mountinfo != '\0') {
        const char *end = mountinfo + strcspn(mountinfo, "\n");
        const char *rest = NULL;

        if (mount_parse(mountinfo, end, &m))
            rest = path_below(path, m.root);
        if (rest != NULL) {
            int n = snprintf(out, out_size, "%s%s", m.point, rest);

            return n > 0 && (size_t)n < out_size;
        }
        mountinfo = *end == '\0' ? end : end + 1;
    }
    return false;
}

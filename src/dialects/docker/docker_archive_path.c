/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_archive_path.c - paths in the files of a container. Layer: dialects.
 */
#include "dialects/docker/docker_archive_path.h"

#include <string.h>

static bool is(const char *part, size_t len, const char *name)
{
    return len == strlen(name) && memcmp(part, name, len) == 0;
}

/* "/" or "/." at the end of a path that is more than these. */
static const char *ending(const char *text)
{
    size_t len = strlen(text);

    if (len > 0 && text[len - 1] == '/')
        return "/";
    if (len > 0 && text[len - 1] == '.' && (len == 1 || text[len - 2] == '/'))
        return "/.";
    return "";
}

bool docker_archive_path(const char *text, char *out, size_t size)
{
    const char *end = ending(text);
    size_t used = 0;

    while (*text != '\0') {
        size_t len = strcspn(text, "/");

        if (is(text, len, "..")) {
            while (used > 0 && out[--used] != '/')
                ;
        } else if (len > 0 && !is(text, len, ".")) {
            if (used + len + 4 > size)
                return false;
            out[used++] = '/';
            memcpy(out + used, text, len);
            used += len;
        }
        text += len + (text[len] == '/');
    }
    if (used == 0)
        end = *end == '\0' ? "/" : end;
    memcpy(out + used, end, strlen(end) + 1);
    return true;
}

void docker_archive_name(const char *path, char name[NAME_MAX + 1])
{
    size_t len = strlen(path), from;

    while (len > 0 && path[len - 1] == '/')
        len--;
    for (from = len; from > 0 && path[from - 1] != '/'; from--)
        ;
    path += from;
    len -= from;
    if (len == 0 || len > NAME_MAX) { /* no file has such a name */
        path = ".";
        len = 1;
    }
    memcpy(name, path, len);
    name[len] = '\0';
}

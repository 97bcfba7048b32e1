/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_walk.c - visits a directory tree without following links. Layer: files.
 */
#include "files/files_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* --- the names of a directory ---------------------------------------------------------------- */

struct walk_names {
    DIR *dir;
    char **list; /* NULL: read one by one */
    size_t count, at;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int names_sort(struct walk_names *n)
{
    const struct dirent *d;
    size_t room = 0;

    while ((d = readdir(n->dir)) != NULL) {
        if (is_dot(d->d_name))
            continue;
        if (n->count == room) {
            char **more = realloc(n->list, (room = room * 2 + 64) * sizeof *more);

            if (more == NULL)
                return -ENOMEM;
            n->list = more;
        }
        if ((n->list[n->count] = strdup(d->d_name)) == NULL)
            return -ENOMEM;
        n->count++;
    }
    if (n->count > 0)
        qsort(n->list, n->count, sizeof *n->list, by_name);
    else if (n->list == NULL)
        n->list = hf_xalloc(sizeof *n->list);
    return 0;
}

static const char *names_next(struct walk_names *n)
{
    const struct dirent *d;

    if (n->list != NULL)
        return n->at < n->count ? n->list[n->at++] : NULL;
    do
        d = readdir(n->dir);
    while (d != NULL && is_dot(d->d_name));
    return d != NULL ? d->d_name : NULL;
}

static void names_free(struct walk_names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->list[i]);
    free(n->list);
    closedir(n->dir);
}

/* --- the walk -------------------------------------------------------------------------------- */

static int walk_dir(struct files_walk *w, int fd, size_t root_len, int depth);

static int walk_stopped(const struct files_walk *w)
{
    return w->errnum != 0 ? -w->errnum : -ECANCELED;
}

static int walk_enter(struct files_walk *w, struct files_walk_entry *e)
{
    int fd = -1, err = 0, rc;

    if (e->depth >= FILES_WALK_DEPTH)
        err = ELOOP;
    else
        fd = openat(e->dir, e->name,
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && err == 0)
        err = errno;
    if (fd < 0) {
        if (w->denied != NULL && w->denied(w, e, err) == WALK_ON)
            return 0;
        w->errnum = w->errnum != 0 ? w->errnum : err;
        return walk_stopped(w);
    }
    rc = walk_dir(w, fd, e->root_len, e->depth + 1);
    if (rc == 0 && w->leave != NULL) {
        e->path = buf_cstr(&w->path);
        if (w->leave(w, e) == WALK_STOP)
            rc = walk_stopped(w);
    }
    return rc;
}

static int walk_one(struct files_walk *w, int dir, const char *name, size_t root_len, int depth)
{
    struct files_walk_entry e = {.dir = dir, .name = name, .root_len = root_len, .depth = depth};
    size_t len = w->path.len;
    enum files_walk_next next;
    int rc = 0;

    if (fstatat(dir, name, &e.st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0; /* it was removed meanwhile */
    if (len == 0 || buf_data(&w->path)[len - 1] != '/')
        buf_putc(&w->path, '/');
    buf_puts(&w->path, name);
    e.path = buf_cstr(&w->path);
    next = w->visit(w, &e);
    if (next == WALK_STOP)
        rc = walk_stopped(w);
    else if (next == WALK_ON && S_ISDIR(e.st.st_mode))
        rc = walk_enter(w, &e);
    w->path.len = len;
    return rc;
}

/* Takes ownership of fd. */
static int walk_dir(struct files_walk *w, int fd, size_t root_len, int depth)
{
    struct walk_names names = {.dir = fdopendir(fd)};
    const char *name;
    int rc = 0;

    if (names.dir == NULL) {
        close(fd);
        return -ENOMEM;
    }
    if (w->sorted)
        rc = names_sort(&names);
    while (rc == 0 && (name = names_next(&names)) != NULL)
        rc = walk_one(w, fd, name, root_len, depth);
    names_free(&names);
    return rc;
}

int files_walk_open(struct files_walk *w, int fd, const char *path)
{
    int rc;

    buf_clear(&w->path);
    buf_puts(&w->path, path);
    rc = walk_dir(w, fd, strlen(path), 1);
    buf_fini(&w->path);
    return rc;
}

int files_walk(struct files_walk *w, const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
                            (w->no_follow ? O_NOFOLLOW : 0));

    return fd < 0 ? -errno : files_walk_open(w, fd, path);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_list.c - `list`: the entries of a directory and below it, by name
 *
 * With `limit`, a line {"truncated":true} follows the last entry if there are more; without, more
 * than LIMIT_FILE_LIST are an error. Directories that cannot be read are listed, but not entered.
 * With `follow` a link is shown as what it leads to, and left out if that is nothing; no link is
 * entered. With `real` the paths have no links above the directory. With `single` a path that is no
 * directory is the only entry, as what a link leads to. With `plain` there are only directories and
 * regular files, in this order, and `ignored` says whether the project's ignore files name them.
 * Comparing all names may take no longer than a search.
 * Layer: files.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/text.h"
#include "files/files.h"
#include "files/files_ignore.h"
#include "files/files_walk.h"

struct files_listing {
    struct files_walk walk;
    int64_t depth, left;
    bool may_truncate, follow, plain;
    mode_t kind;       /* with `plain`: of this pass */
    uint64_t until_ms; /* with `plain` */
    struct files_ignore ignore;
};

static void list_show_plain(struct files_listing *l, const struct files_walk_entry *e)
{
    struct buf line = {0};
    struct json_out o;

    json_out_init(&o, &line);
    json_open(&o, '{');
    files_put_entry(&o, e->dir, e->name, e->path, &e->st);
    json_kbool(&o, "ignored",
               l->ignore.everything ||
                   files_ignore_matches(&l->ignore, e->path, S_ISDIR(e->st.st_mode)));
    json_close(&o, '}');
    files_put_line(&line);
}

static enum files_walk_next list_visit(struct files_walk *w, const struct files_walk_entry *e)
{
    struct files_listing *l = (struct files_listing *)w;

    if (l->plain && (e->st.st_mode & S_IFMT) != l->kind)
        return WALK_SKIP;
    if (l->plain && clock_mono_ms() > l->until_ms) {
        w->errnum = ETIMEDOUT;
        return WALK_STOP;
    }
    if (l->left-- == 0) {
        w->errnum = l->may_truncate ? 0 : EFBIG;
        return WALK_STOP;
    }
    if (l->plain)
        list_show_plain(l, e);
    else if (!l->follow || !S_ISLNK(e->st.st_mode))
        files_show_at(e->dir, e->name, e->path, &e->st);
    else if (!files_show_followed(e->dir, e->name, e->path))
        l->left++;
    return e->depth < l->depth ? WALK_ON : WALK_SKIP;
}

static enum files_walk_next list_denied(struct files_walk *w, const struct files_walk_entry *e,
                                        int err)
{
    (void)w, (void)e, (void)err;
    return WALK_ON;
}

static int list_walk(struct files_listing *l, const char *path, char **options)
{
    int fd = files_open_within(path, options,
                               O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    return fd < 0 ? fd : files_walk_open(&l->walk, fd, path);
}

int files_list(char **args)
{
    struct files_listing l = {
        .walk = {.visit = list_visit, .denied = list_denied, .sorted = true},
        .left = LIMIT_FILE_LIST,
        .may_truncate = files_option(args + 2, "limit") != NULL,
        .follow = files_flag(args + 2, "follow", false),
        .plain = files_flag(args + 2, "plain", false),
        .kind = S_IFDIR,
    };
    char real[PATH_MAX];
    const char *path = args[0];
    int rc;

    if (files_flag(args + 2, "real", false) && realpath(path, real) != NULL)
        path = real;
    if (!text_to_i64(args[1], 1, LIMIT_FILE_DEPTH, &l.depth) ||
        !files_number(args + 2, "limit", 1, LIMIT_FILE_LIST, &l.left))
        return files_fail(EINVAL, path);
    if (l.plain) {
        alarm(LIMIT_SEARCH_MS / 1000 * 2); /* one rule on one name may take for ever */
        l.until_ms = clock_mono_ms() + LIMIT_SEARCH_MS;
        l.depth = 1;
        files_ignore_begin(&l.ignore, path);
    }
    rc = list_walk(&l, path, args + 2);
    if (l.plain && rc == 0) {
        l.kind = S_IFREG;
        rc = list_walk(&l, path, args + 2);
    }
    files_ignore_fini(&l.ignore);
    if (rc == -ENOTDIR && files_flag(args + 2, "single", false) &&
        files_show_followed(AT_FDCWD, path, path))
        rc = 0;
    if (rc == -ECANCELED)
        puts("{\"truncated\":true}");
    else if (rc == -ETIMEDOUT)
        return files_refuse(ETIMEDOUT, path,
                            "its names take too long to compare with ignore files");
    else if (rc < 0)
        return files_fail(-rc, path);
    return 0;
}

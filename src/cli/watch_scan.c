/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_scan.c - watches the directories of a tree, and finds those that are new. Layer: cli.
 */
#include "cli/watch_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"

/* A file that was removed is not reported for what its last users still write. */
#define WATCHED                                                                                    \
    (IN_CREATE | IN_DELETE | IN_MODIFY | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO |                 \
     IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK)
#define OPEN_TO_READ (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
#define OPEN_TO_PASS (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* Watched directories that are still to be read, by number, since reading one may forget others. */
struct work {
    int *wds; /* negative: report what is in it */
    size_t count, room;
};

static void work_add(struct work *w, int wd, bool report)
{
    if (w->count == w->room) {
        size_t room = w->room > 0 ? w->room * 2 : 64;
        int *wds = hf_xalloc(room * sizeof *wds);

        if (w->count > 0)
            memcpy(wds, w->wds, w->count * sizeof *wds);
        free(w->wds);
        w->wds = wds;
        w->room = room;
    }
    w->wds[w->count++] = report ? -wd : wd;
}

/* --- opening --------------------------------------------------------------------------------- */

static int open_at(int dir, const char *name, int flags)
{
    int fd = openat(dir, name, flags);

    return fd < 0 ? -errno : fd;
}

/* The root's descriptor is not kept: its removal would go unnoticed. */
static int open_root(struct watch_scan *s, int flags)
{
    int fd = open_at(AT_FDCWD, s->real, flags);
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == s->dev && st.st_ino == s->ino)
        return fd;
    if (fd >= 0 || fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
        s->lost_root = true;
    io_close(&fd);
    return -ENOENT;
}

static size_t depth_of(const struct watch_dir *d)
{
    size_t n = 0;

    for (; d->parent != NULL; d = d->parent)
        n++;
    return n;
}

/* Does this descriptor refer to the directory that has the watch? */
static bool is_dir_of(const struct watch_dir *d, int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_dev == d->dev && st.st_ino == d->ino;
}

/* -ESTALE: it is no longer where the tree has it, which the kernel has yet to report. */
static int open_dir(struct watch_scan *s, const struct watch_dir *wanted, int flags)
{
    const struct watch_dir *d = wanted;
    size_t depth = depth_of(d);
    const char **names = hf_xalloc((depth + 1) * sizeof *names);
    int fd = open_root(s, depth > 0 ? OPEN_TO_PASS : flags);

    for (size_t i = depth; i > 0; i--, d = d->parent)
        names[i - 1] = d->name;
    for (size_t i = 0; i < depth && fd >= 0; i++) {
        int next = open_at(fd, names[i], i + 1 < depth ? OPEN_TO_PASS : flags);

        close(fd);
        fd = next;
    }
    free(names);
    if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
        return -ESTALE;
    if (fd >= 0 && !is_dir_of(wanted, fd)) {
        close(fd);
        return -ESTALE;
    }
    return fd;
}

static void later_add(struct watch_scan *s, const struct watch_dir *d, const char *name)
{
    s->doubt = true;
    if (s->later == NULL)
        s->later = hf_xalloc(WATCH_LATER_MAX * sizeof *s->later);
    if (s->later_count == WATCH_LATER_MAX)
        s->missed = true;
    else
        s->later[s->later_count++] = (struct watch_later){d->wd, hf_xstrdup(name)};
}

static bool is_dir_at(int fd, const char *name)
{
    struct stat st;

    return fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

bool watch_scan_exists(struct watch_scan *s, struct watch_dir *parent, const char *name, bool *dir)
{
    int fd = open_dir(s, parent, OPEN_TO_PASS);
    struct stat st;
    bool there = fd >= 0 && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;

    if (there)
        *dir = S_ISDIR(st.st_mode);
    if (fd == -ESTALE)
        s->missed = true;
    io_close(&fd);
    return there;
}

/* --- watching -------------------------------------------------------------------------------- */

void watch_scan_drop(void *scan, int wd)
{
    const struct watch_scan *s = scan;

    inotify_rm_watch(s->fd, wd); /* the kernel has dropped it itself if the directory is gone */
}

static int watch_fd(struct watch_scan *s, int fd)
{
    char path[32];
    int wd;

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    wd = inotify_add_watch(s->fd, path, WATCHED);
    return wd < 0 ? -errno : wd;
}

/* Is the directory that has this watch where we know it? */
static bool is_there(struct watch_scan *s, const struct watch_dir *d)
{
    int fd = open_dir(s, d, OPEN_TO_PASS);
    bool there = fd >= 0;

    io_close(&fd);
    return there;
}

static void refuse(struct watch_scan *s, struct watch_dir *parent, const char *name, int errnum)
{
    if (errnum == ENOSPC || errnum == ENOMEM || errnum == EMFILE || errnum == ENFILE)
        s->failed = errnum;
    else if (errnum != ENOENT && errnum != ENOTDIR && errnum != ELOOP)
        s->ops->unwatched(s->arg, parent, name, errnum);
}

/*
 * The kernel has one watch for a directory, whatever its name. If it is one of ours under another
 * name, then the directory was moved, and the event about that is still to come: it is forgotten
 * there. But if it has two names at once, by a mount, it stays what it was.
 */
static int take_over(struct watch_scan *s, struct watch_dir *parent, const char *name, int fd,
                     int wd)
{
    struct watch_dir *old = watch_tree_find(&s->tree, wd);

    if (old == NULL)
        return wd;
    if (watch_tree_is_within(parent, old) || is_there(s, old)) {
        s->ops->unwatched(s->arg, parent, name, EEXIST);
        return -EEXIST;
    }
    s->missed = true; /* what was queued for it */
    watch_tree_remove(&s->tree, old, watch_scan_drop, s);
    return watch_fd(s, fd);
}

static void remember(struct watch_dir *d, int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return;
    d->dev = st.st_dev;
    d->ino = st.st_ino;
}

/* Watches a directory in this one. NULL: it cannot be watched. *fresh: it was not watched. */
static struct watch_dir *enter(struct watch_scan *s, struct watch_dir *parent, int dir,
                               const char *name, bool *fresh)
{
    hf_autoclose int fd = open_at(dir, name, OPEN_TO_READ);
    int wd = fd < 0 ? fd : watch_fd(s, fd);
    struct watch_dir *child = watch_tree_child(&s->tree, parent, name), *d;

    *fresh = false;
    if (wd < 0) {
        refuse(s, parent, name, -wd);
        return NULL;
    }
    if (child != NULL && child->wd == wd)
        return child;
    if (child != NULL) {
        s->missed = true;
        watch_tree_remove(&s->tree, child, watch_scan_drop, s);
    }
    wd = take_over(s, parent, name, fd, wd);
    if (wd == -EEXIST)
        return NULL;
    d = wd < 0 ? NULL : watch_tree_add(&s->tree, parent, name, wd);
    if (d == NULL)
        refuse(s, parent, name, wd < 0 ? -wd : ENOSPC);
    else
        remember(d, fd);
    *fresh = d != NULL;
    s->fresh |= *fresh;
    return d;
}

/* --- reading --------------------------------------------------------------------------------- */

static void read_entry(struct watch_scan *s, struct watch_dir *d, int fd, const struct dirent *e,
                       bool report, struct work *todo)
{
    bool dir = e->d_type == DT_DIR || (e->d_type == DT_UNKNOWN && is_dir_at(fd, e->d_name)), fresh;
    struct watch_dir *child;

    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
        return;
    if (report)
        s->ops->found(s->arg, d, e->d_name, dir);
    if (!dir || !s->recursive)
        return;
    child = enter(s, d, fd, e->d_name, &fresh);
    if (child != NULL && fresh && s->reports && !report)
        s->ops->found(s->arg, d, e->d_name, dir);
    if (child == NULL)
        return;
    child->seen = s->count;
    work_add(todo, child->wd, report || (fresh && s->reports));
}

/* Those below that the directory no longer contains. */
static void forget_unseen(struct watch_scan *s, struct watch_dir *d)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &d->children) {
        struct watch_dir *child = list_entry(it, struct watch_dir, link);

        if (child->seen != s->count) {
            s->missed = true;
            watch_tree_remove(&s->tree, child, watch_scan_drop, s);
        }
    }
}

static void read_dir(struct watch_scan *s, struct watch_dir *d, bool report, struct work *todo)
{
    int fd = open_dir(s, d, OPEN_TO_READ);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *e;

    if (entries == NULL) {
        if (fd == -ESTALE)
            later_add(s, d, NULL);
        else if (fd < 0 && d->parent != NULL)
            refuse(s, d->parent, d->name, -fd);
        io_close(&fd);
        return;
    }
    s->count++;
    while (s->failed == 0 && (e = readdir(entries)) != NULL)
        read_entry(s, d, fd, e, report, todo);
    if (s->failed == 0)
        forget_unseen(s, d);
    closedir(entries);
}

static void read_all(struct watch_scan *s, int wd, bool report)
{
    struct work todo = {0};

    work_add(&todo, wd, report);
    while (todo.count > 0 && s->failed == 0) {
        int next = todo.wds[--todo.count];
        struct watch_dir *d = watch_tree_find(&s->tree, abs(next));

        if (d != NULL)
            read_dir(s, d, next < 0, &todo);
    }
    free(todo.wds);
}

/* --- the whole tree -------------------------------------------------------------------------- */

static void watch_parent(struct watch_scan *s)
{
    char *slash = strrchr(s->real, '/');

    s->parent_wd = -1;
    if (slash[1] == '\0')
        return; /* of "/" */
    *slash = '\0';
    s->parent_wd = inotify_add_watch(s->fd, slash == s->real ? "/" : s->real,
                                     IN_DELETE | IN_MOVED_FROM | IN_ONLYDIR);
    *slash = '/';
}

const char *watch_scan_root_name(const struct watch_scan *s)
{
    return strrchr(s->real, '/') + 1;
}

static int watch_root(struct watch_scan *s)
{
    hf_autoclose int fd =
        open_at(AT_FDCWD, s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    int wd;

    if (fd < 0)
        return -fd;
    s->real = realpath(s->path, NULL);
    if (s->real == NULL || fstat(fd, &st) < 0)
        return errno;
    s->dev = st.st_dev;
    s->ino = st.st_ino;
    wd = watch_fd(s, fd);
    if (wd < 0)
        return -wd;
    remember(watch_tree_add(&s->tree, NULL, "", wd), fd);
    watch_parent(s);
    return 0;
}

int watch_scan_begin(struct watch_scan *s)
{
    int rc = watch_root(s);

    if (rc == 0 && s->recursive)
        read_all(s, s->tree.root->wd, false);
    return rc != 0 ? rc : s->failed;
}

void watch_scan_fini(struct watch_scan *s)
{
    watch_tree_fini(&s->tree);
    while (s->later_count > 0)
        free(s->later[--s->later_count].name);
    free(s->later);
    free(s->real);
    io_close(&s->fd);
}

void watch_scan_appeared(struct watch_scan *s, struct watch_dir *parent, const char *name)
{
    hf_autoclose int fd = open_dir(s, parent, OPEN_TO_PASS);
    struct watch_dir *d;
    bool fresh = false;

    if (fd == -ESTALE)
        later_add(s, parent, name);
    else if (fd < 0)
        refuse(s, parent, name, -fd);
    if (fd < 0)
        return;
    d = enter(s, parent, fd, name, &fresh);
    if (d != NULL && fresh)
        read_all(s, d->wd, true);
}

void watch_scan_retry(struct watch_scan *s)
{
    struct watch_later *later = s->later;
    size_t count = s->later_count;

    if (count == 0)
        return;
    s->later = NULL;
    s->later_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct watch_dir *d = watch_tree_find(&s->tree, later[i].wd);

        if (d != NULL && later[i].name != NULL)
            watch_scan_appeared(s, d, later[i].name);
        else if (d != NULL)
            read_all(s, d->wd, true);
        free(later[i].name);
    }
    free(later);
}

void watch_scan_moved(struct watch_scan *s, const struct watch_dir *d)
{
    if (!is_there(s, d))
        s->doubt = true;
}

void watch_scan_events(struct watch_scan *s)
{
    s->doubt |= s->again;
    s->again = false;
}

/* What changes meanwhile has events, so the next repair can wait for these. */
void watch_scan_repair(struct watch_scan *s)
{
    s->doubt = s->fresh = false;
    s->reports = true;
    watch_scan_retry(s);
    if (s->tree.root != NULL)
        read_all(s, s->tree.root->wd, false);
    s->reports = false;
    s->again = s->doubt || s->fresh || s->missed;
    s->doubt = false;
}

void watch_scan_again(struct watch_scan *s)
{
    if (s->recursive && s->tree.root != NULL)
        read_all(s, s->tree.root->wd, false);
    s->missed = false;
}

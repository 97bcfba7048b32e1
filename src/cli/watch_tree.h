/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_tree.h - the directories that are watched: by the kernel's number, and by name
 *
 * A directory knows its parent, so its path follows from where it is: moving one directory moves
 * all below it. Pure: no system calls. Owned by the process that watches. Layer: cli.
 */
#ifndef HF_CLI_WATCH_TREE_H
#define HF_CLI_WATCH_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/list.h"

struct watch_dir {
    struct watch_dir *parent;          /* NULL: the root */
    struct list link, children;        /* link: in the parent's children */
    struct watch_dir *by_wd, *by_name; /* next in their buckets */
    char *name;                        /* in the parent; "" for the root */
    int wd;                            /* from inotify_add_watch() */
    dev_t dev; /* which directory it is; the watch keeps the kernel from using the number again */
    ino_t ino;
    uint32_t seen; /* number of the scan that found it last */
};

struct watch_tree {
    struct watch_dir *root; /* NULL: empty */
    struct watch_dir **wds, **names;
    size_t buckets, count, max;
};

/* The kernel's watch of a directory is no longer wanted. */
typedef void watch_drop_fn(void *arg, int wd);

void watch_tree_init(struct watch_tree *t, size_t max);
void watch_tree_fini(struct watch_tree *t);
/* parent NULL: the root, once. NULL: there would be more than max. */
struct watch_dir *watch_tree_add(struct watch_tree *t, struct watch_dir *parent, const char *name,
                                 int wd);
struct watch_dir *watch_tree_find(const struct watch_tree *t, int wd);
struct watch_dir *watch_tree_child(const struct watch_tree *t, const struct watch_dir *parent,
                                   const char *name);
/* With all below it. `drop` is called for each; NULL: not wanted. */
void watch_tree_remove(struct watch_tree *t, struct watch_dir *d, watch_drop_fn *drop, void *arg);
/* What had this name is removed. False, and nothing is changed: it would be inside itself. */
bool watch_tree_move(struct watch_tree *t, struct watch_dir *d, struct watch_dir *parent,
                     const char *name, watch_drop_fn *drop, void *arg);
/* Is `d` this directory or below it? */
bool watch_tree_is_within(const struct watch_dir *d, const struct watch_dir *ancestor);
/* The path of `name` in `d`, relative to the root: "a/b"; name "": of d itself, "." for the root.
 * Replaces what is in `out`. */
void watch_tree_path(const struct watch_dir *d, const char *name, struct buf *out);

#endif
